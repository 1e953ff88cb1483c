//! Stopping when the user says so.

use super::case::Case;
use super::{largest, spec};
use crate::{BuildSpec, Store, StoreError};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use vprep_core::{MatrixView, Metric, Progress, Silent, Task};

/// How long a build may take to stop, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A user who has already asked to stop: neither building nor searching goes on.
///
/// # Panics
///
/// If either ends with anything but [`StoreError::Interrupted`].
pub fn interruption(store: &dyn Store, scratch: &Path) {
    let case = Case::new(500, 14, Metric::L2, false);
    let spec = spec(store, &case, scratch, "interruption");
    stopping(store, &scratch.join("interruption"), case.base(), &spec, &[0]);
}

/// A user who asks to stop when a build has asked so many `questions` whether to go on: the build
/// ends soon and leaves nothing that opens. A search of a finished index stops too, and the index
/// answers afterwards.
///
/// # Panics
///
/// If a build or a search ends with anything but [`StoreError::Interrupted`].
pub fn stopping(
    store: &dyn Store,
    scratch: &Path,
    base: MatrixView<'_>,
    spec: &BuildSpec,
    questions: &[u32],
) {
    let name = store.info().name;
    let new_dir = |part: &str| {
        let dir = scratch.join(part);
        std::fs::create_dir_all(&dir)
            .unwrap_or_else(|error| panic!("{name}: {}: {error}", dir.display()));
        dir
    };
    for &questions in questions {
        let dir = new_dir(&questions.to_string());
        let started = Instant::now();
        match store.build(base, spec, &dir, &StopAfter::new(questions)) {
            Err(StoreError::Interrupted(_)) => {}
            other => panic!("{name}: a build stopped after {questions} questions gave {other:?}"),
        }
        let taken = started.elapsed();
        assert!(taken < PATIENCE, "{name}: stopping after {questions} questions took {taken:?}");
        let opened = store.open(&dir, base).is_ok();
        assert!(!opened, "{name}: what a build left after {questions} questions opens");
    }

    let (small, dir) = (base.slice(0..base.rows().min(1_000)), new_dir("whole"));
    store
        .build(small, spec, &dir, &Silent)
        .unwrap_or_else(|error| panic!("{name}: building failed: {error}"));
    let index =
        store.open(&dir, small).unwrap_or_else(|error| panic!("{name}: opening failed: {error}"));
    let knob = largest(index.as_ref(), 10);
    for questions in [0, 3] {
        let stop = StopAfter::new(questions);
        match index.search(small, 10, knob, &stop).map(|_| "an answer") {
            Err(StoreError::Interrupted(_)) => {}
            other => panic!("{name}: a search stopped after {questions} questions gave {other:?}"),
        }
    }
    let answers = index.search(small.slice(0..1), 10, knob, &Silent);
    assert!(answers.is_ok(), "{name}: after a stopped search: {answers:?}");
}

/// Progress of a user who asks to stop after some questions.
#[derive(Debug)]
pub struct StopAfter(AtomicU32);

impl StopAfter {
    /// Asks to stop when it has been asked so many `questions`.
    pub const fn new(questions: u32) -> Self {
        Self(AtomicU32::new(questions))
    }
}

impl Progress for StopAfter {
    fn task(&self, _: &str, _: u64, _: &'static str) -> Box<dyn Task> {
        Box::new(Silent)
    }

    fn is_interrupted(&self) -> bool {
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        left.is_err()
    }
}
