//! Stopping in the middle.

use crate::{DIM, build, spec, vectors};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use vprep_core::{MatrixView, Progress, Silent, Task};
use vprep_store::{Store, StoreError};
use vprep_store_duckdb::DuckdbStore;

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
    let data = vectors(20_000);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    let store = DuckdbStore::new();
    // While rows are copied, and while the index is built.
    for questions in [1, 6] {
        let dir = dir.path().join(questions.to_string());
        std::fs::create_dir(&dir).unwrap();
        let started = Instant::now();
        let stop = StopAfter(AtomicU32::new(questions));
        let error = store.build(base, &spec(&[]), &dir, &stop).unwrap_err();
        assert!(matches!(error, StoreError::Interrupted(_)), "{error}");
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
        assert!(!dir.join("index.json").exists());
    }

    let small = base.slice(0..1_000);
    let dir = tempfile::tempdir().unwrap();
    build(small, dir.path());
    let index = store.open(dir.path(), small).unwrap();
    let stop = StopAfter(AtomicU32::new(5));
    let error = index.search(small, 5, Some(50), &stop).unwrap_err();
    assert!(matches!(error, StoreError::Interrupted(_)), "{error}");
}
