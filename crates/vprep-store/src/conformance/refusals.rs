//! What a store says about itself, and what it refuses.

use super::case::Case;
use super::{built, largest};
use crate::{Store, StoreError, resolve_parameters};
use std::collections::BTreeMap;
use std::path::Path;
use vprep_core::{Failure, Kind, MatrixView, Metric, Silent};

/// Unknown parameters, parameters and knob values out of range, queries of another dimension.
///
/// # Panics
///
/// If one is accepted, or refused with another error.
pub fn refusals(store: &dyn Store, scratch: &Path) {
    let name = store.info().name;
    parameters(store);
    let (k, rows) = (10, 300);
    let case = Case::new(rows, 9, Metric::Ip, false);
    let index = built(store, &case, scratch, "refusals");

    let narrow = MatrixView::new(&case.queries[..8], 8);
    match index.search(narrow, k, largest(index.as_ref(), k), &Silent).map(|_| "an answer") {
        Err(StoreError::Dimension { found: 8, expected: 9, .. }) => {}
        other => panic!("{name}: queries of dim 8 for an index of dim 9 gave {other:?}"),
    }

    let range = index.knob_range(k);
    assert_eq!(range.is_some(), store.info().knob.is_some(), "{name}: a knob without a range");
    let Some(range) = range else { return };
    assert!(range.smallest >= 1 && range.step >= 1, "{name}: {range:?} starts or steps at 0");
    assert!(range.smallest <= range.largest, "{name}: {range:?} is empty");
    let outside = [range.smallest.checked_sub(1), range.largest.checked_add(1)];
    for value in outside.into_iter().flatten() {
        match index.search(case.queries(), k, Some(value), &Silent).map(|_| "an answer") {
            Err(error @ StoreError::KnobRange { .. }) => {
                assert_eq!(error.kind(), Kind::Usage, "{name}: kind of `{error}`");
            }
            other => panic!("{name}: knob value {value} outside {range:?} gave {other:?}"),
        }
    }
}

/// Names and ranges of the build parameters.
fn parameters(store: &dyn Store) {
    let info = store.info();
    let name = info.name;
    assert!(!name.is_empty() && !info.engine.is_empty(), "{info:?}");
    let version = store.version().unwrap_or_else(|error| panic!("{name}: version: {error}"));
    assert!(!version.is_empty(), "{name}: a version without text");
    let refused = |parameter: &str, value: u32| {
        let given = BTreeMap::from([(parameter.to_owned(), value)]);
        match resolve_parameters(info, &given) {
            Err(error) => assert_eq!(error.kind(), Kind::Usage, "{name}: kind of `{error}`"),
            Ok(resolved) => panic!("{name}: {parameter} = {value} is accepted: {resolved:?}"),
        }
    };
    refused("no-such-parameter", 1);
    for parameter in info.parameters {
        let legal = parameter.min..=parameter.max;
        assert!(legal.contains(&parameter.default), "{name}: default of {parameter:?}");
        for value in [parameter.min.checked_sub(1), parameter.max.checked_add(1)] {
            value.into_iter().for_each(|value| refused(parameter.name, value));
        }
    }
}
