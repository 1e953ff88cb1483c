//! How the engine is set up and called.

use super::NAME;
use crate::graph::{Graph, INDEXING_THRESHOLD_KIB, MAX_SEGMENT_KIB};
use qdrant_edge::{
    DEFAULT_VECTOR_NAME, Distance, EdgeConfig, EdgeOptimizersConfig, EdgeVectorParams,
    HnswIndexConfig, OperationError,
};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use vprep_core::Metric;
use vprep_store::StoreError;

/// What is asked of the engine for vectors of `dim` values: one segment with a graph that is
/// built and used from the smallest size on. As Qdrant is told, `threads` threads build it.
pub(super) fn config(metric: Metric, dim: usize, graph: Graph, threads: usize) -> EdgeConfig {
    EdgeConfig::builder()
        .vector(DEFAULT_VECTOR_NAME, EdgeVectorParams::builder(dim, distance(metric)).build())
        .hnsw_config(HnswIndexConfig {
            m: graph.m as usize,
            ef_construct: graph.ef_construction as usize,
            full_scan_threshold: 0,
            max_indexing_threads: threads,
            on_disk: None,
            payload_m: None,
            inline_storage: None,
        })
        .optimizers(EdgeOptimizersConfig {
            default_segment_number: Some(1),
            indexing_threshold: Some(INDEXING_THRESHOLD_KIB as usize),
            max_segment_size: Some(MAX_SEGMENT_KIB as usize),
            ..EdgeOptimizersConfig::default()
        })
        .build()
}

/// Whether a stored configuration is that of an index.
pub(super) fn agrees(stored: &EdgeConfig, metric: Metric, dim: usize, graph: Graph) -> bool {
    let expected = config(metric, dim, graph, stored.hnsw_config.max_indexing_threads);
    (&stored.vectors, stored.hnsw_config) == (&expected.vectors, expected.hnsw_config)
}

fn distance(metric: Metric) -> Distance {
    match metric {
        Metric::Cosine => Distance::Cosine,
        Metric::Ip => Distance::Dot,
        Metric::L2 => Distance::Euclid,
    }
}

/// Calls the engine, which panics where it finds its files in a state that it did not expect, and
/// whenever it cannot write while it is closed.
pub(super) fn guard<T>(
    operation: &'static str,
    call: impl FnOnce() -> Result<T, OperationError>,
) -> Result<T, StoreError> {
    // Nothing that a panic may have left half done is used again.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| failed(operation, &error)),
        Err(_) => Err(failed(operation, &"the engine panicked")),
    }
}

/// An error of the engine.
pub(super) fn failed(operation: &'static str, message: &dyn Display) -> StoreError {
    StoreError::Engine { store: NAME, operation, message: message.to_string() }
}
