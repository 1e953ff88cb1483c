//! Opening and searching a collection.

use super::collection::{Collection, FULL_SCAN_KIB, agrees};
use super::connection::{CallError, Connection, failed};
use super::settings::Settings;
use super::{INFO, NAME};
use crate::graph::{Graph, fills, knob_range};
use crate::ranking::ranked;
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::{
    BatchResult, Query, QueryBatchPointsBuilder, QueryPoints, QueryPointsBuilder,
    SearchParamsBuilder,
};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use vprep_core::{MatrixView, Progress, Silent};
use vprep_store::{Answers, Asked, Index, IndexFacts, KnobRange, Location, StoreError};

/// Queries sent at a time at most; a server works through the queries of a batch one by one.
const BATCH_QUERIES: usize = 32;

/// A collection that is there and is what `index.json` says.
pub(super) struct ServerIndex {
    facts: IndexFacts,
    dir: PathBuf,
    collection: String,
    connection: Connection,
    /// What is to be said about every answer.
    notes: Vec<String>,
}

impl ServerIndex {
    /// Compares the collection with the facts in `dir` and with the base.
    pub(super) fn open(
        settings: &Settings,
        dir: &Path,
        base: MatrixView<'_>,
    ) -> Result<Self, StoreError> {
        let facts = IndexFacts::read(dir, NAME, base)?;
        let no_index =
            |problem: String| StoreError::NoIndex { store: NAME, path: dir.to_owned(), problem };
        let Location::Collection(name) = facts.location.clone() else {
            return Err(no_index("index.json names no collection".to_owned()));
        };
        let connection = Connection::new(settings)?;
        // The call that fails soonest if nothing answers.
        connection.version(&Silent)?;
        let collection = Collection { connection: &connection, name: &name };
        let gone = |error| gone(dir, &name, error);
        let info = collection.info(&Silent).map_err(gone)?;
        let graph = Graph::of(&facts.parameters);
        if !graph.is_some_and(|graph| agrees(&info, facts.metric, base.dim(), graph)) {
            let problem = format!("dim, metric or parameters of {name} differ from index.json");
            return Err(no_index(problem));
        }
        let found = collection.count(&Silent).map_err(gone)?;
        if found != facts.rows {
            let rows = facts.rows;
            return Err(no_index(format!("{name} holds {found} rows, index.json says {rows}")));
        }
        let notes = notes(&facts, info.indexed_vectors_count.unwrap_or_default());
        Ok(Self { facts, dir: dir.to_owned(), collection: name, connection, notes })
    }

    /// Asks some queries in one call.
    fn ask(
        &self,
        queries: &[f32],
        k: usize,
        ef: u32,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<(i64, f32)>>, StoreError> {
        const OPERATION: &str = "searching";
        let query = |query: &[f32]| -> QueryPoints {
            QueryPointsBuilder::new(self.collection.as_str())
                .query(Query::new_nearest(query.to_vec()))
                .params(SearchParamsBuilder::default().hnsw_ef(u64::from(ef)).exact(false))
                .limit(k as u64)
                .with_payload(false)
                .with_vectors(false)
                .build()
        };
        let batch: Vec<_> = queries.chunks_exact(self.facts.dim as usize).map(query).collect();
        let count = batch.len();
        let request = QueryBatchPointsBuilder::new(self.collection.as_str(), batch);
        let answer = self
            .connection
            .call(OPERATION, progress, |client| client.query_batch(request))
            .map_err(|error| gone(&self.dir, &self.collection, error))?;
        if answer.result.len() != count {
            let message = format!("{} answers to {count} queries", answer.result.len());
            return Err(failed(OPERATION, message));
        }
        answer.result.iter().map(|result| self.ranked(result)).collect()
    }

    fn ranked(&self, result: &BatchResult) -> Result<Vec<(i64, f32)>, StoreError> {
        let found = result.result.iter().map(|point| {
            match point.id.as_ref().and_then(|id| id.point_id_options.as_ref()) {
                Some(PointIdOptions::Num(row)) => (*row, point.score),
                _ => (u64::MAX, point.score),
            }
        });
        ranked(self.facts.metric, self.facts.rows, found)
            .ok_or_else(|| failed("searching", "an answer is no row of the base".to_owned()))
    }
}

impl Index for ServerIndex {
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
        progress.check()?;
        let asked = Asked { queries, k, knob };
        let width = asked.check(&INFO, &self.facts, self.knob_range(k))?;
        let mut answers = Answers {
            rows: vec![-1; queries.rows() * width],
            scores: vec![f32::NAN; queries.rows() * width],
            notes: self.notes.clone(),
        };
        if answers.rows.is_empty() {
            return Ok(answers);
        }
        let ef = knob.unwrap_or_default();
        let threads = rayon::current_num_threads();
        let batch = queries.rows().div_ceil(threads).clamp(1, BATCH_QUERIES);
        let places = answers
            .rows
            .par_chunks_mut(batch * width)
            .zip(answers.scores.par_chunks_mut(batch * width));
        queries.data().par_chunks(batch * queries.dim()).zip(places).try_for_each(
            |(queries, (rows, scores))| {
                progress.check()?;
                let found = self.ask(queries, width, ef, progress)?;
                let places = rows.chunks_mut(width).zip(scores.chunks_mut(width));
                for (found, (rows, scores)) in found.into_iter().zip(places) {
                    for ((row, score), found) in rows.iter_mut().zip(scores).zip(found) {
                        (*row, *score) = found;
                    }
                }
                Ok::<_, StoreError>(())
            },
        )?;
        Ok(answers)
    }
}

/// What a reader must know about every answer.
fn notes(facts: &IndexFacts, linked: u64) -> Vec<String> {
    if !fills(facts.rows, facts.dim, FULL_SCAN_KIB) {
        return vec![format!(
            "a scan answered: Qdrant uses no graph for less than {FULL_SCAN_KIB} KiB of vectors"
        )];
    }
    if linked < facts.rows {
        let rows = facts.rows;
        return vec![format!("a scan answered in part: {linked} of {rows} rows are in the graph")];
    }
    Vec::new()
}

/// An error of a call about the collection of an index.
fn gone(dir: &Path, name: &str, error: CallError) -> StoreError {
    match error {
        CallError::Other(error) => error,
        CallError::NotFound => StoreError::NoIndex {
            store: NAME,
            path: dir.to_owned(),
            problem: format!("the server has no collection {name}"),
        },
    }
}
