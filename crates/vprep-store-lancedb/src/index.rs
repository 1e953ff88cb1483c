//! Opening and searching the table.

use crate::engine::Engine;
use crate::table::{self, FOLDER, INDEX};
use crate::{INFO, NAME, check, engine_error, knob_range, query};
use futures_util::{StreamExt, TryStreamExt, stream};
use lancedb::Table;
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{Answers, Asked, Index, IndexFacts, KnobRange, StoreError, checksum};

const SEARCHING: &str = "searching";

/// Queries between two questions whether to go on.
const GROUP: usize = 64;

/// What the cache of the index may hold beyond the size of its files, in bytes.
const CACHE_MARGIN: usize = 256 << 20;

/// An open table.
pub(crate) struct LanceDbIndex<'a> {
    facts: IndexFacts,
    base: MatrixView<'a>,
    table: Table,
    engine: Engine,
}

impl<'a> LanceDbIndex<'a> {
    /// Opens the table in `dir`, compares it with its facts and the base, and loads the index.
    pub(crate) fn open(dir: &Path, base: MatrixView<'a>) -> Result<Self, StoreError> {
        let facts = IndexFacts::read(dir, NAME, base)?;
        let bytes = checksum::verify(NAME, &dir.join(FOLDER))?;
        let no_index =
            |problem: String| StoreError::NoIndex { store: NAME, path: dir.join(FOLDER), problem };
        let engine = Engine::start(dir)?;
        // Arrays in memory are wider than in files, and must not push each other out.
        let cache = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_mul(2);
        let (place, cache) = (table::place(dir)?, cache.saturating_add(CACHE_MARGIN));
        let expected = facts.clone();
        let (table, problem) = engine
            .run("opening", async move {
                let table = table::open(&place, cache).await?;
                let problem = check::problem(&table, &expected).await?;
                if problem.is_none() {
                    table.prewarm_index(INDEX).await?;
                }
                Ok((table, problem))
            })
            .map_err(|error| no_index(error.to_string()))?;
        match problem {
            Some(problem) => Err(no_index(problem)),
            None => Ok(Self { facts, base, table, engine }),
        }
    }

    /// Asks for the neighbours of some queries, as many at a time as the pool has threads.
    fn ask(
        &self,
        queries: MatrixView<'_>,
        k: usize,
        ef: u32,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<i64>>, StoreError> {
        let query = |vector| query::nearest(&self.table, vector, self.facts.metric, k, ef as usize);
        let asked = queries.iter().map(query).collect::<lancedb::Result<Vec<_>>>();
        let asked = asked.map_err(|error| engine_error(SEARCHING, &error))?;
        let threads = rayon::current_num_threads();
        let asking = self.engine.begin(async move {
            stream::iter(asked).map(query::rows).buffered(threads).try_collect().await
        });
        self.engine.watch(SEARCHING, asking, progress)
    }

    /// The neighbours `rows` of a query with their scores, best first, equal scores by row number.
    fn ranked(&self, vector: &[f32], rows: &[i64]) -> Result<Vec<(i64, f32)>, StoreError> {
        let metric = self.facts.metric;
        let score = |&row: &i64| {
            let known = usize::try_from(row).ok().filter(|&row| row < self.base.rows());
            let known =
                known.ok_or_else(|| engine_error(SEARCHING, &"an answer is no row of the base"))?;
            Ok((row, metric.score(vector, self.base.row(known))))
        };
        let mut found = rows.iter().map(score).collect::<Result<Vec<_>, StoreError>>()?;
        // The engine's distances are f32, and 1 - x where x is a small inner product.
        found.sort_unstable_by(|a, b| metric.compare(a.1, b.1).then(a.0.cmp(&b.0)));
        Ok(found.into_iter().map(|(row, score)| (row, score as f32)).collect())
    }
}

impl Index for LanceDbIndex<'_> {
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
        progress.check()?;
        let mut answers = Answers {
            rows: vec![-1; queries.rows() * width],
            scores: vec![f32::NAN; queries.rows() * width],
            notes: Vec::new(),
        };
        if answers.rows.is_empty() {
            return Ok(answers);
        }
        let mut places = answers.rows.chunks_mut(width).zip(answers.scores.chunks_mut(width));
        for start in (0..queries.rows()).step_by(GROUP) {
            let group = queries.slice(start..queries.rows().min(start + GROUP));
            let found = self.ask(group, width, knob.unwrap_or_default(), progress)?;
            for ((vector, found), (rows, scores)) in group.iter().zip(found).zip(&mut places) {
                let places = rows.iter_mut().zip(scores);
                for ((row, score), found) in places.zip(self.ranked(vector, &found)?) {
                    (*row, *score) = found;
                }
            }
        }
        Ok(answers)
    }
}
