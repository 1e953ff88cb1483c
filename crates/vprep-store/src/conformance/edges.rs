//! Small bases, many neighbours, equal rows and zero vectors.

use super::case::Case;
use super::oracle::Oracle;
use super::{built, knob_values, largest};
use crate::Store;
use std::path::Path;
use vprep_core::{Metric, Silent};

/// A base of one row and one of 37: k = 1, k = n and k > n, which gives n rows. A graph may lose a
/// row; an exact store must not.
///
/// # Panics
///
/// If an answer has another shape, or rows are missing.
pub fn sizes(store: &dyn Store, scratch: &Path) {
    let name = store.info().name;
    for rows in [1, 37] {
        let case = Case::new(rows, 5, Metric::L2, false);
        let index = built(store, &case, scratch, &format!("sizes-{rows}"));
        let oracle = Oracle::new(&case);
        for k in [1, rows, rows + 1, 3 * rows] {
            for knob in knob_values(index.as_ref(), k) {
                let recall = oracle.search(store, index.as_ref(), k, knob);
                let floor = if store.info().knob.is_none() { 1.0 } else { 0.9 };
                assert!(
                    k < rows || recall >= floor,
                    "{name}: k = {k} of {rows} rows, knob = {knob:?}: only {recall} of them came"
                );
            }
        }
    }
}

/// A base in which every vector stands six times: of equal rows any may come, each once.
///
/// # Panics
///
/// If a row comes twice, or recall with ties is low.
pub fn duplicates(store: &dyn Store, scratch: &Path) {
    let mut case = Case::new(60, 13, Metric::Cosine, true);
    case.base = case.base.repeat(6);
    case.queries = case.base[..20 * case.dim].to_vec();
    let index = built(store, &case, scratch, "duplicates");
    let oracle = Oracle::new(&case);
    for k in [1, 3, 6, 12] {
        let recall = oracle.search(store, index.as_ref(), k, largest(index.as_ref(), k));
        let floor = if store.info().knob.is_none() { 1.0 } else { 0.9 };
        let name = store.info().name;
        assert!(recall >= floor, "{name}: six-fold rows, k = {k}: recall {recall} with ties");
    }
}

/// A zero vector among the rows and among the queries: no failure, and true scores for whatever
/// is returned. An engine may leave zero vectors out.
///
/// # Panics
///
/// If a search fails or a score is wrong.
pub fn zero_vectors(store: &dyn Store, scratch: &Path) {
    for metric in Metric::ALL {
        for unit_length in [false, true] {
            let mut case = Case::new(200, 11, metric, unit_length);
            case.base[7 * case.dim..8 * case.dim].fill(0.0);
            case.queries[..case.dim].fill(0.0);
            let name = format!("zero-{metric}-{unit_length}");
            let index = built(store, &case, scratch, &name);
            let oracle = Oracle::new(&case);
            oracle.search(store, index.as_ref(), 10, largest(index.as_ref(), 10));
        }
    }
    // No queries at all are no failure either.
    let case = Case::new(200, 11, Metric::L2, false);
    let index = built(store, &case, scratch, "no-queries");
    let none = vprep_core::MatrixView::new(&[], case.dim);
    let answers = index.search(none, 10, largest(index.as_ref(), 10), &Silent);
    let name = store.info().name;
    let answers = answers.unwrap_or_else(|error| panic!("{name}: no queries: {error}"));
    assert!(answers.rows.is_empty() && answers.scores.is_empty(), "{name}: answers to no query");
}
