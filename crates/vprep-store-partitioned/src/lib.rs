//! The stores `partitioned-hnsw` and `graph-manager`: k-means partitions with an HNSW graph each,
//! through [usearch](https://docs.rs/usearch). The first has all partitions in memory; the second
//! loads them when they are needed, under a memory budget, and puts out the least recently used.
//! Their answers are the same. The knob is `nprobe`, the number of partitions that a query looks
//! into, from 1 to the number there are.
//!
//! # Partitions
//!
//! The parameter `partitions` says how many, but never less than 39 rows for each on average; what a
//! base has allowed stands in `partitions.json` with the smallest, median and largest number of
//! rows. Under l2, k-means is the usual one. Under cosine and inner product it goes by direction
//! (spherical k-means). A query ranks partitions by their centroids; only under an inner product of
//! vectors that are not unit length by the mean of their rows, so that long vectors count. Each row
//! is in the `overlap` nearest partitions. Where the `nprobe` best partitions give fewer than k rows,
//! a query goes on to the next ones until it has k, and the answer has a note that says how many
//! queries did.
//!
//! # Files
//!
//! Both stores have `partitions.bin` with the graphs, `partitions.json` with the place, rows and
//! checksum of each, `partitions.json.xxh128` (as `xxh128sum` prints it), and `index.json`.
//! `graph-manager` compares a partition with its checksum when it loads it, `partitioned-hnsw` all
//! of them when it opens the index. The same base and parameters give the same bytes in all of
//! them, whatever the threads.
//!
//! # Memory
//!
//! The budget of `graph-manager` is the parameter `memory-mib`, or `VPREP_GRAPH_MEMORY` where it is
//! set (bytes, or with a unit: `512MiB`). [`Index::statistics`] tells cold from warm: `loads`,
//! `hits`, `evictions`, `memory_bytes` and `memory_peak` since the index was opened. For both stores
//! it has `graphs_searched`, which shows that graphs have answered, and the sizes of partitions.
//! "Cold" is about this process; the system may still have the file in its page cache.
//!
//! ```
//! use std::collections::BTreeMap;
//! use vprep_core::{MatrixView, Metric, Silent};
//! use vprep_store::{BuildSpec, Store, resolve_parameters};
//! use vprep_store_partitioned::GraphManagerStore;
//!
//! let rows: Vec<f32> = (0..100).map(|row| row as f32).collect();
//! let base = MatrixView::new(&rows, 1);
//! let store = GraphManagerStore::new().with_memory(1 << 20);
//! let parameters = resolve_parameters(store.info(), &BTreeMap::from([("partitions".into(), 2)]))?;
//! let spec = BuildSpec { name: "example".into(), metric: Metric::L2, unit_length: false, parameters };
//! let dir = tempfile::tempdir()?;
//! store.build(base, &spec, dir.path(), &Silent)?;
//!
//! let index = store.open(dir.path(), base)?;
//! let answers = index.search(MatrixView::new(&[7.2], 1), 2, Some(1), &Silent)?;
//! assert_eq!(answers.rows, [7, 8]);
//! assert_eq!((index.statistics()["partitions"], index.statistics()["loads"]), (2, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assign;
mod budget;
mod build;
mod cache;
mod found;
mod geometry;
mod index;
mod kmeans;
mod layout;
mod packed;
mod parameters;
mod rank;
mod shelf;

use cache::Cache;
use index::PartitionedIndex;
use shelf::Whole;
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, Index, Store, StoreError, StoreInfo};
use vprep_store_hnsw::HnswStore;

const KNOB: &str = "nprobe";
const ENGINE: &str = "usearch";

static WHOLE: StoreInfo = StoreInfo {
    name: "partitioned-hnsw",
    engine: ENGINE,
    knob: Some(KNOB),
    parameters: parameters::WHOLE,
};

static MANAGED: StoreInfo = StoreInfo {
    name: "graph-manager",
    engine: ENGINE,
    knob: Some(KNOB),
    parameters: parameters::MANAGED,
};

/// Partitions that are all in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartitionedHnswStore;

impl PartitionedHnswStore {
    /// The store.
    pub const fn new() -> Self {
        Self
    }
}

impl Store for PartitionedHnswStore {
    fn info(&self) -> &StoreInfo {
        &WHOLE
    }

    fn version(&self) -> Result<String, StoreError> {
        HnswStore::new().version()
    }

    fn build(
        &self,
        base: MatrixView<'_>,
        spec: &BuildSpec,
        dir: &Path,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        build::build(&WHOLE, self.version()?, base, spec, dir, progress)
    }

    fn open<'a>(
        &self,
        dir: &Path,
        base: MatrixView<'a>,
    ) -> Result<Box<dyn Index + 'a>, StoreError> {
        let index = PartitionedIndex::open(&WHOLE, dir, base, |packed, _| Whole::load(&packed))?;
        Ok(Box::new(index))
    }
}

/// Partitions that are loaded on demand, under a memory budget.
#[derive(Clone, Copy, Debug, Default)]
pub struct GraphManagerStore {
    memory: Option<u64>,
}

impl GraphManagerStore {
    /// The store. Its budget is what `VPREP_GRAPH_MEMORY` says when an index is opened, else what
    /// the index was built with.
    pub const fn new() -> Self {
        Self { memory: None }
    }

    /// Sets the budget to `bytes`, whatever the environment and the index say.
    #[must_use]
    pub const fn with_memory(self, bytes: u64) -> Self {
        Self { memory: Some(bytes) }
    }

    /// The budget, if it is not that of the index.
    fn memory(&self) -> Result<Option<u64>, StoreError> {
        self.memory
            .map_or_else(|| budget::from_environment(MANAGED.name), |memory| Ok(Some(memory)))
    }
}

impl Store for GraphManagerStore {
    fn info(&self) -> &StoreInfo {
        &MANAGED
    }

    fn version(&self) -> Result<String, StoreError> {
        self.memory()?;
        HnswStore::new().version()
    }

    fn build(
        &self,
        base: MatrixView<'_>,
        spec: &BuildSpec,
        dir: &Path,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        build::build(&MANAGED, self.version()?, base, spec, dir, progress)
    }

    fn open<'a>(
        &self,
        dir: &Path,
        base: MatrixView<'a>,
    ) -> Result<Box<dyn Index + 'a>, StoreError> {
        let memory = self.memory()?;
        let index = PartitionedIndex::open(&MANAGED, dir, base, |packed, facts| {
            Cache::new(packed, memory.unwrap_or_else(|| budget::from_facts(facts)))
        })?;
        Ok(Box::new(index))
    }
}
