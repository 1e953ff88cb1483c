//! The suite of every store, and what only this engine needs.

mod damage;
mod threads;

use std::collections::BTreeMap;
use std::path::Path;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_store::{BuildSpec, Store, resolve_parameters};
use vprep_store_hnsw::HnswStore;

#[test]
fn the_store_conforms() {
    let scratch = tempfile::tempdir().unwrap();
    vprep_store::conformance::check(&HnswStore::new(), scratch.path());
}

#[test]
fn the_version_is_that_of_the_linked_engine() {
    assert_eq!(HnswStore::new().version().expect("built in"), usearch::version());
}

/// Seeded vectors of 12 values.
fn vectors(rows: usize) -> Vec<f32> {
    let value = |i: u64| (vprep_core::sample::mix(i) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    (0..rows as u64 * 12).map(value).collect()
}

fn spec(store: &HnswStore) -> BuildSpec {
    let parameters = resolve_parameters(store.info(), &BTreeMap::new()).expect("the defaults");
    BuildSpec { name: String::new(), metric: Metric::L2, unit_length: false, parameters }
}

fn build(base: MatrixView<'_>, dir: &Path) {
    let store = HnswStore::new();
    store.build(base, &spec(&store), dir, &Silent).expect("an index");
}
