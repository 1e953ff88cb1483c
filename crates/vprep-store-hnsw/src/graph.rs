//! One usearch graph over the rows `0..n` of a matrix. This store has one of the whole base; a
//! store of partitions has one for each, and builds on this module.

use crate::gate::Gate;
use crate::{engine, metric, repair};
use std::path::Path;
use usearch::{IndexOptions, MetricKind, ScalarKind};
use vprep_core::{MatrixView, Metric, Progress, Task};
use vprep_store::StoreError;

/// What a graph is built with. A graph is loaded with the same options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphOptions {
    /// The store that errors name.
    pub store: &'static str,
    /// Metric of the dataset.
    pub metric: Metric,
    /// Whether cosine orders rows as the inner product does here.
    pub unit_length: bool,
    /// Values in a vector.
    pub dim: usize,
    /// Links of a row in each upper layer; the bottom layer has twice as many.
    pub m: usize,
    /// Candidates kept while a row looks for its links.
    pub ef_construction: usize,
}

impl GraphOptions {
    /// Builds the graph of `rows` (`n x dim`, n at least 1) and returns the bytes that
    /// [`load`](Self::load) takes. The calling thread alone adds the rows in their order, so the
    /// bytes are the same every time. `task` advances by one for each row.
    ///
    /// # Errors
    ///
    /// If usearch fails, or the user stops the work.
    pub fn build(
        &self,
        rows: MatrixView<'_>,
        progress: &dyn Progress,
        task: &dyn Task,
    ) -> Result<Vec<u8>, StoreError> {
        let index = self.empty(rows.rows(), 1)?;
        for (row, vector) in (0u64..).zip(rows.iter()) {
            progress.check()?;
            index.add(row, vector).map_err(|e| engine(self.store, "adding a row", &e))?;
            task.advance(1);
        }
        repair::repair(self.store, &index, rows, progress)?;
        let mut bytes = vec![0; index.serialized_length()];
        index
            .save_to_buffer(&mut bytes)
            .map_err(|e| engine(self.store, "writing the graph", &e))?;
        Ok(bytes)
    }

    /// Loads a graph of `rows` rows from the bytes that [`build`](Self::build) gave, into memory of
    /// its own. usearch follows the links in them without checking, so the caller must have
    /// compared their checksum. `path` is the file that errors name.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoIndex`] if it is no graph of these options and rows.
    pub fn load(&self, bytes: &[u8], rows: usize, path: &Path) -> Result<Graph, StoreError> {
        let no_index = |error: &dyn std::fmt::Display| self.no_index(path, error.to_string());
        let inner = self.unloaded()?;
        inner.load_from_buffer(bytes).map_err(|e| no_index(&e))?;
        let header = usearch::Index::metadata_from_buffer(bytes).map_err(|e| no_index(&e))?;
        self.graph(inner, header.metric, rows, path)
    }

    /// A graph without rows, with room for `rows` rows and `threads` threads at a time.
    pub(crate) fn empty(&self, rows: usize, threads: usize) -> Result<usearch::Index, StoreError> {
        let options = IndexOptions {
            connectivity: self.m,
            expansion_add: self.ef_construction,
            ..self.loading()
        };
        let index = usearch::Index::new(&options).map_err(|e| engine(self.store, "setup", &e))?;
        // One context per thread that can be inside `add` at a time: usearch refuses the next one.
        index
            .reserve_capacity_and_threads(rows, threads)
            .map_err(|e| engine(self.store, "reserving memory", &e))?;
        Ok(index)
    }

    /// A graph to load into.
    pub(crate) fn unloaded(&self) -> Result<usearch::Index, StoreError> {
        usearch::Index::new(&self.loading()).map_err(|e| engine(self.store, "setup", &e))
    }

    /// Loading takes dimensions, metric and connectivity from what is loaded.
    fn loading(&self) -> IndexOptions {
        IndexOptions {
            dimensions: self.dim,
            metric: self.kind(),
            quantization: ScalarKind::F32,
            ..IndexOptions::default()
        }
    }

    fn kind(&self) -> MetricKind {
        metric::kind(self.metric, self.unit_length)
    }

    fn no_index(&self, path: &Path, problem: String) -> StoreError {
        StoreError::NoIndex { store: self.store, path: path.to_owned(), problem }
    }

    /// Compares what was loaded, `found` being the metric in its header, and makes it ready for
    /// searches from as many threads as the machine or rayon's current pool has.
    pub(crate) fn graph(
        &self,
        inner: usearch::Index,
        found: MetricKind,
        rows: usize,
        path: &Path,
    ) -> Result<Graph, StoreError> {
        let agrees = inner.size() == rows
            && inner.dimensions() == self.dim
            && inner.connectivity() == self.m
            && inner.scalar_kind() == ScalarKind::F32
            && found == self.kind();
        if !agrees {
            let problem = "rows, dim, metric or m differ from index.json".to_owned();
            return Err(self.no_index(path, problem));
        }
        let hardware = std::thread::available_parallelism().map_or(1, usize::from);
        let contexts = hardware.max(rayon::current_num_threads());
        inner
            .reserve_capacity_and_threads(rows, contexts)
            .map_err(|e| engine(self.store, "reserving memory", &e))?;
        let Self { store, metric, .. } = *self;
        Ok(Graph { store, metric, rows: rows as u64, inner, gate: Gate::new(contexts) })
    }
}

/// A loaded graph.
pub struct Graph {
    store: &'static str,
    metric: Metric,
    rows: u64,
    inner: usearch::Index,
    gate: Gate,
}

impl Graph {
    /// Finds at most `k` neighbours of a query of `dim` values, with `expansion` candidates (at
    /// least 1), or with `k` where that is more: row numbers and scores in vprep's convention, best
    /// first, equal scores by row number. Any number of threads may call it.
    ///
    /// # Errors
    ///
    /// If usearch fails.
    pub fn search(
        &self,
        query: &[f32],
        k: usize,
        expansion: u32,
    ) -> Result<Vec<(i64, f32)>, StoreError> {
        let failed = |e: &dyn std::fmt::Display| engine(self.store, "searching", e);
        let matches = {
            let set = || self.inner.change_expansion_search(expansion as usize);
            let _pass = self.gate.enter(expansion, set);
            self.inner.search(query, k).map_err(|e| failed(&e))?
        };
        if matches.keys.iter().any(|&key| key >= self.rows) {
            return Err(failed(&"an answer is no row of the base"));
        }
        let metric = self.metric;
        // usearch calls two zero vectors alike; vprep's cosine calls a zero vector like nothing.
        let alike_to_none = metric == Metric::Cosine && query.iter().all(|&x| x == 0.0);
        let score = |d: f32| if alike_to_none { 0.0 } else { metric::score(metric, d) };
        let mut found: Vec<_> = matches
            .keys
            .iter()
            .zip(&matches.distances)
            .map(|(&key, &distance)| (key as i64, score(distance)))
            .collect();
        found.sort_unstable_by(|a, b| {
            metric.compare(f64::from(a.1), f64::from(b.1)).then(a.0.cmp(&b.0))
        });
        Ok(found)
    }
}
