//! Determinism, pools of threads, and interruption.

use crate::{build, spec, vectors};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use vprep_core::{MatrixView, Silent};
use vprep_store::Store;
use vprep_store::conformance::stopping;
use vprep_store_hnsw::HnswStore;

#[test]
fn one_thread_builds_the_same_bytes_every_time() {
    let data = vectors(3_000);
    let bytes = || {
        let dir = tempfile::tempdir().unwrap();
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| build(MatrixView::new(&data, 12), dir.path()));
        std::fs::read(dir.path().join("index.usearch")).unwrap()
    };
    assert!(bytes() == bytes());
}

#[test]
fn a_build_on_many_threads_loses_no_row() {
    const ROWS: usize = 12_000;
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, 12);
    let dir = tempfile::tempdir().unwrap();
    let pool = ThreadPoolBuilder::new().num_threads(16).build().unwrap();
    pool.install(|| build(base, dir.path()));
    let index = HnswStore::new().open(dir.path(), base).unwrap();
    let all = index.search(base.slice(0..1), ROWS, Some(ROWS as u32), &Silent).unwrap();
    let mut rows = all.rows;
    rows.sort_unstable();
    assert!(rows.into_iter().eq(0..ROWS as i64));
    let own = index.search(base, 1, Some(64), &Silent).unwrap().rows;
    let found = own.iter().zip(0i64..).filter(|&(&found, row)| found == row).count();
    assert!(found >= ROWS * 999 / 1_000, "{found} of {ROWS} rows find themselves");
}

#[test]
fn a_search_does_not_depend_on_the_pool() {
    let data = vectors(2_000);
    let base = MatrixView::new(&data, 12);
    let dir = tempfile::tempdir().unwrap();
    build(base, dir.path());
    let index = HnswStore::new().open(dir.path(), base).unwrap();
    let search = || index.search(base.slice(0..300), 5, Some(20), &Silent).unwrap();
    let expected = search();
    for threads in [1, 3, 64] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(search), expected);
    }
}

#[test]
fn batches_inside_one_pool_do_not_wait_for_each_other_in_a_circle() {
    let data = vectors(2_000);
    let base = MatrixView::new(&data, 12);
    let dir = tempfile::tempdir().unwrap();
    build(base, dir.path());
    let index = HnswStore::new().open(dir.path(), base).unwrap();
    let search = |knob| index.search(base.slice(0..100), 5, Some(knob), &Silent).unwrap();
    let expected: Vec<_> = (5..25).map(search).collect();
    let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    let found: Vec<_> = pool.install(|| (5..25u32).into_par_iter().map(search).collect());
    assert!(found == expected);
}

#[test]
fn building_and_searching_stop_in_the_middle() {
    let data = vectors(20_000);
    let base = MatrixView::new(&data, 12);
    let (store, scratch) = (HnswStore::new(), tempfile::tempdir().unwrap());
    stopping(&store, scratch.path(), base, &spec(&store), &[1, 500]);
}
