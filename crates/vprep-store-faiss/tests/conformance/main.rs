//! The suite of every store, and what only this engine needs.

mod answers;
mod damage;
mod parameters;
mod threads;

use std::collections::BTreeMap;
use std::path::Path;
use vprep_core::{MatrixView, Metric, Silent, sample::mix};
use vprep_store::{Answers, BuildSpec, Store, StoreError, resolve_parameters};
use vprep_store_faiss::FaissStore;

const DIM: usize = 12;

fn conforms(store: FaissStore) {
    let scratch = tempfile::tempdir().expect("a directory");
    vprep_store::conformance::check(&store, scratch.path());
}

#[test]
fn flat_conforms() {
    conforms(FaissStore::FLAT);
}

#[test]
fn hnsw_conforms() {
    conforms(FaissStore::HNSW);
}

#[test]
fn ivf_conforms() {
    conforms(FaissStore::IVF);
}

#[test]
fn pq_conforms() {
    conforms(FaissStore::PQ);
}

#[test]
fn the_version_is_that_of_the_linked_engine() {
    assert_eq!(FaissStore::FLAT.version().expect("built in"), "1.12.0");
}

/// Seeded vectors of twelve values from -0.5 to 0.5.
fn vectors(rows: usize) -> Vec<f32> {
    let value = |i: u64| (mix(i) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    (0..(rows * DIM) as u64).map(value).collect()
}

fn spec(store: FaissStore, metric: Metric, given: &[(&str, u32)]) -> BuildSpec {
    let given: BTreeMap<_, _> = given.iter().map(|&(name, v)| (name.to_owned(), v)).collect();
    let parameters = resolve_parameters(store.info(), &given).expect("legal parameters");
    BuildSpec { name: String::new(), metric, unit_length: false, parameters }
}

/// Builds an index for squared distances.
fn build(store: FaissStore, base: MatrixView<'_>, given: &[(&str, u32)], dir: &Path) {
    store.build(base, &spec(store, Metric::L2, given), dir, &Silent).expect("an index");
}

/// Builds, opens and searches with the knob value that `knob` chooses from the smallest and largest.
fn search(
    store: FaissStore,
    (base, queries): (MatrixView<'_>, MatrixView<'_>),
    spec: &BuildSpec,
    k: usize,
    knob: impl Fn(u32, u32) -> u32,
) -> Result<Answers, StoreError> {
    let dir = tempfile::tempdir().expect("a directory");
    store.build(base, spec, dir.path(), &Silent)?;
    let index = store.open(dir.path(), base)?;
    let knob = index.knob_range(k).map(|range| knob(range.smallest, range.largest));
    index.search(queries, k, knob, &Silent)
}
