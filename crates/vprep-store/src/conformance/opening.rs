//! Building into directories and opening them again.

use super::case::Case;
use super::oracle::Oracle;
use super::{build, built, largest, open, spec};
use crate::{IndexFacts, Location, Store, StoreError};
use std::path::Path;
use vprep_core::{Failure, Kind, Metric};

/// Nothing to open, an index of another base, two indexes at once, an index opened twice, names
/// that need quoting, and the facts of an index.
///
/// # Panics
///
/// If any of it goes wrong.
pub fn opening(store: &dyn Store, scratch: &Path) {
    let name = store.info().name;
    let case = Case::new(400, 17, Metric::Cosine, true);
    nothing_to_open(store, &case, scratch);

    build(store, &case, scratch, "first");
    for (rows, dim) in [(399, 17), (401, 17), (400, 16)] {
        let other = Case::new(rows, dim, Metric::Cosine, true);
        match store.open(&scratch.join("first"), other.base()).map(|_| "an index") {
            Err(error @ StoreError::WrongIndex { .. }) => {
                assert_eq!(error.kind(), Kind::Data, "{name}: kind of `{error}`");
            }
            other => panic!("{name}: opening against {rows} rows of dim {dim} gave {other:?}"),
        }
    }

    let first = open(store, &case, scratch, "first");
    let again = open(store, &case, scratch, "first");
    let other = Case::new(150, 6, Metric::L2, false);
    let second = built(store, &other, scratch, "second");
    let hostile = built(store, &case, scratch, "it's a \"dir\"; $(näme) 数据 %20\\n");
    let oracle = Oracle::new(&case);
    for index in [&first, &again, &hostile] {
        let recall = oracle.search(store, index.as_ref(), 10, largest(index.as_ref(), 10));
        assert!(recall >= 0.9, "{name}: recall {recall} of an index opened again");
    }
    let knob = largest(second.as_ref(), 10);
    let recall = Oracle::new(&other).search(store, second.as_ref(), 10, knob);
    assert!(recall >= 0.9, "{name}: recall {recall} of a second index");

    for (index, case, dir) in [(&first, &case, "first"), (&second, &other, "second")] {
        let version = store.version().unwrap_or_else(|e| panic!("{name}: version: {e}"));
        let location = index.facts().location.clone();
        if let Location::Path(path) = &location {
            assert!(scratch.join(dir).join(path).exists(), "{name}: no {path} in the index");
        }
        let spec = spec(store, case, scratch, dir);
        let facts = IndexFacts::new(store.info(), version, case.base(), &spec, location);
        assert_eq!(*index.facts(), facts, "{name}: facts of an index, found and expected");
    }
}

/// An empty directory and none at all.
fn nothing_to_open(store: &dyn Store, case: &Case, scratch: &Path) {
    let name = store.info().name;
    let empty = scratch.join("empty");
    std::fs::create_dir_all(&empty)
        .unwrap_or_else(|error| panic!("{name}: {}: {error}", empty.display()));
    for dir in [empty, scratch.join("absent")] {
        match store.open(&dir, case.base()).map(|_| "an index") {
            Err(error @ StoreError::NoIndex { .. }) => {
                assert_eq!(error.kind(), Kind::Data, "{name}: kind of `{error}`");
            }
            other => panic!("{name}: opening {} gave {other:?}", dir.display()),
        }
    }
}
