//! What the engine cannot hold, and what it leaves out.

use crate::{DIM, spec, vectors};
use vprep_core::{Failure, Kind, MatrixView, Metric, Silent};
use vprep_store::{Store, StoreError};
use vprep_store_lancedb::LanceDbStore;

/// Builds an index and returns the error, with nothing left that could be opened.
fn refused(data: &[f32], metric: Metric, given: &[(&str, u32)]) -> StoreError {
    let dir = tempfile::tempdir().expect("a directory");
    let base = MatrixView::new(data, DIM);
    let built = LanceDbStore::new().build(base, &spec(metric, given), dir.path(), &Silent);
    assert!(!dir.path().join("index.json").exists());
    built.expect_err("refused")
}

#[test]
fn bases_that_cannot_be_indexed_whole_are_refused() {
    let mut data = vectors(50);
    data[7 * DIM + 3] = f32::NAN;
    for (data, metric, problem) in [
        (data.as_slice(), Metric::L2, "NaN or infinity in row 7"),
        (&[], Metric::L2, "the base has no rows"),
        (&[0.0; 5 * DIM], Metric::Cosine, "every vector is zero"),
    ] {
        let error = refused(data, metric, &[]);
        assert_eq!(error.kind(), Kind::Data);
        assert!(error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn fewer_candidates_than_links_are_refused() {
    let error = refused(&vectors(50), Metric::L2, &[("m", 20), ("ef-construction", 19)]);
    assert_eq!(error.kind(), Kind::Usage);
    let expected = "store `lancedb`: ef-construction = 19 is out of range; it must be from 20 to";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn a_base_that_is_zero_throughout_is_held_where_distances_are_defined() {
    let data = [0.0; 9 * DIM];
    let base = MatrixView::new(&data, DIM);
    for metric in [Metric::Ip, Metric::L2] {
        let dir = tempfile::tempdir().unwrap();
        LanceDbStore::new().build(base, &spec(metric, &[]), dir.path(), &Silent).unwrap();
        let index = LanceDbStore::new().open(dir.path(), base).unwrap();
        let answers = index.search(base.slice(0..1), 9, Some(9), &Silent).unwrap();
        assert!(answers.rows.iter().copied().eq(0..9), "{answers:?}");
    }
}

#[test]
fn zero_vectors_are_never_found_under_cosine() {
    let mut data = vectors(50);
    data[7 * DIM..8 * DIM].fill(0.0);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    LanceDbStore::new().build(base, &spec(Metric::Cosine, &[]), dir.path(), &Silent).unwrap();
    let index = LanceDbStore::new().open(dir.path(), base).unwrap();
    let answers = index.search(base.slice(0..1), 50, Some(50), &Silent).unwrap();
    assert!(!answers.rows.contains(&7));
    assert_eq!(answers.rows[49], -1);
    assert!(answers.rows[..49].iter().all(|&row| row >= 0));
}

#[test]
fn tiny_inner_products_keep_their_scores() {
    let data: Vec<f32> = vectors(80).into_iter().map(|value| value * 1e-5).collect();
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    LanceDbStore::new().build(base, &spec(Metric::Ip, &[]), dir.path(), &Silent).unwrap();
    let index = LanceDbStore::new().open(dir.path(), base).unwrap();
    let answers = index.search(base.slice(0..5), 10, Some(80), &Silent).unwrap();
    for (query, (rows, scores)) in
        answers.rows.chunks(10).zip(answers.scores.chunks(10)).enumerate()
    {
        let exact = |&row: &i64| Metric::Ip.score(base.row(query), base.row(row as usize)) as f32;
        assert!(rows.iter().map(exact).eq(scores.iter().copied()));
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    }
}
