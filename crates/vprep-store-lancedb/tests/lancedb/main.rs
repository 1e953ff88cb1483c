//! The suite of every store, and what only this engine needs.

mod damage;
mod limits;
mod parameters;
mod threads;

use lancedb::Table;
use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_store::{BuildSpec, Store, resolve_parameters};
use vprep_store_lancedb::LanceDbStore;

/// Values in a vector.
const DIM: usize = 12;

#[test]
fn the_store_conforms() {
    let scratch = tempfile::tempdir().unwrap();
    vprep_store::conformance::check(&LanceDbStore::new(), scratch.path());
}

#[test]
fn the_version_is_that_of_the_linked_engine() {
    let version = LanceDbStore::new().version().expect("built in");
    let lock = std::fs::read_to_string("../../Cargo.lock").unwrap();
    assert!(lock.contains(&format!("name = \"lancedb\"\nversion = \"{version}\"\n")), "{version}");
}

/// Seeded vectors.
fn vectors(rows: usize) -> Vec<f32> {
    let value = |i: u64| (vprep_core::sample::mix(i) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    (0..(rows * DIM) as u64).map(value).collect()
}

fn spec(metric: Metric, given: &[(&str, u32)]) -> BuildSpec {
    let given: BTreeMap<_, _> =
        given.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let parameters = resolve_parameters(LanceDbStore::new().info(), &given).expect("in range");
    BuildSpec { name: String::new(), metric, unit_length: false, parameters }
}

/// Builds an index of squared distances.
fn build(base: MatrixView<'_>, dir: &Path) {
    LanceDbStore::new().build(base, &spec(Metric::L2, &[]), dir, &Silent).expect("an index");
}

/// Runs work of LanceDB itself.
fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
    runtime.block_on(work)
}

/// The table as any other user of LanceDB opens it.
async fn table(dir: &Path) -> Table {
    let database =
        lancedb::connect(dir.to_str().expect("UTF-8")).execute().await.expect("a database");
    database.open_table("vectors").execute().await.expect("a table")
}
