//! Searches at the same time.

use super::case::Case;
use super::oracle::Oracle;
use super::{built, knob_values};
use crate::Store;
use std::path::Path;
use vprep_core::Metric;

/// Batches from several threads at different knob values keep to their own: each has about the
/// recall that it has alone.
///
/// # Panics
///
/// If a batch fails or has another recall.
pub fn concurrent_searches(store: &dyn Store, scratch: &Path) {
    let mut case = Case::new(2_000, 31, Metric::L2, false);
    // Long batches, so that they meet.
    case.queries = case.queries.repeat(25);
    let index = built(store, &case, scratch, "concurrent");
    let oracle = Oracle::new(&case);
    let alone: Vec<_> = [1, 10]
        .into_iter()
        .flat_map(|k| knob_values(index.as_ref(), k).into_iter().map(move |knob| (k, knob)))
        .map(|(k, knob)| (k, knob, oracle.search(store, index.as_ref(), k, knob)))
        .collect();
    std::thread::scope(|scope| {
        for &(k, knob, expected) in alone.iter().chain(&alone) {
            let (index, oracle) = (index.as_ref(), &oracle);
            scope.spawn(move || {
                for _ in 0..3 {
                    let found = oracle.search(store, index, k, knob);
                    assert!(
                        (found - expected).abs() <= 0.02,
                        "{}: k = {k}, knob = {knob:?}: recall {found} beside other searches, \
                         {expected} alone",
                        store.info().name
                    );
                }
            });
        }
    });
}
