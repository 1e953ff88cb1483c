//! Determinism, pools of threads, and interruption.

use crate::{DIM, build, spec, vectors};
use rayon::ThreadPoolBuilder;
use std::sync::atomic::{AtomicU32, Ordering};
use vprep_core::{MatrixView, Metric, Progress, Silent, Task};
use vprep_store::{Store, StoreError};
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

/// A user who asks to stop after some questions.
struct StopAfter(AtomicU32);

impl Progress for StopAfter {
    fn task(&self, _: &str, _: u64, _: &'static str) -> Box<dyn Task> {
        Box::new(Silent)
    }

    fn is_interrupted(&self) -> bool {
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        left.is_err()
    }
}

#[test]
fn building_and_searching_stop_in_the_middle() {
    let data = vectors(5_000);
    let base = MatrixView::new(&data, DIM);
    for store in FaissStore::ALL {
        let spec = spec(store, Metric::L2, &[]);
        for questions in [1, 2, 3, 5] {
            let dir = tempfile::tempdir().unwrap();
            let stop = StopAfter(AtomicU32::new(questions));
            let error = store.build(base, &spec, dir.path(), &stop).unwrap_err();
            assert!(matches!(error, StoreError::Interrupted(_)), "{error}");
            assert!(!dir.path().join("index.json").exists());
        }
        let dir = tempfile::tempdir().unwrap();
        build(store, base, &[], dir.path());
        let index = store.open(dir.path(), base).unwrap();
        let knob = index.knob_range(5).map(|range| range.smallest);
        let stop = StopAfter(AtomicU32::new(3));
        let error = index.search(base.slice(0..1_000), 5, knob, &stop).unwrap_err();
        assert!(matches!(error, StoreError::Interrupted(_)), "{error}");
    }
}
