//! Stopping when the user says so.

use super::case::Case;
use super::{built, largest, spec};
use crate::{Store, StoreError};
use std::path::Path;
use vprep_core::{Metric, Progress, Silent, Task};

/// A user who has already asked to stop: neither building nor searching goes on.
///
/// # Panics
///
/// If either ends with anything but [`StoreError::Interrupted`].
pub fn interruption(store: &dyn Store, scratch: &Path) {
    let name = store.info().name;
    let case = Case::new(500, 14, Metric::L2, false);
    let dir = scratch.join("interrupted");
    std::fs::create_dir_all(&dir)
        .unwrap_or_else(|error| panic!("{name}: {}: {error}", dir.display()));
    match store.build(case.base(), &spec(store, &case, scratch, "interrupted"), &dir, &Stopped) {
        Err(StoreError::Interrupted(_)) => {}
        other => panic!("{name}: an interrupted build gave {other:?}"),
    }
    let index = built(store, &case, scratch, "uninterrupted");
    let knob = largest(index.as_ref(), 10);
    match index.search(case.queries(), 10, knob, &Stopped).map(|_| "an answer") {
        Err(StoreError::Interrupted(_)) => {}
        other => panic!("{name}: an interrupted search gave {other:?}"),
    }
}

/// Progress of a user who asked to stop.
struct Stopped;

impl Progress for Stopped {
    fn task(&self, _: &str, _: u64, _: &'static str) -> Box<dyn Task> {
        Box::new(Silent)
    }

    fn is_interrupted(&self) -> bool {
        true
    }
}
