//! True scores in the right convention, and recall.

use super::case::Case;
use super::oracle::Oracle;
use super::{built, knob_values};
use crate::Store;
use std::path::Path;
use vprep_core::{Metric, Silent};

/// Every metric, with unit vectors and with others: rows in range and distinct, true scores, best
/// first; an exact store finds every neighbour, an approximate one at least 0.9 of them at its
/// largest knob value, loses little from a smaller value to a larger, and returns k rows even at
/// the smallest.
///
/// # Panics
///
/// If any of it does not hold.
pub fn answers(store: &dyn Store, scratch: &Path) {
    for metric in Metric::ALL {
        for unit_length in [false, true] {
            let case = Case::new(2_500, 27, metric, unit_length);
            let name = format!("answers-{metric}-{unit_length}");
            let index = built(store, &case, scratch, &name);
            let oracle = Oracle::new(&case);
            for k in [1, 10, 100] {
                curve(store, &case, index.as_ref(), &oracle, k);
            }
        }
    }
}

/// Recall along the knob.
fn curve(store: &dyn Store, case: &Case, index: &dyn crate::Index, oracle: &Oracle<'_>, k: usize) {
    let what = format!("{}: {case}, k = {k}", store.info().name);
    let values = knob_values(index, k);
    let smallest = index
        .search(case.queries(), k, values[0], &Silent)
        .unwrap_or_else(|error| panic!("{what}: searching failed: {error}"));
    for (query, returned) in oracle.returned(&smallest, k).into_iter().enumerate() {
        assert_eq!(returned, k, "{what}: rows at the smallest knob value for query {query}");
    }
    let recalls: Vec<f64> =
        values.iter().map(|&value| oracle.search(store, index, k, value)).collect();
    if values == [None] {
        assert!(recalls[0] == 1.0, "{what}: an exact store has recall {}", recalls[0]);
        return;
    }
    let best = recalls[recalls.len() - 1];
    assert!(best >= 0.9, "{what}: recall {best} at the largest knob value {values:?}");
    for pair in recalls.windows(2) {
        assert!(pair[1] >= pair[0] - 0.02, "{what}: recall falls along {values:?}: {recalls:?}");
    }
}
