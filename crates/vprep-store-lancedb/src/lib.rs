//! The store `lancedb`: [LanceDB](https://docs.rs/lancedb) in process, with an IVF_HNSW_FLAT index
//! of one partition: an HNSW graph over f32 vectors. Its knob is `ef`, the number of candidates
//! that a search keeps.
//!
//! An index directory is a LanceDB database. It holds the table `vectors` (the folder
//! `vectors.lance`, with the columns `row` and `vector`), the checksums of its files
//! `vectors.lance.xxh128` (as `xxh128sum` prints them), and `index.json`. Opening and searching change
//! none of them.
//!
//! Two builds never give the same bytes: LanceDB names files at random, records the time, and links
//! rows in parallel without a fixed order.
//!
//! A search asks the index alone (LanceDB's fast search): where there is no index, LanceDB answers
//! nothing rather than scan, and opening refuses a table without one. Under cosine the engine leaves
//! zero vectors out of the index, so they are never found.
//!
//! Threads: rows are linked on rayon's global pool, and as many queries are asked at a time as
//! rayon's current pool has threads. The engine computes all of them on a pool of its own with one thread
//! for each core but two, at least one; the environment variable `LANCE_CPU_THREADS`, read once,
//! sets another number. While linking, the engine keeps a copy of the vectors in the system's folder
//! for temporary files (`TMPDIR`).
//!
//! ```
//! use std::collections::BTreeMap;
//! use vprep_core::{MatrixView, Metric, Silent};
//! use vprep_store::{BuildSpec, Store, resolve_parameters};
//! use vprep_store_lancedb::LanceDbStore;
//!
//! let rows = [1.0, 0.0, 0.6, 0.8, 0.0, 1.0];
//! let base = MatrixView::new(&rows, 2);
//! let store = LanceDbStore::new();
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
mod check;
mod engine;
mod fill;
mod index;
mod query;
mod table;

use std::fmt::Display;
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, Index, KnobRange, Parameter, Store, StoreError, StoreInfo};

const NAME: &str = "lancedb";
const KNOB: &str = "ef";
const M: &str = "m";
const EF_CONSTRUCTION: &str = "ef-construction";

/// Version of the crate `lancedb`, which does not say it itself. A test compares it with what is
/// linked.
const VERSION: &str = "0.41.0";

/// Lance refuses fewer than four links, because such a graph falls apart, and fewer candidates than
/// links (`HnswBuildParams` in lance-index).
const FEWEST_LINKS: u32 = 4;
const MOST_CANDIDATES: u32 = 65_536;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: M,
        default: 16,
        min: FEWEST_LINKS,
        max: 512,
        help: "links of a row in each upper layer; the bottom layer has up to twice as many",
    },
    Parameter {
        name: EF_CONSTRUCTION,
        default: 128,
        min: FEWEST_LINKS,
        max: MOST_CANDIDATES,
        help: "candidates kept while a row looks for its links, at least m",
    },
];

/// HNSW through LanceDB.
#[derive(Clone, Copy, Debug, Default)]
pub struct LanceDbStore;

static INFO: StoreInfo =
    StoreInfo { name: NAME, engine: "LanceDB", knob: Some(KNOB), parameters: PARAMETERS };

impl LanceDbStore {
    /// The store.
    pub const fn new() -> Self {
        Self
    }
}

impl Store for LanceDbStore {
    fn info(&self) -> &StoreInfo {
        &INFO
    }

    fn version(&self) -> Result<String, StoreError> {
        Ok(VERSION.to_owned())
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
        Ok(Box::new(index::LanceDbIndex::open(dir, base)?))
    }
}

/// Lance refuses a search with fewer candidates than neighbours asked for, and with as many
/// candidates as rows nothing is left to find.
fn knob_range(k: usize, rows: usize) -> KnobRange {
    let largest = u32::try_from(rows).unwrap_or(u32::MAX).max(1);
    let smallest = u32::try_from(k).unwrap_or(u32::MAX).clamp(1, largest);
    KnobRange { smallest, largest, step: 1 }
}

/// An error of LanceDB.
fn engine_error(operation: &'static str, message: &dyn Display) -> StoreError {
    StoreError::Engine { store: NAME, operation, message: message.to_string() }
}
