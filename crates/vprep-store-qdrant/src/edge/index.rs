//! Opening and searching a shard.

use super::engine::{agrees, failed, guard};
use super::{INFO, NAME, files};
use crate::graph::{Graph, knob_range};
use crate::ranking::ranked;
use qdrant_edge::{
    EdgeConfig, EdgeShard, NamedQuery, PointId, QueryEnum, QueryRequest, ScoringQuery,
    SearchParams, WalOptions, WithPayloadInterface, WithVector,
};
use std::path::Path;
use tempfile::TempDir;
use vprep_core::{MatrixView, Progress};
use vprep_store::{
    Answers, Asked, Index, IndexFacts, KnobRange, StoreError, answer_each, checksum,
};

/// Bytes of the log that the engine wants and that nothing is ever written to.
const LOG_BYTES: usize = 1 << 16;

/// A loaded shard.
pub(super) struct EdgeIndex {
    facts: IndexFacts,
    /// Whether every row is in the graph.
    linked: bool,
    shard: Closing,
    /// The engine's own directory; it goes when the shard is closed.
    _place: TempDir,
}

/// A shard that is closed without a panic.
struct Closing(Option<EdgeShard>);

impl Drop for Closing {
    fn drop(&mut self) {
        let shard = self.0.take();
        // Nothing was written to the shard, so nothing is lost if the engine cannot flush it.
        let _ = guard("closing", || {
            drop(shard);
            Ok(())
        });
    }
}

impl EdgeIndex {
    /// Loads the index in `dir` into memory and compares it with its facts and the base.
    pub(super) fn open(dir: &Path, base: MatrixView<'_>) -> Result<Self, StoreError> {
        let facts = IndexFacts::read(dir, NAME, base)?;
        checksum::verify(NAME, &dir.join(files::SHARD))?;
        let no_index =
            |problem: String| StoreError::NoIndex { store: NAME, path: dir.to_owned(), problem };

        let place = TempDir::new()
            .map_err(|source| StoreError::Io { path: std::env::temp_dir(), source })?;
        files::link(dir, place.path())
            .map_err(|source| StoreError::Io { path: place.path().to_owned(), source })?;
        let mut config = guard("reading its configuration", || {
            EdgeConfig::load(place.path()).unwrap_or_else(|| Ok(EdgeConfig::default()))
        })
        .map_err(|error| no_index(error.to_string()))?;
        let graph = Graph::of(&facts.parameters);
        if !graph.is_some_and(|graph| agrees(&config, facts.metric, base.dim(), graph)) {
            return Err(no_index("dim, metric or parameters differ from index.json".to_owned()));
        }

        config.wal_options =
            Some(WalOptions { segment_capacity: LOG_BYTES, ..WalOptions::default() });
        let shard = guard("opening", || EdgeShard::load(place.path(), Some(config)))
            .map_err(|error| no_index(error.to_string()))?;
        let (info, shard) = (shard.info(), Closing(Some(shard)));
        if info.points_count != base.rows() {
            let (found, rows) = (info.points_count, base.rows());
            return Err(no_index(format!("{found} rows, but index.json says {rows}")));
        }
        let linked = info.indexed_vectors_count == base.rows();
        Ok(Self { facts, linked, shard, _place: place })
    }

    /// Finds the neighbours of one query, best first.
    fn search_one(&self, query: &[f32], k: usize, ef: u32) -> Result<Vec<(i64, f32)>, StoreError> {
        const OPERATION: &str = "searching";
        let shard = self.shard.0.as_ref().ok_or_else(|| failed(OPERATION, &"it is closed"))?;
        let nearest = QueryEnum::Nearest(NamedQuery::default_dense(query.to_vec()));
        let request = QueryRequest {
            prefetches: Vec::new(),
            query: Some(ScoringQuery::Vector(nearest)),
            filter: None,
            score_threshold: None,
            limit: k,
            offset: 0,
            params: Some(SearchParams { hnsw_ef: Some(ef as usize), ..SearchParams::default() }),
            with_vector: WithVector::Bool(false),
            with_payload: WithPayloadInterface::Bool(false),
        };
        let points = guard(OPERATION, || shard.query(request))?;
        let found = points.iter().map(|point| match point.id {
            PointId::NumId(row) => (row, point.score),
            PointId::Uuid(_) => (u64::MAX, point.score),
        });
        ranked(self.facts.metric, self.facts.rows, found)
            .ok_or_else(|| failed(OPERATION, &"an answer is no row of the base"))
    }
}

impl Index for EdgeIndex {
    fn facts(&self) -> &IndexFacts {
        &self.facts
    }

    fn knob_range(&self, k: usize) -> Option<KnobRange> {
        Some(knob_range(k, self.facts.rows as usize))
    }

    fn search(
        &self,
        queries: MatrixView<'_>,
        k: usize,
        knob: Option<u32>,
        progress: &dyn Progress,
    ) -> Result<Answers, StoreError> {
        let asked = Asked { queries, k, knob };
        let width = asked.check(&INFO, &self.facts, self.knob_range(k))?;
        let ef = knob.unwrap_or_default();
        let mut answers =
            answer_each(queries, width, progress, |query| self.search_one(query, width, ef))?;
        if !self.linked {
            answers.notes.push(
                "a scan answered: Qdrant builds no graph for less than 1 KiB of vectors".to_owned(),
            );
        }
        Ok(answers)
    }
}
