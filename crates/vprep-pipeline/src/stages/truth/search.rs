//! The engines, which find the same answers, some queries at a time.

use super::reference;
use super::witness::Witness;
use crate::PipelineError;
use crate::truth_options::Engine;
use rayon::prelude::*;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vprep_core::{Interrupted, MatrixView, Metric, Progress, Task};
use vprep_knn::{Exact, Found, KnnError};

/// Multiplications that one thread of an engine does in half a minute, roughly.
const EXACT: usize = 500_000_000_000;
const F64: usize = 30_000_000_000;
/// Queries that are answered together, at most.
const QUERIES: usize = 1_000;

/// Queries whose answers may be held at once in a quarter of `memory`; finding them may take the
/// rest.
pub(super) fn queries_to_hold(k: usize, memory: usize) -> usize {
    (memory / 4 / (k * (size_of::<i32>() + size_of::<f32>()))).clamp(1, QUERIES)
}

/// A base that is searched.
pub(super) struct Searcher<'a> {
    pub(super) base: MatrixView<'a>,
    pub(super) queries: MatrixView<'a>,
    pub(super) metric: Metric,
    pub(super) k: usize,
    engine: Engine,
    memory: usize,
    /// Made when it is first needed.
    exact: Option<Exact<'a>>,
    /// The same, where FAISS searches again.
    witness: Option<Witness<'a>>,
    /// Where the index of the witness may lie.
    scratch: PathBuf,
    progress: &'a dyn Progress,
    /// Counts the pairs of all queries.
    task: Arc<dyn Task>,
}

impl<'a> Searcher<'a> {
    /// Gets ready to search `base`.
    pub(super) fn new(
        base: MatrixView<'a>,
        queries: MatrixView<'a>,
        metric: Metric,
        k: usize,
        (engine, memory): (Engine, usize),
        progress: &'a dyn Progress,
    ) -> Self {
        let pairs = queries.rows() as u64 * base.rows() as u64;
        let task = Arc::from(progress.task("searching", pairs, "pairs"));
        let (exact, witness, scratch) = (None, None, std::env::temp_dir());
        Self { base, queries, metric, k, engine, memory, exact, witness, scratch, progress, task }
    }

    /// Sets where large temporary files may lie: in the dataset.
    pub(super) fn scratch_in(&mut self, dataset: &Path) {
        self.scratch = dataset.join(".vprep");
    }

    /// How many queries are answered together: what takes half a minute.
    pub(super) fn queries_at_once(&self) -> usize {
        let speed = if self.engine == Engine::F64 { F64 } else { EXACT };
        let products = speed.saturating_mul(rayon::current_num_threads());
        (products / (self.base.rows() * self.base.dim()).max(1))
            .max(rayon::current_num_threads())
            .min(queries_to_hold(self.k, self.memory))
    }

    /// Counts queries as answered that need not be searched.
    pub(super) fn skip(&self, queries: usize) {
        self.task.advance(queries as u64 * self.base.rows() as u64);
    }

    /// Answers the queries of a range.
    pub(super) fn find(&mut self, range: Range<usize>) -> Result<Found, PipelineError> {
        let mut all = Found { queries: range.clone(), ..Found::default() };
        if self.engine == Engine::F64 {
            for answer in self.plain(range)? {
                answer.append_to(&mut all);
            }
            return Ok(all);
        }
        let exact = match self.exact.take() {
            Some(exact) => exact,
            None => Exact::new(self.base, self.metric)?.with_memory(self.memory - self.memory / 4),
        };
        let exact = self.exact.insert(exact);
        let part = Part { progress: self.progress, task: &self.task };
        exact.search(self.queries.slice(range), self.k, &part, |found| {
            all.rows.extend(found.rows);
            all.scores.extend(found.scores);
            all.gaps.extend(found.gaps);
            all.tied.extend(found.tied);
            Ok::<(), KnnError>(())
        })?;
        if self.engine == Engine::Faiss {
            self.ask_the_witness(&all)?;
        }
        Ok(all)
    }

    /// Fails if FAISS finds a better row for one of the queries.
    fn ask_the_witness(&mut self, found: &Found) -> Result<(), PipelineError> {
        let witness = match self.witness.take() {
            Some(witness) => witness,
            None => Witness::new(self.base, self.metric, &self.scratch, self.progress)?,
        };
        let witness = self.witness.insert(witness);
        let queries = self.queries.slice(found.queries.clone());
        match witness.contradicts(queries, found, self.k, self.progress)? {
            None => Ok(()),
            Some((query, row)) => Err(PipelineError::Contradicted { query, row }),
        }
    }

    fn plain(&self, range: Range<usize>) -> Result<Vec<reference::Answer>, Interrupted> {
        let answer = |query| {
            self.progress.check()?;
            let query = self.queries.row(query);
            let answer = reference::answer(self.base, query, self.metric, self.k);
            self.skip(1);
            Ok(answer)
        };
        range.into_par_iter().map(answer).collect()
    }
}

/// Progress of a part of a task.
struct Part<'a> {
    progress: &'a dyn Progress,
    task: &'a Arc<dyn Task>,
}

/// A part's task, which advances the whole.
struct Shared(Arc<dyn Task>);

impl Progress for Part<'_> {
    fn task(&self, _: &str, _: u64, _: &'static str) -> Box<dyn Task> {
        Box::new(Shared(Arc::clone(self.task)))
    }

    fn is_interrupted(&self) -> bool {
        self.progress.is_interrupted()
    }
}

impl Task for Shared {
    fn advance(&self, units: u64) {
        self.0.advance(units);
    }
}
