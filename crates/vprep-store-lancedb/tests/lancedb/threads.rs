//! Pools of threads, and interruption.

use crate::{DIM, build, spec, vectors};
use rayon::ThreadPoolBuilder;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_store::Store;
use vprep_store::conformance::stopping;
use vprep_store_lancedb::LanceDbStore;

#[test]
fn a_search_does_not_depend_on_the_pool() {
    let data = vectors(1_000);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(base, dir.path());
    let index = LanceDbStore::new().open(dir.path(), base).unwrap();
    let search = || index.search(base.slice(0..100), 5, Some(20), &Silent).unwrap();
    let expected = search();
    for threads in [1, 3, 32] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(search), expected);
    }
}

#[test]
fn builds_and_searches_on_every_thread_of_the_global_pool_do_not_wait_in_a_circle() {
    let data = vectors(600);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(base, dir.path());
    let index = LanceDbStore::new().open(dir.path(), base).unwrap();
    let found = rayon::broadcast(|context| {
        let dir = tempfile::tempdir().unwrap();
        build(base, dir.path());
        // While others still build, on the same threads.
        let row = context.index();
        index.search(base.slice(row..row + 1), 1, Some(100), &Silent).unwrap().rows
    });
    assert!(found.into_iter().flatten().eq(0..rayon::current_num_threads() as i64));
}

#[test]
fn building_and_searching_stop_in_the_middle() {
    let data = vectors(100_000);
    let base = MatrixView::new(&data, DIM);
    let (store, scratch) = (LanceDbStore::new(), tempfile::tempdir().unwrap());
    // While the base is read, while the table is written, and while rows are linked.
    stopping(&store, scratch.path(), base, &spec(Metric::L2, &[]), &[1, 2, 6]);
}
