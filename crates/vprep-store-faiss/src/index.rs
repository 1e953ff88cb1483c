//! Opening and searching an index.

use crate::gate::Gate;
use crate::kind::Kind;
use crate::native::Threads;
use crate::plan::{Comparison, Layout, Plan};
use crate::{file, native, vectors};
use faiss::index::autotune::ParameterSpace;
use faiss::index::{Index as _, IndexImpl};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{Answers, Asked, Index, IndexFacts, KnobRange, StoreError};

/// Queries in one call into FAISS. From 20 on it compares them with a flat index through BLAS
/// (`distance_compute_blas_threshold`), where squared distances lose digits to cancellation.
const CALL: usize = 16;

/// The same where BLAS is as exact as the plain loop, and several times as fast.
const CALL_OF_PRODUCTS: usize = 64;

/// The largest `efSearch` above k. FAISS looks through all candidates for the best one
/// (`HNSW::MinimaxHeap`), so the time of a search grows with the square of their number.
const EF_SEARCH_AT_MOST: u64 = 16_384;

/// A loaded index.
pub(crate) struct FaissIndex<'a> {
    kind: Kind,
    facts: IndexFacts,
    plan: Plan,
    base: MatrixView<'a>,
    inner: IndexImpl,
    gate: Gate,
    /// Rows in each list of an IVF index, ascending.
    lists: Vec<u64>,
}

impl<'a> FaissIndex<'a> {
    /// Loads the index in `dir` into memory and compares it with its facts and the base.
    pub(crate) fn open(kind: Kind, dir: &Path, base: MatrixView<'a>) -> Result<Self, StoreError> {
        let facts = IndexFacts::read(dir, kind.info().name, base)?;
        let plan = file::plan(kind, dir)?;
        if Plan::new(kind, &facts).ok().as_ref() != Some(&plan) {
            let problem = "not the plan that index.json leads to";
            return Err(file::no_index(kind, &dir.join(file::PLAN), &problem));
        }
        let inner = file::load(kind, dir)?;
        let mut lists = native::list_sizes(&inner).unwrap_or_default();
        lists.sort_unstable();
        let found = Self { kind, facts, plan, base, inner, gate: Gate::default(), lists };
        if !found.is_as_planned() {
            let problem = "rows, dim, metric, kind or sizes differ from index.json";
            return Err(file::no_index(kind, &dir.join(file::INDEX), &problem));
        }
        Ok(found)
    }

    /// Whether the loaded index is the planned one, as far as FAISS tells.
    fn is_as_planned(&self) -> bool {
        let sizes = match self.plan.layout {
            Layout::Flat => native::is_flat(&self.inner),
            Layout::Hnsw { ef_construction, .. } => {
                self.set("efConstruction", ef_construction).is_ok()
            }
            Layout::Ivf { nlist } => self.lists.len() == nlist as usize,
            Layout::Pq { m, nbits } => {
                native::code_size(&self.inner) == Some((m * nbits).div_ceil(8) as usize)
            }
        };
        sizes
            && self.inner.ntotal() == self.facts.rows
            && self.inner.d() == self.facts.dim
            && self.inner.metric_type() == self.plan.metric.engine()
    }

    /// Sets a number of a graph. FAISS refuses if the index is no graph.
    fn set(&self, name: &str, value: u32) -> Result<(), StoreError> {
        ParameterSpace::new()
            .and_then(|space| space.set_index_parameter(&self.inner, name, value))
            .map_err(|e| self.kind.engine("setting the knob", &e))
    }

    /// How many candidates FAISS is asked for, to return `width` rows.
    fn candidates(&self, width: usize, knob: u32) -> usize {
        match self.plan.layout {
            // Room for rows that rounding in f32 puts in the wrong order.
            Layout::Flat => (width + width / 8 + 16).min(self.base.rows()),
            Layout::Hnsw { .. } | Layout::Ivf { .. } => width,
            Layout::Pq { .. } => width * knob as usize,
        }
    }

    /// Asks FAISS on the calling thread.
    fn ask(
        &self,
        queries: &[f32],
        k: usize,
        knob: u32,
    ) -> Result<(Vec<i64>, Vec<f32>), StoreError> {
        let pass = match self.plan.layout {
            Layout::Hnsw { .. } => Some(self.gate.enter(knob, || self.set("efSearch", knob))?),
            _ => None,
        };
        let nprobe = matches!(self.plan.layout, Layout::Ivf { .. }).then_some(knob);
        let _one = Threads::hold(1);
        let found = native::search(&self.inner, queries, k, nprobe);
        drop(pass);
        found.map_err(|e| self.kind.engine("searching", &e))
    }

    /// Answers some queries: `width` places for each in `rows` and `scores`.
    fn answer(
        &self,
        queries: MatrixView<'_>,
        width: usize,
        knob: u32,
        rows: &mut [i64],
        scores: &mut [f32],
    ) -> Result<(), StoreError> {
        let asked = self.candidates(width, knob);
        let (found, distances) =
            self.ask(&vectors::prepared(queries, self.plan.normalised), asked, knob)?;
        if found.iter().any(|&row| row >= self.base.rows() as i64) {
            return Err(self.kind.engine("searching", &"an answer is no row of the base"));
        }
        let exactly = matches!(self.plan.layout, Layout::Flat | Layout::Pq { .. });
        let metric = self.facts.metric;
        let found = found.chunks_exact(asked).zip(distances.chunks_exact(asked));
        let places = rows.chunks_exact_mut(width).zip(scores.chunks_exact_mut(width));
        for ((query, (found, distances)), (rows, scores)) in queries.iter().zip(found).zip(places) {
            let some = found.iter().zip(distances).filter(|&(&row, _)| row >= 0);
            let mut best: Vec<(i64, f64)> = some
                .map(|(&row, &distance)| match exactly {
                    true => (row, metric.score(query, self.base.row(row as usize))),
                    false => (row, f64::from(distance)),
                })
                .collect();
            best.sort_unstable_by(|a, b| metric.compare(a.1, b.1).then(a.0.cmp(&b.0)));
            for ((row, score), best) in rows.iter_mut().zip(scores).zip(best) {
                (*row, *score) = (best.0, best.1 as f32);
            }
        }
        Ok(())
    }
}

impl Index for FaissIndex<'_> {
    fn facts(&self) -> &IndexFacts {
        &self.facts
    }

    /// FAISS keeps max(efSearch, k) candidates, so a smaller value would be another name for k.
    /// `nprobe` starts where even the emptiest lists together hold k rows.
    fn knob_range(&self, k: usize) -> Option<KnobRange> {
        let rows = self.facts.rows;
        let width = (k as u64).clamp(1, rows);
        let (smallest, largest) = match self.plan.layout {
            Layout::Flat => return None,
            Layout::Hnsw { .. } => (width, rows.min(EF_SEARCH_AT_MOST).max(width)),
            Layout::Ivf { nlist } => {
                let mut held = 0;
                let short = self.lists.iter().take_while(|&&list| {
                    held += list;
                    held < width
                });
                (short.count() as u64 + 1, u64::from(nlist))
            }
            Layout::Pq { .. } => (1, rows / width),
        };
        let value = |value| u32::try_from(value).unwrap_or(u32::MAX);
        Some(KnobRange { smallest: value(smallest), largest: value(largest), step: 1 })
    }

    fn statistics(&self) -> BTreeMap<String, u64> {
        let (Some(least), Some(most)) = (self.lists.first(), self.lists.last()) else {
            return BTreeMap::new();
        };
        let lists = [
            ("lists", self.lists.len() as u64),
            ("smallest-list", *least),
            ("median-list", self.lists[self.lists.len() / 2]),
            ("largest-list", *most),
        ];
        lists.map(|(name, value)| (name.to_owned(), value)).into()
    }

    fn search(
        &self,
        queries: MatrixView<'_>,
        k: usize,
        knob: Option<u32>,
        progress: &dyn Progress,
    ) -> Result<Answers, StoreError> {
        let asked = Asked { queries, k, knob };
        let width = asked.check(self.kind.info(), &self.facts, self.knob_range(k))?;
        progress.check()?;
        if width == 0 {
            return Ok(Answers::default());
        }
        let mut answers = Answers {
            rows: vec![-1; queries.rows() * width],
            scores: vec![f32::NAN; queries.rows() * width],
            notes: Vec::new(),
        };
        let call = match (self.plan.layout, self.plan.metric) {
            (Layout::Flat, Comparison::InnerProduct) => CALL_OF_PRODUCTS,
            _ => CALL,
        };
        let rows = answers.rows.par_chunks_mut(call * width);
        let places = rows.zip(answers.scores.par_chunks_mut(call * width));
        queries.data().par_chunks(call * queries.dim()).zip(places).try_for_each(
            |(some, (rows, scores))| {
                progress.check()?;
                let some = MatrixView::new(some, queries.dim());
                self.answer(some, width, knob.unwrap_or_default(), rows, scores)
            },
        )?;
        Ok(answers)
    }
}
