//! Determinism, pools of threads, and interruption.

use crate::{DIM, build, spec, vectors};
use rayon::ThreadPoolBuilder;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_store::Store;
use vprep_store::conformance::stopping;
use vprep_store_faiss::FaissStore;

#[test]
fn the_same_rows_give_the_same_bytes() {
    let data = vectors(5_000);
    for store in FaissStore::ALL {
        let bytes = |threads| {
            let dir = tempfile::tempdir().unwrap();
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| build(store, MatrixView::new(&data, DIM), &[], dir.path()));
            let read = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
            ["index.faiss", "index.faiss.xxh128", "faiss.json", "index.json"].map(read)
        };
        let more = if store == FaissStore::HNSW { 1 } else { 5 };
        assert!(bytes(1) == bytes(more), "{}", store.info().name);
    }
}

#[test]
fn a_search_does_not_depend_on_the_pool() {
    let data = vectors(3_000);
    let base = MatrixView::new(&data, DIM);
    for store in FaissStore::ALL {
        let dir = tempfile::tempdir().unwrap();
        build(store, base, &[], dir.path());
        let index = store.open(dir.path(), base).unwrap();
        let knob = index.knob_range(5).map(|range| range.smallest + 3);
        let search = || index.search(base.slice(0..301), 5, knob, &Silent).unwrap();
        let expected = search();
        for threads in [1, 3, 16] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let same = pool.install(search) == expected;
            assert!(same, "{} on {threads} threads", store.info().name);
        }
    }
}

#[test]
fn building_and_searching_stop_in_the_middle() {
    let data = vectors(5_000);
    let base = MatrixView::new(&data, DIM);
    for store in FaissStore::ALL {
        let scratch = tempfile::tempdir().unwrap();
        stopping(&store, scratch.path(), base, &spec(store, Metric::L2, &[]), &[1, 2, 3, 5]);
    }
}
