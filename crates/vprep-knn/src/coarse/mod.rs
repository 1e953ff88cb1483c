//! The coarse pass: which rows may be among the nearest, from products of 8-bit codes.
//!
//! 1. A sample of the rows gives each query a floor, a merit that about two to four times as many
//!    rows as wanted should reach. It is a guess.
//! 2. Chunks of the base are coded and multiplied with all queries. A row whose estimate may reach
//!    the floor is listed. The coded chunk stays in the cache and is overwritten by the next one.
//! 3. If at least `keep` rows certainly reach the floor, then every row that is not listed is
//!    certainly worse than `keep` others, and the list is a certificate. If not, or if the codes are
//!    too coarse to tell rows apart, the query has no list, and is left to the f32 pass.

mod lists;
mod queries;
mod rows;
mod slack;
#[cfg(test)]
mod tests;

use crate::KnnError;
use crate::bounds::Bounds;
use crate::kernel::{PerRow, QUERIES, ROWS, Unit};
pub(crate) use lists::Estimate;
use lists::{Lists, Rule};
use queries::CodedQueries;
use rayon::prelude::*;
use rows::Rows;
use std::sync::{Mutex, PoisonError};
use vprep_core::{Interrupted, MatrixView, Metric, Progress, Task};

/// How the pass is done. No result depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The instructions; without any there is no coarse pass.
    pub(crate) unit: Option<Unit>,
    /// Fewer queries are not worth the coding of the base.
    pub(crate) queries: usize,
    /// One row in so many is in the sample.
    pub(crate) step: usize,
    /// Rows coded at once by a thread: with the queries in turn they fill its second cache.
    pub(crate) chunk: usize,
    /// Bytes of queries that are multiplied with a chunk in turn.
    pub(crate) turn: usize,
    /// A base has so many times the rows wanted, at least, and more than the sample needs.
    pub(crate) times: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Self { unit: Unit::detect(), queries: 16, step: 32, chunk: 512, turn: 1 << 20, times: 50 }
    }
}

/// The variable that says which instructions to use.
pub(crate) const VARIABLE: &str = "VPREP_EXACT";

impl Plan {
    /// What this machine is best at, or what the variable `VPREP_EXACT` asks for: `f32` or one of
    /// [`Unit::NAMES`]. It can change no result.
    ///
    /// # Errors
    ///
    /// If it asks for something else, or for instructions that are not here.
    pub(crate) fn from_environment() -> Result<Self, KnnError> {
        let Some(wanted) = std::env::var_os(VARIABLE).filter(|wanted| !wanted.is_empty()) else {
            return Ok(Self::default());
        };
        Self::forced(&wanted.to_string_lossy())
    }

    fn forced(wanted: &str) -> Result<Self, KnnError> {
        let error = |problem| KnnError::Instructions { wanted: wanted.to_owned(), problem };
        let unit = match Unit::named(wanted) {
            None if wanted == "f32" => None,
            None if Unit::NAMES.contains(&wanted) => {
                return Err(error("this machine has no such instructions"));
            }
            None => return Err(error("it is f32, int8-portable, int8-vnni or int8-avx-vnni")),
            unit => unit,
        };
        Ok(Self { unit, ..Self::default() })
    }

    /// Estimates that a list may hold: several times what the floor is meant to let through.
    fn limit(keep: usize) -> usize {
        8 * keep + 1024
    }

    /// How many bytes a query's codes and lists take, at most.
    pub(crate) fn bytes(keep: usize, dim: usize) -> usize {
        rayon::current_num_threads() * Self::limit(keep) * size_of::<Estimate>() + dim
    }

    /// Whether the pass is worth it, and proven right, for such a search.
    pub(crate) fn unit(&self, base: MatrixView<'_>, queries: usize, keep: usize) -> Option<Unit> {
        let fits = slack::DIMS.contains(&base.dim())
            && queries >= self.queries
            && base.rows() >= keep * self.times
            && base.rows() >= self.step * 4 * self.rank(keep, base.rows());
        self.unit.filter(|_| fits)
    }

    /// The rank in the sample of the guessed floor: that of the `keep`-th row, and four times its
    /// standard deviation (as of a Poisson variable) and four rows more, so that a query in tens of
    /// thousands is done again.
    fn rank(&self, keep: usize, rows: usize) -> usize {
        let share = (rows / self.step) as f64 / rows as f64;
        let mean = keep as f64 * share;
        (mean + 4.0 * mean.sqrt() + 4.0).ceil() as usize
    }
}

/// What a coarse pass needs to know.
pub(crate) struct Coarse<'a> {
    pub(crate) unit: Unit,
    pub(crate) plan: Plan,
    pub(crate) base: MatrixView<'a>,
    pub(crate) metric: Metric,
    pub(crate) bounds: Bounds,
    /// How many of the best rows must be among those listed.
    pub(crate) keep: usize,
}

/// What came out.
#[derive(Debug)]
pub(crate) struct Listed {
    /// For each query, the rows that may be among the best `keep`, in no order; none where that
    /// could not be told.
    pub(crate) lists: Vec<Option<Vec<Estimate>>>,
    /// The norm of each row of the base.
    pub(crate) norms: Vec<f64>,
}

/// What a thread works with.
struct State {
    rows: Rows,
    lists: Vec<Lists>,
}

impl Coarse<'_> {
    /// Lists the rows for each query.
    ///
    /// # Errors
    ///
    /// If the user stops the work.
    pub(crate) fn search(
        &self,
        queries: MatrixView<'_>,
        progress: &dyn Progress,
        task: &dyn Task,
    ) -> Result<Listed, Interrupted> {
        let panels: Vec<_> = (0..queries.rows().div_ceil(QUERIES))
            .map(|i| i * QUERIES..queries.rows().min((i + 1) * QUERIES))
            .collect();
        let coded: Vec<_> = panels
            .into_par_iter()
            .map(|range| CodedQueries::new(self.unit, &self.bounds, queries.slice(range)))
            .collect();
        let floors = self.guess(&coded, progress)?;
        let (states, norms) = self.scan(&coded, &floors, queries.rows() as u64, progress, task)?;
        let lists = (0..queries.rows())
            .into_par_iter()
            .map(|q| {
                let (panel, place) = (q / QUERIES, q % QUERIES);
                let lists = states.iter().map(|state| &state.lists[panel]);
                self.settle(lists, place, floors[panel][place])
            })
            .collect();
        Ok(Listed { lists, norms })
    }

    /// Guesses a floor for each query.
    fn guess(
        &self,
        coded: &[CodedQueries],
        progress: &dyn Progress,
    ) -> Result<Vec<[f32; QUERIES]>, Interrupted> {
        let step = self.plan.step;
        let row = |i: usize| {
            // Anywhere in its step, so that no period of the data meets the sample's.
            let place = vprep_core::sample::mix(i as u64) % step as u64;
            let row = i * step + place as usize;
            (row as u32, self.base.row(row))
        };
        let sampled: Vec<usize> = (0..self.base.rows() / step).collect();
        let samples = (sampled.par_chunks(self.plan.chunk))
            .map(|chunk| {
                progress.check()?;
                let mut rows = Rows::default();
                let values = chunk.iter().map(|&i| row(i));
                rows.fill(self.unit, self.metric, self.base.dim(), values, |_| {});
                Ok(rows)
            })
            .collect::<Result<Vec<_>, Interrupted>>()?;
        let keep = self.plan.rank(self.keep, self.base.rows());
        let rule = Rule { keep, limit: 2 * keep + ROWS, sample: true };
        let floor = |known| if known { f32::NEG_INFINITY } else { f32::INFINITY };
        // Larger pieces would leave threads idle, smaller ones fetch the samples more often.
        let pieces = rayon::current_num_threads() * 4;
        let piece = self.turn().min(coded.len().div_ceil(pieces)).max(1);
        let floors = coded.par_chunks(piece).map(|coded| {
            let mut lists: Vec<_> = coded.iter().map(|c| Lists::new(c.known.map(floor))).collect();
            for rows in &samples {
                progress.check()?;
                self.offer(rows, coded, &mut lists, rule);
            }
            let floor =
                |(c, lists): (&CodedQueries, &mut Lists)| {
                    std::array::from_fn(|q| {
                        if c.known[q] { lists.floor(q, keep) } else { f32::INFINITY }
                    })
                };
            Ok(coded.iter().zip(&mut lists).map(floor).collect::<Vec<_>>())
        });
        Ok(floors.collect::<Result<Vec<_>, Interrupted>>()?.concat())
    }

    /// Lists the rows that may reach the floors.
    fn scan(
        &self,
        coded: &[CodedQueries],
        floors: &[[f32; QUERIES]],
        queries: u64,
        progress: &dyn Progress,
        task: &dyn Task,
    ) -> Result<(Vec<State>, Vec<f64>), Interrupted> {
        let rule = Rule { keep: self.keep, limit: Plan::limit(self.keep), sample: false };
        let new = || State {
            rows: Rows::default(),
            lists: floors.iter().map(|&floors| Lists::new(floors)).collect(),
        };
        // As many as threads have come to work at once.
        let states = Mutex::new(Vec::new());
        let locked = || states.lock().unwrap_or_else(PoisonError::into_inner);
        let mut norms = vec![0.0; self.base.rows()];
        norms.par_chunks_mut(self.plan.chunk).enumerate().try_for_each(|(i, norms)| {
            progress.check()?;
            let free = locked().pop();
            let mut state = free.unwrap_or_else(new);
            let start = i * self.plan.chunk;
            let rows = (start..start + norms.len()).map(|row| (row as u32, self.base.row(row)));
            let mut out = norms.iter_mut();
            let norm = |norm| *out.next().expect("one for each row") = norm;
            state.rows.fill(self.unit, self.metric, self.base.dim(), rows, norm);
            self.offer(&state.rows, coded, &mut state.lists, rule);
            locked().push(state);
            task.advance(norms.len() as u64 * queries);
            Ok(())
        })?;
        Ok((states.into_inner().unwrap_or_else(PoisonError::into_inner), norms))
    }

    /// How many panels of queries are multiplied with a chunk in turn.
    fn turn(&self) -> usize {
        (self.plan.turn / (QUERIES * self.base.dim())).max(1)
    }

    fn offer(&self, rows: &Rows, coded: &[CodedQueries], lists: &mut [Lists], rule: Rule) {
        let mut out = [PerRow([0.0; ROWS]); QUERIES];
        let turn = self.turn();
        for (coded, lists) in coded.chunks(turn).zip(lists.chunks_mut(turn)) {
            for panel in rows.panels() {
                let next = coded.iter().cycle().skip(1);
                for ((coded, next), lists) in coded.iter().zip(next).zip(&mut *lists) {
                    lists.offer(self.unit, panel, (coded, next), rule, &mut out);
                }
            }
        }
    }

    /// Joins what the threads have listed for a query, if that proves anything.
    fn settle<'l>(
        &self,
        lists: impl Iterator<Item = &'l Lists>,
        place: usize,
        floor: f32,
    ) -> Option<Vec<Estimate>> {
        let mut all = Vec::new();
        for list in lists {
            if list.floors[place] == f32::INFINITY {
                return None;
            }
            all.extend_from_slice(&list.estimates[place]);
        }
        if all.len() < self.keep {
            return None;
        }
        let by_low = |a: &Estimate, b: &Estimate| b.low.total_cmp(&a.low);
        let reached = all.select_nth_unstable_by(self.keep - 1, by_low).1.low;
        if reached < floor {
            return None;
        }
        all.retain(|estimate| estimate.high >= reached);
        Some(all)
    }
}
