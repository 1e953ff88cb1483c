//! The suite of every store, and what only this engine needs.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and a skipped one says so"
)]

mod damage;
mod edge;
mod faults;
mod server;

use std::collections::BTreeMap;
use std::path::Path;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_store::{BuildSpec, Store, resolve_parameters};

const DIM: usize = 12;

/// Seeded vectors of [`DIM`] values.
fn vectors(rows: usize) -> Vec<f32> {
    let value = |i: u64| (vprep_core::sample::mix(i) >> 40) as f32 / (1 << 24) as f32 - 0.5;
    (0..(rows * DIM) as u64).map(value).collect()
}

/// What to build, with some parameters other than the defaults.
fn spec(store: &dyn Store, name: &str, given: &[(&str, u32)]) -> BuildSpec {
    let given: BTreeMap<_, _> = given.iter().map(|&(name, n)| (name.to_owned(), n)).collect();
    let parameters = resolve_parameters(store.info(), &given).expect("legal parameters");
    BuildSpec { name: name.to_owned(), metric: Metric::L2, unit_length: false, parameters }
}

fn build(store: &dyn Store, base: MatrixView<'_>, dir: &Path) {
    store.build(base, &spec(store, "tests", &[]), dir, &Silent).expect("an index");
}

/// Of the first queries of the base, how many find themselves first.
fn found_themselves(store: &dyn Store, dir: &Path, base: MatrixView<'_>, ef: u32) -> usize {
    let index = store.open(dir, base).expect("an index");
    let queries = base.slice(0..base.rows().min(500));
    let answers = index.search(queries, 1, Some(ef), &Silent).expect("answers");
    answers.rows.iter().zip(0..).filter(|&(&found, row)| found == row).count()
}
