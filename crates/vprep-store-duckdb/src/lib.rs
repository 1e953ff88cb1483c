//! The store `duckdb`: an HNSW index of DuckDB's VSS extension in a file database. Its knob is
//! `hnsw_ef_search`, the number of candidates that a search keeps.
//!
//! An index directory holds `index.duckdb`, its checksum `index.duckdb.xxh128` (as `xxh128sum`
//! prints it), and `index.json`. The database has one table, `base`, of the columns `row` (BIGINT,
//! the row number) and `vector` (FLOAT\[dim\]), and one HNSW index over `vector`. Any DuckDB with
//! the extension can read it.
//!
//! The engine comes in two parts: the library libduckdb, which the program is linked with, and the
//! extension, a file that fits one version of it. [`EXTENSION`] names the variable that says where
//! the extension lies; without it, the one that DuckDB itself has installed is loaded. Nothing is
//! ever downloaded.
//!
//! - A search is a lateral join of the queries with the table, which the extension answers from
//!   its index (`HNSW_INDEX_JOIN` in the plan). DuckDB 1.5 rewrites such joins into a scan before
//!   the extension sees them, so the optimizer `top_n_window_elimination` is switched off. Should
//!   the plan lack the index all the same, a note of the answers says so.
//! - One search runs at a time. Two at once in one index gave answers with rows twice, or without
//!   some, in most runs of the conformance suite on two threads (1.5.5), and never on one.
//! - Queries go to the engine up to 64 at a time. Planning a statement takes it a few milliseconds,
//!   so a batch of one query is mostly that.
//! - Scores are computed from the base; the engine chooses the rows.
//! - The extension keeps the whole index, vectors included, in memory while it is open, and so it
//!   does while it builds.
//! - A build on a pool of one thread gives the same bytes every time; more threads add the rows in
//!   an order that differs from run to run, and so does the graph.
//! - The extension does not stop when a build is interrupted. The build returns at once, but what
//!   the engine had begun goes on in the background until it is done or the process ends.
//!
//! ```
//! use std::collections::BTreeMap;
//! use vprep_core::{MatrixView, Metric, Silent};
//! use vprep_store::{BuildSpec, Store, resolve_parameters};
//! use vprep_store_duckdb::DuckdbStore;
//!
//! let rows = [1.0, 0.0, 0.6, 0.8, 0.0, 1.0];
//! let base = MatrixView::new(&rows, 2);
//! let store = DuckdbStore::new();
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

mod batch;
mod build;
mod contents;
mod create;
mod database;
mod extension;
mod index;
mod metric;
mod session;

pub use extension::EXTENSION;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, Index, Parameter, Store, StoreError, StoreInfo};

const NAME: &str = "duckdb";
const KNOB: &str = "hnsw_ef_search";
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

static INFO: StoreInfo =
    StoreInfo { name: NAME, engine: "DuckDB VSS", knob: Some(KNOB), parameters: PARAMETERS };

/// DuckDB with its VSS extension.
#[derive(Clone, Debug, Default)]
pub struct DuckdbStore {
    extension: Option<PathBuf>,
}

impl DuckdbStore {
    /// The store, with the extension that [`EXTENSION`] names, or else the installed one.
    pub const fn new() -> Self {
        Self { extension: None }
    }

    /// The store with the extension in the file `path`.
    pub const fn with_extension(path: PathBuf) -> Self {
        Self { extension: Some(path) }
    }
}

impl Store for DuckdbStore {
    fn info(&self) -> &StoreInfo {
        &INFO
    }

    fn version(&self) -> Result<String, StoreError> {
        database::version(&database::in_memory(self.extension.as_deref())?)
    }

    fn build(
        &self,
        base: MatrixView<'_>,
        spec: &BuildSpec,
        dir: &Path,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        build::build(base, spec, dir, self.extension.as_deref(), progress)
    }

    fn open<'a>(
        &self,
        dir: &Path,
        base: MatrixView<'a>,
    ) -> Result<Box<dyn Index + 'a>, StoreError> {
        Ok(Box::new(index::DuckdbIndex::open(dir, base, self.extension.as_deref())?))
    }
}

/// An error of DuckDB.
fn engine(operation: &'static str, message: &dyn Display) -> StoreError {
    StoreError::Engine { store: NAME, operation, message: message.to_string() }
}
