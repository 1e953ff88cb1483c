//! The search: products, shortlists, exact scores, block by block.

use crate::blocks::{Blocks, Cut};
use crate::bounds::{Bounds, merit};
use crate::coarse::{Coarse, Estimate, Plan};
use crate::kernel::{Unit, prefetch};
use crate::products::inner_products;
use crate::shortlist::Shortlist;
use crate::{Found, KnnError};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::OnceLock;
use vprep_core::{
    Interrupted, MatrixView, Metric, Progress, RowList, Silent, Task, cosine_divisor, norm,
};

#[cfg(test)]
mod tests;

/// A base made ready for exact search.
///
/// It borrows the base and keeps one f64 norm per row, from the first search on. Work runs on
/// rayon's current pool.
#[derive(Debug)]
pub struct Exact<'a> {
    base: MatrixView<'a>,
    metric: Metric,
    norms: OnceLock<Vec<f64>>,
    bounds: Bounds,
    blocks: Blocks,
    plan: Plan,
}

impl<'a> Exact<'a> {
    /// Takes `base` (`n x dim`, finite values, any norms). It is not read before it is searched.
    ///
    /// # Errors
    ///
    /// If the base has more than `i32::MAX` rows, or the variable `VPREP_EXACT` asks for instructions
    /// that are not here.
    pub fn new(base: MatrixView<'a>, metric: Metric) -> Result<Self, KnnError> {
        if base.rows() > i32::MAX as usize {
            return Err(KnnError::TooManyRows { rows: base.rows() });
        }
        let bounds = Bounds::new(metric, base.dim());
        let (blocks, plan) = (Blocks::default(), Plan::from_environment()?);
        Ok(Self { base, metric, norms: OnceLock::new(), bounds, blocks, plan })
    }

    /// Bounds what a block of queries holds, and what is needed to find it, to about `bytes`, or to
    /// what one query takes where that is more.
    pub fn with_memory(self, bytes: usize) -> Self {
        Self { blocks: Blocks { bytes, ..self.blocks }, ..self }
    }

    /// Finds the `k` nearest rows of each query (`q x dim`, finite values) and hands them to
    /// `sink`, a block of queries at a time, in order. What a block holds, and what is needed to
    /// find it, stays within a few hundred MB unless [told](Self::with_memory), or what one query
    /// takes where that is more.
    ///
    /// # Errors
    ///
    /// If `k` is 0 or more than the rows of the base, the dimensions differ, a row or a query has
    /// NaN or infinity, the user stops the work, or `sink` fails; what `sink` was given until then
    /// holds.
    pub fn search<E: From<KnnError>>(
        &self,
        queries: MatrixView<'_>,
        k: usize,
        progress: &dyn Progress,
        mut sink: impl FnMut(Found) -> Result<(), E>,
    ) -> Result<(), E> {
        let rows = self.base.rows();
        if k == 0 || k > rows {
            return Err(KnnError::K { k, rows }.into());
        }
        if queries.dim() != self.base.dim() {
            let (found, expected) = (queries.dim(), self.base.dim());
            return Err(KnnError::Dimension { found, expected }.into());
        }
        let norms = finite_norms(queries, self.metric, "queries", progress)?;
        let pairs = queries.rows() as u64 * rows as u64;
        let task = progress.task("searching", pairs, "pairs");
        let report = Report { progress, task: &*task };
        let keep = (k + 1).min(rows);
        let unit = self.plan.unit(self.base, queries.rows(), keep);
        let step = match unit {
            Some(_) => self.blocks.coded_queries_at_once(k, Plan::bytes(keep, self.base.dim())),
            None => self.blocks.queries_at_once(k, rows),
        };
        for start in (0..queries.rows()).step_by(step) {
            let range = start..queries.rows().min(start + step);
            let block =
                Queries { rows: queries.slice(range.clone()), norms: &norms[range.clone()] };
            let mut found = match unit {
                Some(unit) => self.search_coded(unit, block, k, &report)?,
                None => {
                    self.norms(progress)?;
                    self.search_block(block, k, &report).map_err(KnnError::from)?
                }
            };
            found.queries = range;
            sink(found)?;
        }
        Ok(())
    }

    /// The norm of each row; for cosine what it divides by.
    ///
    /// # Errors
    ///
    /// If a row has NaN or infinity, or the user stops the work.
    fn norms(&self, progress: &dyn Progress) -> Result<&[f64], KnnError> {
        if let Some(norms) = self.norms.get() {
            return Ok(norms);
        }
        let norms = finite_norms(self.base, self.metric, "base", progress)?;
        Ok(self.norms.get_or_init(|| norms))
    }

    /// The norms, by those who come after [`norms`](Self::norms).
    fn known_norms(&self) -> &[f64] {
        self.norms.get().expect("norms come first; this is a bug")
    }

    /// Finds the neighbours of queries by the coarse pass, and those of the queries that it cannot
    /// tell by the f32 pass.
    fn search_coded(
        &self,
        unit: Unit,
        queries: Queries<'_>,
        k: usize,
        report: &Report<'_>,
    ) -> Result<Found, KnnError> {
        let (count, keep) = (queries.norms.len(), (k + 1).min(self.base.rows()));
        let coarse = Coarse {
            unit,
            plan: self.plan,
            base: self.base,
            metric: self.metric,
            bounds: self.bounds,
            keep,
        };
        let listed = coarse.search(queries.rows, report.progress, report.task)?;
        if self.norms.get().is_none() {
            let norms = checked_norms(listed.norms, self.metric, "base")?;
            self.norms.get_or_init(|| norms);
        }
        let mut found = Found::zeros(count, k);
        let answers = (found.rows.par_chunks_mut(k))
            .zip(found.scores.par_chunks_mut(k))
            .zip(&mut found.gaps)
            .zip(&mut found.tied)
            .zip(listed.lists);
        let left = answers.enumerate().map(|(q, ((((rows, scores), gap), tied), list))| {
            report.progress.check()?;
            let Some(list) = list else { return Ok(Some(q)) };
            let best = self.rescore(unit, queries.query(q), list, keep);
            self.answer(&best, rows, scores, (gap, tied));
            Ok(None)
        });
        let left: Vec<Option<usize>> = left.collect::<Result<_, Interrupted>>()?;
        let left: Vec<usize> = left.into_iter().flatten().collect();
        self.search_left(queries, &left, &mut found, k, report)?;
        Ok(found)
    }

    /// Finds the neighbours of some queries by the f32 pass.
    fn search_left(
        &self,
        queries: Queries<'_>,
        left: &[usize],
        found: &mut Found,
        k: usize,
        report: &Report<'_>,
    ) -> Result<(), Interrupted> {
        // The coarse pass has counted their pairs.
        let report = Report { task: &Silent, ..*report };
        for left in left.chunks(self.blocks.queries_at_once(k, self.base.rows())) {
            let values: Vec<f32> =
                left.iter().flat_map(|&q| queries.rows.row(q)).copied().collect();
            let norms: Vec<f64> = left.iter().map(|&q| queries.norms[q]).collect();
            let rows = MatrixView::new(&values, self.base.dim());
            let part = self.search_block(Queries { rows, norms: &norms }, k, &report)?;
            for (i, &q) in left.iter().enumerate() {
                found.rows[q * k..][..k].copy_from_slice(&part.rows[i * k..][..k]);
                found.scores[q * k..][..k].copy_from_slice(&part.scores[i * k..][..k]);
                found.gaps[q] = part.gaps[i];
                found.tied[q] = part.tied[i];
            }
        }
        Ok(())
    }

    /// The best `keep` rows of a list in f64, best first: the most promising ones are scored first,
    /// then those that may be better than the worst of them.
    fn rescore(
        &self,
        unit: Unit,
        query: Query<'_>,
        mut list: Vec<Estimate>,
        keep: usize,
    ) -> Vec<(u32, f64)> {
        let mut best = Vec::with_capacity(list.len());
        let mut score = |list: &mut [Estimate]| {
            // In the order of the rows, for memory's sake.
            list.sort_unstable_by_key(|estimate| estimate.row);
            for (i, estimate) in list.iter().enumerate() {
                if let Some(next) = list.get(i + 2) {
                    prefetch(self.base.row(next.row as usize));
                }
                best.push((estimate.row, self.goodness_by(unit, query, estimate.row)));
            }
            best.sort_unstable_by(better_first);
            best.truncate(keep);
            best[keep - 1].1
        };
        let by_high = |a: &Estimate, b: &Estimate| b.high.total_cmp(&a.high);
        list.select_nth_unstable_by(keep - 1, by_high);
        let mut rest = list.split_off(keep);
        let floor = self.bounds.merit_below(score(&mut list), query.norm);
        rest.retain(|estimate| estimate.high >= floor);
        if !rest.is_empty() {
            score(&mut rest);
        }
        best
    }

    /// Writes the best rows of a query, one more than wanted if there are so many, where they go.
    fn answer(
        &self,
        best: &[(u32, f64)],
        rows: &mut [i32],
        scores: &mut [f32],
        (gap, tied): (&mut f64, &mut bool),
    ) {
        let k = rows.len();
        for ((row, score), &(r, goodness)) in rows.iter_mut().zip(scores).zip(best) {
            *row = r as i32;
            *score = self.signed(goodness) as f32;
        }
        *gap = best.get(k).map_or(f64::INFINITY, |next| best[k - 1].1 - next.1);
        *tied = *gap == 0.0;
    }

    /// Finds the neighbours of queries that fit into memory together by the f32 pass.
    fn search_block(
        &self,
        queries: Queries<'_>,
        k: usize,
        report: &Report<'_>,
    ) -> Result<Found, Interrupted> {
        let (count, rows) = (queries.norms.len(), self.base.rows());
        let keep = (k + 1).min(rows);
        let Cut { tile, strands } = self.blocks.cut(count, rayon::current_num_threads());
        let mut strands_of_tiles: Vec<Strand> = (0..count.div_ceil(tile) * strands)
            .map(|i| {
                let start = i / strands * tile;
                let queries = start..count.min(start + tile);
                let shortlists = queries.clone().map(|_| Shortlist::new(keep)).collect();
                Strand { queries, number: i % strands, shortlists }
            })
            .collect();

        for chunk in steps(0..rows, self.blocks.chunk) {
            strands_of_tiles.par_iter_mut().try_for_each_init(
                Scratch::default,
                |scratch, strand| {
                    let queries = queries.slice(strand.queries.clone());
                    let blocks = steps(chunk.clone(), self.blocks.base);
                    for block in blocks.skip(strand.number).step_by(strands) {
                        report.progress.check()?;
                        let pairs = queries.norms.len() as u64 * block.len() as u64;
                        self.scan(queries, block, scratch, &mut strand.shortlists);
                        report.task.advance(pairs);
                    }
                    Ok(())
                },
            )?;
        }

        let mut found = Found::zeros(count, k);
        let answers = (found.rows.par_chunks_mut(tile * k))
            .zip(found.scores.par_chunks_mut(tile * k))
            .zip(found.gaps.par_chunks_mut(tile))
            .zip(found.tied.par_chunks_mut(tile));
        strands_of_tiles.par_chunks_mut(strands).zip(answers).try_for_each(
            |(strands, (((rows, scores), gaps), tied))| {
                let answers = rows.chunks_mut(k).zip(scores.chunks_mut(k)).zip(gaps).zip(tied);
                for (i, (((rows, scores), gap), tied)) in answers.enumerate() {
                    report.progress.check()?;
                    let query = queries.query(strands[0].queries.start + i);
                    let best = self.best(query, strands, i, keep);
                    self.answer(&best, rows, scores, (gap, tied));
                }
                Ok(())
            },
        )?;
        Ok(found)
    }

    /// Multiplies a tile of queries with a block of the base and offers to each query's shortlist
    /// what is not certainly too bad for it.
    fn scan(
        &self,
        queries: Queries<'_>,
        block: Range<usize>,
        scratch: &mut Scratch,
        shortlists: &mut [Shortlist],
    ) {
        let norms = &self.known_norms()[block.clone()];
        let (products, terms) = scratch.fill(&self.bounds, norms, queries.norms.len());
        inner_products(queries.rows, self.base.slice(block.clone()), products);

        for (q, products) in products.chunks_exact(block.len()).enumerate() {
            let query = queries.query(q);
            let shortlist = &mut shortlists[q];
            let threshold =
                |list: &Shortlist| self.bounds.threshold(list.floor(), query.norm, terms.norms);
            let mut least = threshold(shortlist);
            for (group, products) in products.chunks(GROUP).enumerate() {
                let start = group * GROUP;
                let scale = &terms.scale[start..start + products.len()];
                let offset = &terms.offset[start..start + products.len()];
                if !any_reaches(least, products, scale, offset) {
                    continue;
                }
                let floor = shortlist.floor();
                for (i, &product) in products.iter().enumerate() {
                    let merit = merit(product, scale[i], offset[i]);
                    if reaches(least, merit) {
                        let goodness = self.bounds.goodness(merit, query.norm, norms[start + i]);
                        let row = (block.start + start + i) as u32;
                        shortlist.offer(row, goodness, |row| self.goodness(query, row));
                    }
                }
                if shortlist.floor() > floor {
                    least = threshold(shortlist);
                }
            }
        }
    }

    /// The best `keep` rows for query `i` of a tile, whose strands have shared the base.
    fn best(
        &self,
        query: Query<'_>,
        strands: &mut [Strand],
        i: usize,
        keep: usize,
    ) -> Vec<(u32, f64)> {
        let mut best = Vec::new();
        for strand in &mut *strands {
            let shortlist = std::mem::replace(&mut strand.shortlists[i], Shortlist::new(keep));
            let mut rows = shortlist.finish(|row| self.goodness(query, row));
            if best.is_empty() { best = rows } else { best.append(&mut rows) }
        }
        if strands.len() > 1 {
            best.sort_unstable_by(better_first);
            best.truncate(keep);
        }
        best
    }

    /// The score of a row, signed so that larger is better: `Metric::score` to the last bit, with
    /// norms that are known already.
    fn goodness(&self, query: Query<'_>, row: u32) -> f64 {
        self.goodness_by(Unit::Portable, query, row)
    }

    fn goodness_by(&self, unit: Unit, query: Query<'_>, row: u32) -> f64 {
        let score = unit.score(self.metric, query.values, self.base.row(row as usize));
        if self.metric == Metric::Cosine {
            let norms = query.norm * self.known_norms()[row as usize];
            return if norms == 0.0 { 0.0 } else { score / norms };
        }
        self.signed(score)
    }

    /// Score to goodness and back.
    fn signed(&self, score: f64) -> f64 {
        if self.metric.larger_is_better() { score } else { -score }
    }
}

/// The order of rows by goodness.
fn better_first(a: &(u32, f64), b: &(u32, f64)) -> std::cmp::Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

/// How many products are held against a threshold before any is looked at.
const GROUP: usize = 64;

/// Whether a merit is not below the threshold; one that is not a number is not.
fn reaches(threshold: f32, merit: f32) -> bool {
    let below = merit < threshold;
    !below
}

/// Whether any merit reaches the threshold: a loop without branches, for vector units.
fn any_reaches(threshold: f32, products: &[f32], scale: &[f32], offset: &[f32]) -> bool {
    let merits = products.iter().zip(scale).zip(offset).map(|((&p, &s), &o)| merit(p, s, o));
    merits.fold(false, |any, merit| any | reaches(threshold, merit))
}

/// A query and its norm.
#[derive(Clone, Copy)]
struct Query<'a> {
    values: &'a [f32],
    norm: f64,
}

/// Queries and their norms.
#[derive(Clone, Copy)]
struct Queries<'a> {
    rows: MatrixView<'a>,
    norms: &'a [f64],
}

impl<'a> Queries<'a> {
    fn slice(&self, range: Range<usize>) -> Queries<'a> {
        Queries { rows: self.rows.slice(range.clone()), norms: &self.norms[range] }
    }

    fn query(&self, i: usize) -> Query<'a> {
        Query { values: self.rows.row(i), norm: self.norms[i] }
    }
}

/// One task: a tile of queries and its share of the base, every so-many-th block.
struct Strand {
    queries: Range<usize>,
    number: usize,
    shortlists: Vec<Shortlist>,
}

/// Where progress goes.
#[derive(Clone, Copy)]
struct Report<'a> {
    progress: &'a dyn Progress,
    task: &'a dyn Task,
}

/// What one task needs while it scans a block.
#[derive(Default)]
struct Scratch {
    products: Vec<f32>,
    terms: Terms,
}

/// What turns the products of a block into merits.
#[derive(Default)]
struct Terms {
    scale: Vec<f32>,
    offset: Vec<f32>,
    /// Least and greatest norm that is not 0; both 0 if there is none.
    norms: (f64, f64),
}

impl Scratch {
    /// Makes room for the products of `queries` queries with rows of these norms, and computes
    /// the terms of the rows.
    fn fill(&mut self, bounds: &Bounds, norms: &[f64], queries: usize) -> (&mut [f32], &Terms) {
        let terms = &mut self.terms;
        (terms.scale, terms.offset) = norms.iter().map(|&norm| bounds.row_terms(norm)).unzip();
        let nonzero = || norms.iter().copied().filter(|&norm| norm > 0.0);
        terms.norms = nonzero()
            .map(|norm| (norm, norm))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
            .unwrap_or_default();
        self.products.resize(self.products.len().max(norms.len() * queries), 0.0);
        (&mut self.products[..norms.len() * queries], terms)
    }
}

/// `range` in steps of `step`; the last one may be shorter.
fn steps(range: Range<usize>, step: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(step).map(move |start| start..end.min(start + step))
}

/// The norms of all rows; for cosine what it divides by, which is 1 for a norm that is nearly 1.
///
/// # Errors
///
/// If a row has NaN or infinity, in the matrix called `name`, or the user stops the work.
fn finite_norms(
    matrix: MatrixView<'_>,
    metric: Metric,
    name: &'static str,
    progress: &dyn Progress,
) -> Result<Vec<f64>, KnnError> {
    const ROWS: usize = 4096;
    let mut norms = vec![0.0; matrix.rows()];
    norms.par_chunks_mut(ROWS).enumerate().try_for_each(|(i, norms)| {
        progress.check()?;
        let rows = matrix.slice(i * ROWS..i * ROWS + norms.len());
        norms.iter_mut().zip(rows.iter()).for_each(|(out, row)| *out = norm(row));
        Ok::<(), KnnError>(())
    })?;
    checked_norms(norms, metric, name)
}

/// What [`finite_norms`] makes of the norms themselves.
fn checked_norms(
    mut norms: Vec<f64>,
    metric: Metric,
    name: &'static str,
) -> Result<Vec<f64>, KnnError> {
    // No sum of squares of finite f32 overflows f64.
    let wrong: RowList =
        (0..).zip(&norms).filter(|(_, n)| !n.is_finite()).map(|(i, _)| i).collect();
    if !wrong.is_empty() {
        return Err(KnnError::NotFinite { matrix: name, rows: wrong });
    }
    if metric == Metric::Cosine {
        norms.iter_mut().for_each(|norm| *norm = cosine_divisor(*norm));
    }
    Ok(norms)
}
