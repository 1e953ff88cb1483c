//! Building a shard.

use super::engine::{config, failed, guard};
use super::{INFO, NAME, VERSION, files};
use crate::graph::{Graph, INDEXING_THRESHOLD_KIB, check_shape, fills};
use qdrant_edge::{
    EdgeShard, PointId, PointInsertOperations, PointOperations, PointStructPersisted, ShardInfo,
    UpdateOperation, VectorStructPersisted,
};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, SendError};
use std::thread;
use std::time::Duration;
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, IndexFacts, Location, StoreError};

/// Bytes of vectors handed over at a time; the engine copies them a few times.
const BATCH_BYTES: usize = 4 << 20;

/// How often the user is asked whether to go on while the engine builds the graph.
const POLL: Duration = Duration::from_millis(100);

/// Builds a shard with as many threads as rayon's current pool has, and writes it into `dir`.
pub(super) fn build(
    base: MatrixView<'_>,
    spec: &BuildSpec,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    progress.check()?;
    check_shape(NAME, base)?;
    let graph = Graph::of(&spec.parameters)
        .ok_or_else(|| failed("setup", &"a build parameter has no value"))?;
    let place = dir.join(files::SHARD);
    std::fs::create_dir(&place).map_err(|source| StoreError::Io { path: place.clone(), source })?;

    let config = config(spec.metric, base.dim(), graph, rayon::current_num_threads());
    let shard = guard("setup", || EdgeShard::new(&place, config))?;
    add(&shard, base, progress)?;
    let shard = link(shard, base.rows(), progress)?;
    check(&shard.info(), base)?;
    guard("writing the index", || {
        drop(shard);
        Ok(())
    })?;

    files::finish(dir, progress)?;
    let location = Location::Path(files::SHARD.to_owned());
    IndexFacts::new(&INFO, VERSION.to_owned(), base, spec, location).write(dir)
}

/// Adds all rows, not yet linked.
fn add(shard: &EdgeShard, base: MatrixView<'_>, progress: &dyn Progress) -> Result<(), StoreError> {
    let task = progress.task("adding rows to qdrant-edge", base.rows() as u64, "rows");
    let batch = (BATCH_BYTES / (4 * base.dim())).max(1);
    for start in (0..base.rows()).step_by(batch) {
        progress.check()?;
        let rows = start..base.rows().min(start + batch);
        let points = rows.clone().map(|row| PointStructPersisted {
            id: PointId::NumId(row as u64),
            vector: VectorStructPersisted::Single(base.row(row).to_vec()),
            payload: None,
        });
        let points = PointInsertOperations::PointsList(points.collect());
        let upsert = UpdateOperation::PointOperation(PointOperations::UpsertPoints(points));
        guard("adding rows", || shard.update(upsert))?;
        task.advance(rows.len() as u64);
    }
    Ok(())
}

/// Builds the graph, in a thread of its own because the engine cannot be told to stop. If the user
/// does not want to wait, the thread is left behind: it ends with the graph or with the process.
fn link(shard: EdgeShard, rows: usize, progress: &dyn Progress) -> Result<EdgeShard, StoreError> {
    const OPERATION: &str = "building the graph";
    let task = progress.task("building the graph of qdrant-edge", rows as u64, "rows");
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new()
        .name(NAME.to_owned())
        .spawn(move || {
            let done = guard(OPERATION, || shard.optimize());
            if let Err(SendError(left)) = sender.send((shard, done)) {
                // Closing the shard would write files into a directory that may be gone.
                std::mem::forget(left);
            }
        })
        .map_err(|error| failed(OPERATION, &error))?;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok((shard, done)) => {
                done?;
                task.advance(rows as u64);
                return Ok(shard);
            }
            Err(RecvTimeoutError::Timeout) => progress.check()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed(OPERATION, &"its thread ended without a word"));
            }
        }
    }
}

/// Compares what the shard holds with the base.
fn check(info: &ShardInfo, base: MatrixView<'_>) -> Result<(), StoreError> {
    let (rows, dim) = (base.rows(), base.dim());
    let counted = |what: &str, count: usize| {
        failed("checking the index", &format!("{count} of {rows} rows are {what}"))
    };
    if info.points_count != rows {
        return Err(counted("there", info.points_count));
    }
    if fills(rows as u64, dim as u32, INDEXING_THRESHOLD_KIB) && info.indexed_vectors_count != rows
    {
        return Err(counted("in the graph", info.indexed_vectors_count));
    }
    Ok(())
}
