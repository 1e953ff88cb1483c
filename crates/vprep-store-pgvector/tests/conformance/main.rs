//! The suite of every store, and what only this engine needs, against a real server.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
#![expect(clippy::print_stderr, reason = "a skipped test says so")]

mod cluster;
mod credentials;
mod damage;
mod extension;
mod faults;
mod names;
mod parameters;
mod programs;
mod progress;
mod searching;

use cluster::{Cluster, shared};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_store::{BuildSpec, Store, StoreError, resolve_parameters};
use vprep_store_pgvector::PgvectorStore;

const DIM: usize = 12;

#[test]
fn the_store_conforms() {
    let Some(cluster) = shared() else { return };
    let scratch = tempfile::tempdir().unwrap();
    vprep_store::conformance::check(&cluster.store(), scratch.path());
}

#[test]
fn the_version_is_what_the_server_says() {
    let Some(cluster) = shared() else { return };
    let version = cluster.store().version().expect("a server");
    let server = cluster.sql("postgres", "SHOW server_version").remove(0);
    let offered = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'";
    let extension = cluster.sql("postgres", offered).remove(0);
    assert_eq!(version, format!("{extension} (PostgreSQL {server})"));
}

/// Seeded vectors of `dim` values.
fn vectors(rows: usize, dim: usize) -> Vec<f32> {
    let value = |i: u64| (vprep_core::sample::mix(i) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    (0..(rows * dim) as u64).map(value).collect()
}

fn spec(name: &str) -> BuildSpec {
    let store = PgvectorStore::from_env();
    let parameters = resolve_parameters(store.info(), &BTreeMap::new()).expect("the defaults");
    BuildSpec { name: name.to_owned(), metric: Metric::L2, unit_length: false, parameters }
}

/// The same with other parameters.
fn spec_with(name: &str, m: u32, ef_construction: u32) -> BuildSpec {
    let given = [("m", m), ("ef-construction", ef_construction)];
    let parameters = given.map(|(name, value)| (name.to_owned(), value)).into();
    BuildSpec { parameters, ..spec(name) }
}

/// Builds into a new directory.
fn built(store: &PgvectorStore, base: MatrixView<'_>, spec: &BuildSpec) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    store.build(base, spec, dir.path(), &Silent).expect("an index");
    dir
}

/// The table of an index directory.
fn table(dir: &Path) -> String {
    let facts = std::fs::read_to_string(dir.join("index.json")).unwrap();
    let facts: vprep_store::IndexFacts = serde_json::from_str(&facts).unwrap();
    match facts.location {
        vprep_store::Location::Collection(table) => table,
        other => panic!("{other:?}"),
    }
}

/// The tables of a database that this store has made, sorted.
fn tables(cluster: &Cluster, database: &str) -> Vec<String> {
    cluster.sql(
        database,
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'vprep%' ORDER BY 1",
    )
}

/// Opens an index that must not open.
fn refused(store: &PgvectorStore, dir: &Path, base: MatrixView<'_>) -> StoreError {
    store.open(dir, base).err().expect("it must not open")
}

/// Writes text over a file.
fn overwrite(path: &Path, text: &str) {
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}
