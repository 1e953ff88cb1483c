//! The suite of every store, and what only these two need.

mod damage;
mod memory;
mod parameters;
mod threads;

use std::collections::BTreeMap;
use std::path::Path;
use vprep_core::sample::mix;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_store::{BuildSpec, Store, resolve_parameters};
use vprep_store_partitioned::{GraphManagerStore, PartitionedHnswStore};

const DIM: usize = 12;

#[test]
fn the_partitioned_store_conforms() {
    let scratch = tempfile::tempdir().unwrap();
    vprep_store::conformance::check(&PartitionedHnswStore::new(), scratch.path());
}

#[test]
fn the_graph_manager_conforms() {
    let scratch = tempfile::tempdir().unwrap();
    vprep_store::conformance::check(&GraphManagerStore::new(), scratch.path());
}

/// Seeded vectors of [`DIM`] values, in clusters that overlap.
fn vectors(rows: usize) -> Vec<f32> {
    let value = |i: u64| (mix(i) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    let dim = DIM as u64;
    (0..rows as u64 * dim)
        .map(|i| value(u64::MAX - (mix(i / dim) % 256 * dim + i % dim)) + value(i))
        .collect()
}

fn spec(store: &dyn Store, metric: Metric, given: &[(&str, u32)]) -> BuildSpec {
    let given: BTreeMap<_, _> = given.iter().map(|&(name, v)| (name.to_owned(), v)).collect();
    let parameters = resolve_parameters(store.info(), &given).expect("legal parameters");
    BuildSpec { name: String::new(), metric, unit_length: false, parameters }
}

fn build(store: &dyn Store, base: MatrixView<'_>, given: &[(&str, u32)], dir: &Path) {
    store.build(base, &spec(store, Metric::L2, given), dir, &Silent).expect("an index");
}
