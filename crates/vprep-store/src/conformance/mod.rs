//! The suite that every adapter passes, as functions that its tests call.
//!
//! [`check`] runs all of it on small seeded data: shapes, order, scores, recall, edges, refusals,
//! opening, interruption and concurrent searches. A part can be called alone where an adapter
//! needs something special for it. Every function takes the store and an empty directory to build
//! in, and panics with the store's name and the difference found.
//!
//! ```ignore
//! #[test]
//! fn the_store_conforms() {
//!     let scratch = tempfile::tempdir().expect("a directory");
//!     vprep_store::conformance::check(&MyStore::new(), scratch.path());
//! }
//! ```

mod answers;
mod case;
mod concurrency;
mod edges;
mod interruption;
mod opening;
mod oracle;
mod refusals;

pub use answers::answers;
pub use concurrency::concurrent_searches;
pub use edges::{duplicates, sizes, zero_vectors};
pub use interruption::{StopAfter, interruption, stopping};
pub use opening::opening;
pub use refusals::refusals;

use crate::{BuildSpec, Index, Store, resolve_parameters};
use case::Case;
use std::collections::BTreeMap;
use std::path::Path;
use vprep_core::Silent;

/// Runs the whole suite. `scratch` is an empty directory, which is left full.
///
/// # Panics
///
/// If the store does not conform.
pub fn check(store: &dyn Store, scratch: &Path) {
    refusals(store, scratch);
    opening(store, scratch);
    interruption(store, scratch);
    sizes(store, scratch);
    duplicates(store, scratch);
    zero_vectors(store, scratch);
    answers(store, scratch);
    concurrent_searches(store, scratch);
}

/// What to build for a case in `scratch/name`, with the store's default parameters. The name of
/// the scratch directory keeps tests that run at once from replacing each other's indexes.
fn spec(store: &dyn Store, case: &Case, scratch: &Path, name: &str) -> BuildSpec {
    let unique = scratch.file_name().unwrap_or_default().to_string_lossy();
    let name = format!("conformance {unique} {name}");
    let parameters = resolve_parameters(store.info(), &BTreeMap::new());
    let parameters = parameters.unwrap_or_else(|error| {
        panic!("{}: the default parameters are refused: {error}", store.info().name)
    });
    BuildSpec { name, metric: case.metric, unit_length: case.unit_length, parameters }
}

/// Builds the index of a case in the new directory `scratch/name`.
fn build(store: &dyn Store, case: &Case, scratch: &Path, name: &str) {
    let dir = scratch.join(name);
    let store_name = store.info().name;
    std::fs::create_dir_all(&dir)
        .unwrap_or_else(|error| panic!("{store_name}: {}: {error}", dir.display()));
    store
        .build(case.base(), &spec(store, case, scratch, name), &dir, &Silent)
        .unwrap_or_else(|error| panic!("{store_name}: {case}: building failed: {error}"));
}

/// Opens the index of a case in `scratch/name`.
fn open<'a>(store: &dyn Store, case: &'a Case, scratch: &Path, name: &str) -> Box<dyn Index + 'a> {
    store.open(&scratch.join(name), case.base()).unwrap_or_else(|error| {
        panic!("{}: {case}: opening {name} failed: {error}", store.info().name)
    })
}

/// Builds and opens.
fn built<'a>(store: &dyn Store, case: &'a Case, scratch: &Path, name: &str) -> Box<dyn Index + 'a> {
    build(store, case, scratch, name);
    open(store, case, scratch, name)
}

/// The knob values to try: smallest, largest and the geometric middle; only "none" for an exact
/// store.
fn knob_values(index: &dyn Index, k: usize) -> Vec<Option<u32>> {
    let Some(range) = index.knob_range(k) else { return vec![None] };
    let middle = (f64::from(range.smallest) * f64::from(range.largest)).sqrt() as u32;
    let steps = middle.saturating_sub(range.smallest) / range.step;
    let mut values = vec![range.smallest, range.smallest + steps * range.step, range.largest];
    values.dedup();
    values.into_iter().map(Some).collect()
}

/// The largest knob value, or none for an exact store.
fn largest(index: &dyn Index, k: usize) -> Option<u32> {
    index.knob_range(k).map(|range| range.largest)
}
