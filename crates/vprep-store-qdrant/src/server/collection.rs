//! One collection: making, filling, indexing and looking at it.

use super::connection::{CallError, Connection, failed};
use crate::graph::{Graph, INDEXING_THRESHOLD_KIB, MAX_SEGMENT_KIB, fills};
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    CollectionInfo, CollectionStatus, CountPointsBuilder, CreateCollectionBuilder, Distance,
    HnswConfigDiffBuilder, OptimizersConfigDiffBuilder, PointStruct, UpdateCollectionBuilder,
    UpsertPointsBuilder, VectorParamsBuilder,
};
use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};
use vprep_core::{MatrixView, Metric, Progress};
use vprep_store::StoreError;

/// Bytes of vectors sent at a time, far below the 32 MiB that a server takes.
const BATCH_BYTES: usize = 1 << 20;

/// Rows sent at a time at most, so that short vectors make no huge messages either.
const BATCH_ROWS: usize = 2_000;

/// KiB of vectors up to which a server scans: the least value that every version takes.
pub(super) const FULL_SCAN_KIB: u64 = 10;

/// How often the server is asked how far it is.
const POLL: Duration = Duration::from_millis(100);

/// How long a server may do nothing although rows are not in the graph.
const STALL: Duration = Duration::from_secs(60);

/// A collection of one dense vector per point.
#[derive(Clone, Copy)]
pub(super) struct Collection<'a> {
    pub(super) connection: &'a Connection,
    pub(super) name: &'a str,
}

impl Collection<'_> {
    /// Makes the collection, empty. No graph is built before [`Self::link`], or it would be built
    /// again and again while rows come in.
    pub(super) fn create(
        &self,
        metric: Metric,
        dim: usize,
        graph: Graph,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        let hnsw = HnswConfigDiffBuilder::default()
            .m(u64::from(graph.m))
            .ef_construct(u64::from(graph.ef_construction))
            .full_scan_threshold(FULL_SCAN_KIB)
            .max_indexing_threads(rayon::current_num_threads() as u64);
        let optimizers = OptimizersConfigDiffBuilder::default()
            .default_segment_number(1)
            .max_segment_size(MAX_SEGMENT_KIB)
            .indexing_threshold(0);
        let request = CreateCollectionBuilder::new(self.name)
            .vectors_config(VectorParamsBuilder::new(dim as u64, distance(metric)))
            .hnsw_config(hnsw)
            .optimizers_config(optimizers)
            .shard_number(1)
            .replication_factor(1);
        let operation = "making a collection";
        self.connection.call(operation, progress, |client| client.create_collection(request))?;
        Ok(())
    }

    /// Sends all rows and counts them.
    pub(super) fn fill(
        &self,
        base: MatrixView<'_>,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        let task = progress.task("sending rows to qdrant", base.rows() as u64, "rows");
        let batch = (BATCH_BYTES / (4 * base.dim())).clamp(1, BATCH_ROWS);
        for start in (0..base.rows()).step_by(batch) {
            progress.check()?;
            let rows = start..base.rows().min(start + batch);
            let points = rows.clone().map(|row| PointStruct {
                id: Some((row as u64).into()),
                payload: HashMap::new(),
                vectors: Some(base.row(row).into()),
            });
            let request = UpsertPointsBuilder::new(self.name, points.collect::<Vec<_>>());
            self.connection
                .call("adding rows", progress, |client| client.upsert_points(request.wait(true)))?;
            task.advance(rows.len() as u64);
        }
        let (found, rows) = (self.count(progress)?, base.rows() as u64);
        if found != rows {
            return Err(failed("adding rows", format!("{found} of {rows} rows are there")));
        }
        Ok(())
    }

    /// Has the graph built and waits for it.
    pub(super) fn link(
        &self,
        base: MatrixView<'_>,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        const OPERATION: &str = "building the graph";
        let optimizers =
            OptimizersConfigDiffBuilder::default().indexing_threshold(INDEXING_THRESHOLD_KIB);
        let request = UpdateCollectionBuilder::new(self.name).optimizers_config(optimizers);
        self.connection.call(OPERATION, progress, |client| client.update_collection(request))?;

        let rows = base.rows() as u64;
        let expected =
            if fills(rows, base.dim() as u32, INDEXING_THRESHOLD_KIB) { rows } else { 0 };
        let task = progress.task("building the graph of qdrant", rows, "rows");
        let (mut done, mut idle_since) = (0, Instant::now());
        loop {
            progress.check()?;
            let info = self.info(progress)?;
            if let Some(status) = info.optimizer_status.as_ref().filter(|status| !status.ok) {
                return Err(failed(OPERATION, status.error.clone()));
            }
            let linked = info.indexed_vectors_count.unwrap_or_default().min(rows);
            match info.status() {
                CollectionStatus::Green if linked >= expected => return Ok(()),
                CollectionStatus::Red => {
                    return Err(failed(OPERATION, "the collection is red".to_owned()));
                }
                CollectionStatus::Yellow => idle_since = Instant::now(),
                _ => {}
            }
            if linked > done {
                task.advance(linked - done);
                (done, idle_since) = (linked, Instant::now());
            }
            if idle_since.elapsed() > STALL {
                let seconds = STALL.as_secs();
                return Err(failed(
                    OPERATION,
                    format!(
                        "{linked} of {rows} rows are in it, and nothing happened for {seconds} s"
                    ),
                ));
            }
            thread::sleep(POLL);
        }
    }

    /// The number of rows, counted one by one.
    pub(super) fn count(&self, progress: &dyn Progress) -> Result<u64, CallError> {
        let request = CountPointsBuilder::new(self.name).exact(true);
        let answer =
            self.connection.call("counting rows", progress, |client| client.count(request))?;
        Ok(answer.result.map(|result| result.count).unwrap_or_default())
    }

    /// What the server says about it.
    pub(super) fn info(&self, progress: &dyn Progress) -> Result<CollectionInfo, CallError> {
        const OPERATION: &str = "asking about the collection";
        let answer = self
            .connection
            .call(OPERATION, progress, |client| client.collection_info(self.name))?;
        let missing = || failed(OPERATION, "the answer is empty".to_owned());
        Ok(answer.result.ok_or_else(missing)?)
    }

    /// Deletes it with the aliases that point to it.
    pub(super) fn delete(&self, progress: &dyn Progress) -> Result<(), CallError> {
        let operation = "deleting a collection";
        self.connection.call(operation, progress, |client| client.delete_collection(self.name))?;
        Ok(())
    }
}

/// Whether a collection is configured as an index of these facts is.
pub(super) fn agrees(info: &CollectionInfo, metric: Metric, dim: usize, graph: Graph) -> bool {
    let config = info.config.as_ref();
    let hnsw = config.and_then(|config| config.hnsw_config.as_ref());
    let vectors =
        config.and_then(|config| config.params.as_ref()?.vectors_config.as_ref()?.config.as_ref());
    let (Some(hnsw), Some(Config::Params(vectors))) = (hnsw, vectors) else { return false };
    hnsw.m == Some(u64::from(graph.m))
        && hnsw.ef_construct == Some(u64::from(graph.ef_construction))
        && vectors.size == dim as u64
        && vectors.distance == distance(metric) as i32
}

fn distance(metric: Metric) -> Distance {
    match metric {
        Metric::Cosine => Distance::Cosine,
        Metric::Ip => Distance::Dot,
        Metric::L2 => Distance::Euclid,
    }
}
