//! The store `hnsw`: an HNSW graph of f32 vectors through [usearch](https://docs.rs/usearch), the
//! embedded default. Its knob is `expansion_search`, the number of candidates that a search keeps.
//!
//! An index directory holds `index.usearch`, its checksum `index.usearch.xxh128` (as `xxh128sum`
//! prints it), and `index.json`. A build on a pool of one thread adds the rows in order and gives
//! the same bytes every time; more threads add them in an order that differs from run to run, and
//! so does the graph. Rows that usearch lost on the way are linked again before the index is
//! written.
//!
//! ```
//! use std::collections::BTreeMap;
//! use vprep_core::{MatrixView, Metric, Silent};
//! use vprep_store::{BuildSpec, Store, resolve_parameters};
//! use vprep_store_hnsw::HnswStore;
//!
//! let rows = [1.0, 0.0, 0.6, 0.8, 0.0, 1.0];
//! let base = MatrixView::new(&rows, 2);
//! let store = HnswStore::new();
//! let parameters = resolve_parameters(store.info(), &BTreeMap::new())?;
//! let spec = BuildSpec { name: "example".into(), metric: Metric::Cosine, unit_length: true, parameters };
//! let dir = tempfile::tempdir()?;
//! store.build(base, &spec, dir.path(), &Silent)?;
//!
//! let index = store.open(dir.path(), base)?;
//! let answers = index.search(MatrixView::new(&[0.0, 1.0], 2), 2, Some(3), &Silent)?;
//! assert_eq!(answers.rows, [2, 1]);
//! assert_eq!(answers.scores, [1.0, 0.8]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod file;
mod gate;
pub mod graph;
mod index;
mod metric;
mod repair;

use graph::GraphOptions;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use vprep_core::{MatrixView, Metric, Progress};
use vprep_store::{BuildSpec, Index, KnobRange, Parameter, Store, StoreError, StoreInfo};

const NAME: &str = "hnsw";
const KNOB: &str = "expansion_search";
const M: &str = "m";
const EF_CONSTRUCTION: &str = "ef-construction";

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: M,
        default: 16,
        min: 2,
        max: 512,
        help: "links of a row in each upper layer; the bottom layer has twice as many",
    },
    Parameter {
        name: EF_CONSTRUCTION,
        default: 128,
        min: 1,
        max: 65_536,
        help: "candidates kept while a row looks for its links",
    },
];

/// HNSW through usearch.
#[derive(Clone, Copy, Debug, Default)]
pub struct HnswStore;

static INFO: StoreInfo =
    StoreInfo { name: NAME, engine: "usearch", knob: Some(KNOB), parameters: PARAMETERS };

impl HnswStore {
    /// The store.
    pub const fn new() -> Self {
        Self
    }
}

impl Store for HnswStore {
    fn info(&self) -> &StoreInfo {
        &INFO
    }

    fn version(&self) -> Result<String, StoreError> {
        Ok(usearch::version().to_owned())
    }

    fn build(
        &self,
        base: MatrixView<'_>,
        spec: &BuildSpec,
        dir: &Path,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        build::build(base, spec, dir, progress)
    }

    fn open<'a>(
        &self,
        dir: &Path,
        base: MatrixView<'a>,
    ) -> Result<Box<dyn Index + 'a>, StoreError> {
        Ok(Box::new(index::HnswIndex::open(dir, base)?))
    }
}

/// usearch searches with max(expansion, k) candidates, so a value below `min(k, rows)` would be
/// another name for `min(k, rows)`; and with as many candidates as rows nothing is left to find.
/// usearch takes 0 to mean its default, so no value is 0.
fn knob_range(k: usize, rows: usize) -> KnobRange {
    let largest = u32::try_from(rows).unwrap_or(u32::MAX).max(1);
    let smallest = u32::try_from(k).unwrap_or(u32::MAX).clamp(1, largest);
    KnobRange { smallest, largest, step: 1 }
}

/// The options of the graph of a base of `dim` values, from the store's parameters.
fn options(
    dim: usize,
    metric: Metric,
    unit_length: bool,
    parameters: &BTreeMap<String, u32>,
) -> Result<GraphOptions, StoreError> {
    let parameter = |name: &str| {
        let value = parameters.get(name).map(|&value| value as usize);
        value.ok_or_else(|| engine(NAME, "setup", &format!("no value for the parameter {name}")))
    };
    let (m, ef_construction) = (parameter(M)?, parameter(EF_CONSTRUCTION)?);
    Ok(GraphOptions { store: NAME, metric, unit_length, dim, m, ef_construction })
}

/// An error of usearch, in a graph of `store`.
fn engine(store: &'static str, operation: &'static str, message: &dyn Display) -> StoreError {
    StoreError::Engine { store, operation, message: message.to_string() }
}
