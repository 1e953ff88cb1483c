//! The suite of every store, and what only this engine needs.

mod damage;
mod extension;
mod interruption;
mod opening;
mod parameters;

use duckdb::Connection;
use std::collections::BTreeMap;
use std::path::Path;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_store::{BuildSpec, Store, resolve_parameters};
use vprep_store_duckdb::{DuckdbStore, EXTENSION};

#[test]
fn the_store_conforms() {
    let scratch = tempfile::tempdir().unwrap();
    vprep_store::conformance::check(&DuckdbStore::new(), scratch.path());
}

#[test]
fn the_version_is_that_of_library_and_extension() {
    let version = DuckdbStore::new().version().expect("both are there");
    assert!(version.starts_with("1.5.5 with vss "), "{version}");
}

const DIM: usize = 12;

/// Seeded vectors of [`DIM`] values.
fn vectors(rows: usize) -> Vec<f32> {
    let value = |i: u64| (vprep_core::sample::mix(i) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    (0..(rows * DIM) as u64).map(value).collect()
}

fn spec(given: &[(&str, u32)]) -> BuildSpec {
    let given = given.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let parameters = resolve_parameters(DuckdbStore::new().info(), &given).expect("legal");
    BuildSpec { name: String::new(), metric: Metric::L2, unit_length: false, parameters }
}

fn build(base: MatrixView<'_>, dir: &Path) {
    build_with(&[], base, dir);
}

fn build_with(given: &[(&str, u32)], base: MatrixView<'_>, dir: &Path) {
    DuckdbStore::new().build(base, &spec(given), dir, &Silent).expect("an index");
}

/// A connection with the database of an index that may change it.
fn connect(dir: &Path) -> Connection {
    let connection = Connection::open(dir.join("index.duckdb")).expect("a database");
    let extension = std::env::var(EXTENSION).map_or("vss".to_owned(), |path| format!("'{path}'"));
    connection.execute_batch(&format!("LOAD {extension}")).expect("the extension");
    connection
}

/// Every file of a directory with its bytes.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, std::fs::read(path).expect("a file"))
    };
    entries.map(file).collect()
}
