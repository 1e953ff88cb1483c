//! Opening and searching.

use crate::error::engine;
use crate::searcher::{Search, Searcher};
use crate::server::Server;
use crate::verify::Table;
use crate::{INFO, KNOB, MAX_EF_SEARCH, NAME, knob_range, names};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use vprep_core::{MatrixView, Progress};
use vprep_store::{Answers, Asked, Index, IndexFacts, KnobRange, StoreError, answer_each};

/// A table with its index, and the sessions that search it.
pub(crate) struct PgvectorIndex<'a> {
    facts: IndexFacts,
    base: MatrixView<'a>,
    server: Server,
    table: Table,
    /// Sessions that nobody uses at the moment: in all as many as threads have searched at once.
    idle: Mutex<Vec<Searcher>>,
}

impl<'a> PgvectorIndex<'a> {
    /// Compares the table on the server with the facts in `dir` and with the base.
    pub(crate) fn open(
        server: Server,
        dir: &Path,
        base: MatrixView<'a>,
    ) -> Result<Self, StoreError> {
        let facts = IndexFacts::read(dir, NAME, base)?;
        let table = Table::read(dir, &facts)?;
        let searcher = Searcher::connect(&server)?;
        table.check(searcher.session(), &facts, base)?;
        Ok(Self { facts, base, server, table, idle: Mutex::new(vec![searcher]) })
    }

    /// Lends a session to `work`. One that failed is not used again.
    fn with<T>(
        &self,
        work: impl FnOnce(&mut Searcher) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idler = idle().pop();
        let mut searcher = match idler {
            Some(searcher) => searcher,
            None => Searcher::connect(&self.server)?,
        };
        let done = work(&mut searcher)?;
        idle().push(searcher);
        Ok(done)
    }

    /// Finds the neighbours of one query, best first, equal scores by row number. Scores are those
    /// of the base, in f64.
    fn search_one(&self, search: Search<'_>, query: &[f32]) -> Result<Vec<(i64, f32)>, StoreError> {
        let rows = self.with(|searcher| searcher.search(search, query))?;
        let metric = self.facts.metric;
        let score = |row: i64| {
            let index = usize::try_from(row).ok().filter(|&index| index < self.base.rows());
            let index =
                index.ok_or_else(|| engine("searching", "an answer is no row of the base"))?;
            Ok((row, metric.score(query, self.base.row(index))))
        };
        let mut found = rows.into_iter().map(score).collect::<Result<Vec<_>, StoreError>>()?;
        found.sort_unstable_by(|a, b| metric.compare(a.1, b.1).then(a.0.cmp(&b.0)));
        Ok(found.into_iter().map(|(row, score)| (row, score as f32)).collect())
    }
}

impl Index for PgvectorIndex<'_> {
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
        let limit = asked.check(&INFO, &self.facts, self.knob_range(k))?;
        progress.check()?;
        if queries.rows() == 0 || limit == 0 {
            return Ok(Answers::default());
        }
        let table = &self.table.name;
        let ef_search = knob.unwrap_or_default();
        let search = Search { table, metric: self.facts.metric, limit, ef_search };
        let other_plan = self.with(|searcher| {
            self.table.check_build(searcher.session())?;
            searcher.other_plan(search)
        })?;
        let mut answers =
            answer_each(queries, limit, progress, |query| self.search_one(search, query))?;
        // The table may have been replaced meanwhile.
        self.with(|searcher| self.table.check_build(searcher.session()))?;

        if let Some(plan) = other_plan {
            let index = names::index(table);
            answers.notes.push(format!("the index {index} was not used; the plan was: {plan}"));
        }
        if search.is_iterative() {
            answers.notes.push(format!(
                "{KNOB} is at most {MAX_EF_SEARCH}, below k = {k}: iterative scans brought the rest"
            ));
        }
        Ok(answers)
    }
}
