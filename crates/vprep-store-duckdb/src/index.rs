//! Opening and searching the index.

use crate::contents::Contents;
use crate::database::{self, FILE};
use crate::session::{Found, Session};
use crate::{INFO, NAME, engine};
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use vprep_core::{MatrixView, Progress};
use vprep_store::{Answers, Asked, Index, IndexFacts, KnobRange, StoreError, checksum};

/// Neighbours that the index can be asked for at most: the extension leaves joins with more to a
/// scan, since a chunk of DuckDB has 2,048 rows.
const LARGEST_K: usize = 2_047;

/// Queries in a statement at most.
const QUERIES: usize = 64;

/// Candidates that a statement looks at for all its queries, about; these take a fraction of a
/// second, which is how often the user is asked.
const CANDIDATES: usize = 65_536;

/// What a reader must know when the index has not been used.
const SCANNED: &str = "a sequential scan answered, and not the HNSW index";

/// An open database.
pub(crate) struct DuckdbIndex<'a> {
    facts: IndexFacts,
    base: MatrixView<'a>,
    /// One, since two searches at once give wrong answers.
    session: Mutex<Session>,
}

impl<'a> DuckdbIndex<'a> {
    /// Loads the index in `dir` into memory and compares it with its facts and the base.
    pub(crate) fn open(
        dir: &Path,
        base: MatrixView<'a>,
        extension: Option<&Path>,
    ) -> Result<Self, StoreError> {
        let facts = IndexFacts::read(dir, NAME, base)?;
        checksum::verify(NAME, &dir.join(FILE))?;
        let unreadable = |error: duckdb::Error| StoreError::NoIndex {
            store: NAME,
            path: dir.join(FILE),
            problem: error.to_string(),
        };
        let connection = database::open(dir, extension)?.map_err(unreadable)?;
        Contents::read(&connection).map_err(unreadable)?.check(&facts, dir)?;
        Ok(Self { facts, base, session: Mutex::new(Session::new(connection)) })
    }

    /// No code panics between two consistent states, so a poisoned lock is as good as another.
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the rows found for a batch of queries, best first, equal scores by row number.
    fn rank(
        &self,
        queries: MatrixView<'_>,
        found: &Found,
        width: usize,
        rows: &mut [i64],
        scores: &mut [f32],
    ) -> Result<(), StoreError> {
        let wrong = || engine("searching", &"an answer is no row of the base");
        let mut lists = vec![Vec::with_capacity(width); queries.rows()];
        for &(query, row) in &found.pairs {
            let query = usize::try_from(query).ok().filter(|&query| query < queries.rows());
            let place = usize::try_from(row).ok().filter(|&row| row < self.base.rows());
            let (query, place) = query.zip(place).ok_or_else(wrong)?;
            let score = self.facts.metric.score(queries.row(query), self.base.row(place));
            lists[query].push((row, score));
        }
        let places = rows.chunks_exact_mut(width).zip(scores.chunks_exact_mut(width));
        for (mut list, (rows, scores)) in lists.into_iter().zip(places) {
            list.sort_unstable_by(|a, b| self.facts.metric.compare(a.1, b.1).then(a.0.cmp(&b.0)));
            for ((row, score), found) in rows.iter_mut().zip(scores).zip(list) {
                (*row, *score) = (found.0, found.1 as f32);
            }
        }
        Ok(())
    }
}

impl Index for DuckdbIndex<'_> {
    fn facts(&self) -> &IndexFacts {
        &self.facts
    }

    /// A search keeps at least `min(k, rows)` candidates, so a smaller value would be another name
    /// for that one; and with as many candidates as rows nothing is left to find.
    fn knob_range(&self, k: usize) -> Option<KnobRange> {
        let largest = u32::try_from(self.facts.rows).unwrap_or(u32::MAX).max(1);
        let smallest = u32::try_from(k).unwrap_or(u32::MAX).clamp(1, largest);
        Some(KnobRange { smallest, largest, step: 1 })
    }

    fn search(
        &self,
        queries: MatrixView<'_>,
        k: usize,
        knob: Option<u32>,
        progress: &dyn Progress,
    ) -> Result<Answers, StoreError> {
        let width = Asked { queries, k, knob }.check(&INFO, &self.facts, self.knob_range(k))?;
        progress.check()?;
        if width == 0 || queries.rows() == 0 {
            return Ok(Answers::default());
        }
        if width > LARGEST_K {
            let message = format!("k is {width}, and the index gives {LARGEST_K} rows at most");
            return Err(engine("searching", &message));
        }
        let knob = knob.unwrap_or_default();
        let mut answers = Answers {
            rows: vec![-1; queries.rows() * width],
            scores: vec![f32::NAN; queries.rows() * width],
            notes: Vec::new(),
        };
        let (dim, metric) = (queries.dim(), self.facts.metric);
        let step = (CANDIDATES / knob.max(1) as usize).clamp(1, QUERIES);
        let scanned = AtomicBool::new(false);
        let places = answers
            .rows
            .par_chunks_mut(step * width)
            .zip(answers.scores.par_chunks_mut(step * width));
        queries.data().par_chunks(step * dim).zip(places).try_for_each(
            |(part, (rows, scores))| {
                progress.check()?;
                let part = MatrixView::new(part, dim);
                // A search waits for no other task, so batches that share the threads of a pool
                // cannot wait for each other in a circle.
                let found = self.session().search(part, metric, width, knob)?;
                scanned.fetch_or(!found.by_index, Ordering::Relaxed);
                self.rank(part, &found, width, rows, scores)
            },
        )?;
        if scanned.into_inner() {
            answers.notes.push(SCANNED.to_owned());
        }
        Ok(answers)
    }
}
