//! The suite of every store, and what only an exact store can promise.

use std::collections::BTreeMap;
use vprep_core::{Failure, Kind, MatrixView, Metric, Silent, norm, sample::mix};
use vprep_knn::plain;
use vprep_store::{Answers, BuildSpec, Store, StoreError};
use vprep_store_flat::FlatStore;

#[test]
fn the_store_conforms() {
    let scratch = tempfile::tempdir().unwrap();
    vprep_store::conformance::check(&FlatStore::new(), scratch.path());
}

/// Seeded values from -0.5 to 0.5.
fn values(count: usize) -> Vec<f32> {
    let value = |i: u64| (mix(i) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    (0..count as u64).map(value).collect()
}

/// Builds, opens and searches.
fn search(
    base: MatrixView<'_>,
    queries: MatrixView<'_>,
    k: usize,
    metric: Metric,
    unit_length: bool,
) -> Result<Answers, StoreError> {
    let dir = tempfile::tempdir().expect("a directory");
    let spec = BuildSpec { name: String::new(), metric, unit_length, parameters: BTreeMap::new() };
    FlatStore::new().build(base, &spec, dir.path(), &Silent)?;
    FlatStore::new().open(dir.path(), base)?.search(queries, k, None, &Silent)
}

/// Asserts that the answers are those of the reference, bit for bit.
fn assert_equal_to_reference(values: &[f32], metric: Metric, unit_length: bool, truth: Metric) {
    let base = MatrixView::new(values, 7);
    let queries = base.slice(290..300);
    for k in [1, 12, 300, 301] {
        let answers = search(base, queries, k, metric, unit_length).expect("answers");
        let expected: Vec<_> =
            queries.iter().flat_map(|query| plain::search(base, query, truth, k)).collect();
        assert!(answers.rows.iter().copied().eq(expected.iter().map(|n| i64::from(n.row))));
        assert!(answers.scores.iter().copied().eq(expected.iter().map(|n| n.score as f32)));
    }
}

#[test]
fn answers_equal_the_reference() {
    for metric in Metric::ALL {
        assert_equal_to_reference(&values(300 * 7), metric, false, metric);
    }
}

#[test]
fn cosine_of_unit_vectors_is_their_inner_product_to_the_last_bit() {
    let unit = |row: &[f32]| {
        let norm = norm(row);
        row.iter().map(move |&x| (f64::from(x) / norm) as f32).collect::<Vec<_>>()
    };
    let values: Vec<f32> = values(300 * 7).chunks(7).flat_map(unit).collect();
    for truth in [Metric::Cosine, Metric::Ip] {
        assert_equal_to_reference(&values, Metric::Cosine, true, truth);
    }
}

#[test]
fn no_neighbours_and_no_rows_are_empty_answers() {
    let base = MatrixView::new(&[1.0, 2.0], 2);
    let none = MatrixView::new(&[], 2);
    assert_eq!(search(base, base, 0, Metric::L2, false).unwrap(), Answers::default());
    assert_eq!(search(none, base, 3, Metric::L2, false).unwrap(), Answers::default());
}

#[test]
fn queries_of_another_dimension_and_bases_with_nan_are_refused() {
    let base = MatrixView::new(&[1.0, 2.0, 3.0, 4.0], 2);
    let queries = MatrixView::new(&[1.0, 2.0, 3.0], 3);
    let error = search(base, queries, 1, Metric::Ip, false).unwrap_err();
    assert_eq!(error.kind(), Kind::Data);
    assert_eq!(error.to_string(), "store `flat`: queries have dim 3, but the index has dim 2");

    let base = MatrixView::new(&[1.0, 2.0, f32::NAN, 4.0], 2);
    let error = search(base, base.slice(0..1), 1, Metric::Ip, false).unwrap_err().to_string();
    assert!(error.contains("NaN or infinity in row 1 of the base"), "{error}");
}
