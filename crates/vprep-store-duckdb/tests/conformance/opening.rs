//! Published files stay as they are, and the same base gives the same files.

use crate::{DIM, build, files, vectors};
use rayon::ThreadPoolBuilder;
use vprep_core::{MatrixView, Silent};
use vprep_store::Store;
use vprep_store_duckdb::DuckdbStore;

#[test]
fn opening_and_searching_change_no_byte() {
    let data = vectors(1_000);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(base, dir.path());
    let before = files(dir.path());
    let names: Vec<_> = before.keys().map(String::as_str).collect();
    assert_eq!(names, ["index.duckdb", "index.duckdb.xxh128", "index.json"]);
    {
        let index = DuckdbStore::new().open(dir.path(), base).unwrap();
        let again = DuckdbStore::new().open(dir.path(), base).unwrap();
        let search = |index: &dyn vprep_store::Index| {
            index.search(base.slice(0..300), 5, Some(40), &Silent).unwrap()
        };
        assert_eq!(search(index.as_ref()), search(again.as_ref()));
        assert!(files(dir.path()) == before);
    }
    assert!(files(dir.path()) == before);
}

#[test]
fn one_thread_builds_the_same_bytes_every_time() {
    let data = vectors(2_000);
    let made = || {
        let dir = tempfile::tempdir().unwrap();
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| build(MatrixView::new(&data, DIM), dir.path()));
        files(dir.path())
    };
    assert!(made() == made());
}

#[test]
fn a_search_does_not_depend_on_the_pool() {
    let data = vectors(2_000);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(base, dir.path());
    let index = DuckdbStore::new().open(dir.path(), base).unwrap();
    let search = || index.search(base.slice(0..300), 5, Some(20), &Silent).unwrap();
    let expected = search();
    for threads in [1, 3, 32] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(search), expected);
    }
}
