//! Parameters and knob reach the engine, and the index answers.

use crate::{DIM, build, spec, table, vectors, wait};
use lancedb::index::IndexType;
use lancedb::query::{ExecutableQuery, QueryBase};
use std::collections::HashSet;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_store::Store;
use vprep_store_lancedb::LanceDbStore;

/// What the engine says of an index with these parameters: its details, its bytes; and its recall
/// at ef = 10.
fn built(data: &[f32], given: &[(&str, u32)]) -> (String, u64, f64) {
    let base = MatrixView::new(data, DIM);
    let dir = tempfile::tempdir().expect("a directory");
    LanceDbStore::new()
        .build(base, &spec(Metric::L2, given), dir.path(), &Silent)
        .expect("an index");
    let index = wait(async {
        let mut indexes = table(dir.path()).await.list_indices().await.expect("a list");
        indexes.pop().expect("an index")
    });
    assert_eq!(index.index_type, IndexType::IvfHnswFlat);
    assert_eq!(index.num_indexed_rows, Some(base.rows() as u64));
    assert_eq!(index.num_unindexed_rows, Some(0));
    let recall = recall(base, dir.path(), 10);
    (index.index_details.expect("told"), index.size_bytes.expect("told"), recall)
}

/// Recall at k = 10 of the first hundred rows, against the same index at its largest `ef`.
fn recall(base: MatrixView<'_>, dir: &std::path::Path, ef: u32) -> f64 {
    let index = LanceDbStore::new().open(dir, base).expect("opens");
    let search = |ef| index.search(base.slice(0..100), 10, Some(ef), &Silent).expect("answers");
    let (found, truth) = (search(ef), search(base.rows() as u32));
    assert!(found.notes.is_empty());
    let pairs = found.rows.chunks(10).zip(truth.rows.chunks(10));
    let hits = |(found, truth): (&[i64], &[i64])| {
        let truth: HashSet<_> = truth.iter().collect();
        found.iter().filter(|row| truth.contains(row)).count()
    };
    pairs.map(hits).sum::<usize>() as f64 / 1_000.0
}

#[test]
fn parameters_reach_the_engine() {
    let data = vectors(3_000);
    let (details, small, poor) = built(&data, &[("m", 4), ("ef-construction", 4)]);
    assert!(details.contains(r#""max_connections":4,"construction_ef":4"#), "{details}");
    let (details, middle, better) = built(&data, &[("m", 4), ("ef-construction", 300)]);
    assert!(details.contains(r#""max_connections":4,"construction_ef":300"#), "{details}");
    let (details, large, best) = built(&data, &[("m", 40), ("ef-construction", 300)]);
    assert!(details.contains(r#""max_connections":40,"construction_ef":300"#), "{details}");
    // Each bottom link is an u32 and an f32, and a row has from m to 2 m of them.
    assert!(large > middle.max(small) + 3_000 * 20 * 8, "{small}, {middle}, {large} bytes");
    assert!(better > poor + 0.02, "recall {poor}, then {better} with more candidates");
    assert!(best > better + 0.02, "recall {better}, then {best} with more links");
}

#[test]
fn the_knob_moves_recall() {
    let data = vectors(5_000);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    // Few links, so that a search with few candidates misses some rows.
    let spec = spec(Metric::L2, &[("m", 4), ("ef-construction", 10)]);
    LanceDbStore::new().build(base, &spec, dir.path(), &Silent).unwrap();
    let (few, many) = (recall(base, dir.path(), 10), recall(base, dir.path(), 60));
    assert!(few < 0.99, "recall {few} at the smallest value: has a scan answered?");
    assert!(many > few + 0.01, "recall {few} at 10 and {many} at 60");
}

#[test]
fn the_engine_plans_to_search_the_graph_and_nothing_else() {
    let data = vectors(500);
    let dir = tempfile::tempdir().unwrap();
    build(MatrixView::new(&data, DIM), dir.path());
    let plan = wait(async {
        let query = table(dir.path()).await.query().nearest_to(&data[..DIM]).unwrap();
        query.nprobes(1).unwrap().ef(20).limit(10).explain_plan(true).await.unwrap()
    });
    assert!(plan.contains("ANNSubIndex: name=vector_idx, k=10"), "{plan}");
    assert!(!plan.contains("KNNVectorDistance"), "{plan}");
}
