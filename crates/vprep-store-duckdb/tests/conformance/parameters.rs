//! What was asked for reaches the engine: build parameters and the knob.

use crate::{DIM, build_with, connect, files, vectors};
use vprep_core::{MatrixView, Metric, Silent};
use vprep_store::{Store, StoreError};
use vprep_store_duckdb::DuckdbStore;

const ROWS: usize = 3_000;

/// The part of the ten nearest rows that 100 of the rows, moved a little, find at a knob value.
fn recall(given: &[(&str, u32)], knob: u32) -> f64 {
    let data = vectors(ROWS + 100);
    let (base, queries) = data.split_at(ROWS * DIM);
    let (base, queries) = (MatrixView::new(base, DIM), MatrixView::new(queries, DIM));
    let dir = tempfile::tempdir().expect("a directory");
    build_with(given, base, dir.path());
    let index = DuckdbStore::new().open(dir.path(), base).expect("an index");
    let answers = index.search(queries, 10, Some(knob), &Silent).expect("answers");
    assert!(answers.notes.is_empty(), "{:?}", answers.notes);
    let hits: usize = queries
        .iter()
        .zip(answers.rows.chunks(10))
        .map(|(query, found)| {
            let mut all: Vec<_> = (0i64..)
                .zip(base.iter())
                .map(|(row, vector)| (Metric::L2.score(query, vector), row))
                .collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            all[..10].iter().filter(|(_, row)| found.contains(row)).count()
        })
        .sum();
    hits as f64 / 1_000.0
}

#[test]
fn the_knob_moves_recall() {
    let given = [("m", 4), ("ef-construction", 8)];
    let (low, high) = (recall(&given, 10), recall(&given, 1_000));
    assert!(low < 0.8 && high > 0.95, "recall {low} at 10, {high} at 1000");
}

#[test]
fn ef_construction_reaches_the_engine() {
    let (low, high) =
        (recall(&[("ef-construction", 2)], 20), recall(&[("ef-construction", 200)], 20));
    assert!(low + 0.05 < high, "recall {low} with 2, {high} with 200");
}

#[test]
fn m_reaches_the_engine() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for m in [5, 24] {
        let dir = tempfile::tempdir().unwrap();
        build_with(&[("m", m)], base, dir.path());
        // A row of the bottom layer has 10 bytes of its own, a count and M0 links of 4 bytes each.
        const SQL: &str = "SELECT levels_stats[1].max_edges::BIGINT // levels_stats[1].nodes, \
                           levels_stats[1].allocated_bytes::BIGINT // levels_stats[1].nodes \
                           FROM pragma_hnsw_index_info()";
        let read = |row: &duckdb::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let (links, bytes) = connect(dir.path()).query_row(SQL, [], read).unwrap();
        assert_eq!((links, bytes), (i64::from(m), 14 + 8 * i64::from(m)));
    }
}

#[test]
fn more_neighbours_than_the_index_gives_are_refused() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build_with(&[("m", 4), ("ef-construction", 8)], base, dir.path());
    let index = DuckdbStore::new().open(dir.path(), base).unwrap();
    let before = files(dir.path());
    let all = index.search(base.slice(0..3), 2_047, Some(3_000), &Silent).unwrap();
    assert_eq!(all.rows.iter().filter(|&&row| row >= 0).count(), 3 * 2_047);
    assert!(all.notes.is_empty(), "{:?}", all.notes);
    let error = index.search(base.slice(0..3), 2_048, Some(3_000), &Silent).unwrap_err();
    assert!(matches!(error, StoreError::Engine { .. }), "{error:?}");
    assert!(error.to_string().contains("2047 rows at most"), "{error}");
    assert!(files(dir.path()) == before);
}
