//! Whether a truth is one of these vectors.

use crate::truth_stats::TruthStats;
use rayon::prelude::*;
use std::collections::HashSet;
use vprep_core::sample::Sample;
use vprep_core::{Interrupted, Metric, Neighbour, Progress};
use vprep_data::MappedNpy;
use vprep_knn::plain;

/// Queries that are looked at between two questions whether to stop.
const BLOCK: usize = 256;

/// Whether every row of a truth holds distinct rows of the base with their true scores, in order.
/// Whether a better row is missing is for [`recheck`] to find.
pub(crate) fn truth_holds(
    base: &MappedNpy<f32>,
    queries: &MappedNpy<f32>,
    ids: &MappedNpy<i32>,
    scores: &MappedNpy<f32>,
    metric: Metric,
    progress: &dyn Progress,
) -> Result<Result<(), String>, Interrupted> {
    let shape = (ids.rows(), ids.cols());
    if ids.rows() != queries.rows() || (scores.rows(), scores.cols()) != shape {
        return Ok(Err(format!(
            "ids are {} x {} and scores {} x {} for {} queries",
            ids.rows(),
            ids.cols(),
            scores.rows(),
            scores.cols(),
            queries.rows()
        )));
    }
    if base.cols() != queries.cols() {
        return Ok(Err(format!("base has dim {} and queries {}", base.cols(), queries.cols())));
    }
    let k = ids.cols();
    let (base, queries) = (base.view(), queries.view());
    for first in (0..shape.0).step_by(BLOCK) {
        progress.check()?;
        let last = (first + BLOCK).min(shape.0);
        let fault = (first..last).into_par_iter().find_map_first(|query| {
            let ids = &ids.values()[query * k..][..k];
            let scores = &scores.values()[query * k..][..k];
            let vector = queries.row(query);
            let at = |problem: String| Some(format!("query {query}: {problem}"));
            let mut seen = HashSet::with_capacity(k);
            let mut previous: Option<Neighbour> = None;
            for (place, (&id, &score)) in ids.iter().zip(scores).enumerate() {
                if id < 0 || id as usize >= base.rows() {
                    return at(format!("row {id} is not one of the {} of the base", base.rows()));
                }
                if !seen.insert(id) {
                    return at(format!("row {id} stands twice"));
                }
                let exact = metric.score(vector, base.row(id as usize));
                if exact as f32 != score {
                    return at(format!("row {id} has score {}, not {score}", exact as f32));
                }
                let this = Neighbour { row: id as u32, score: exact };
                if previous.is_some_and(|previous| previous.compare(&this, metric).is_gt()) {
                    return at(format!("row {id} at place {place} stands behind a worse one"));
                }
                previous = Some(this);
            }
            None
        });
        if let Some(fault) = fault {
            return Ok(Err(fault));
        }
    }
    Ok(Ok(()))
}

/// Whether the statistics of a truth that holds are its own: k-th scores to the last bit, and ties
/// where there is no gap. Whether a gap is as wide as stated is for [`recheck`] to find.
pub(crate) fn stats_hold(
    stats: &TruthStats,
    base: &MappedNpy<f32>,
    queries: &MappedNpy<f32>,
    ids: &MappedNpy<i32>,
    metric: Metric,
    tied: u64,
) -> Result<(), String> {
    if stats.kth.len() != queries.rows() {
        return Err(format!("{} rows for {} queries", stats.kth.len(), queries.rows()));
    }
    let (k, all) = (ids.cols(), ids.cols() == base.rows());
    for (query, ids) in ids.values().chunks_exact(k).enumerate() {
        let kth = metric.score(queries.view().row(query), base.view().row(ids[k - 1] as usize));
        let (stated, gap) = (stats.kth[query], stats.gaps[query]);
        if kth.to_bits() != stated.to_bits() {
            return Err(format!("query {query}: the k-th score is {kth}, not {stated}"));
        }
        if gap.is_nan() || gap < 0.0 || (gap == f64::INFINITY) != all {
            return Err(format!("query {query}: {gap} is no gap"));
        }
        if stats.tied[query] != (gap == 0.0) {
            return Err(format!(
                "query {query}: a gap of {gap}, and tied is {}",
                stats.tied[query]
            ));
        }
    }
    match stats.queries_tied() {
        found if found == tied => Ok(()),
        found => Err(format!("queries tied is {found}, not {tied}")),
    }
}

/// Searches `count` queries again, those of a fixed seed, with the plain float64 reference;
/// where there are statistics that hold, their gaps too.
pub(crate) fn recheck(
    base: &MappedNpy<f32>,
    queries: &MappedNpy<f32>,
    ids: &MappedNpy<i32>,
    stats: Option<&TruthStats>,
    metric: Metric,
    count: u64,
    progress: &dyn Progress,
) -> Result<Result<(), String>, Interrupted> {
    let total = queries.rows() as u64;
    let chosen: Vec<u64> = Sample::new(0, total, count.min(total)).rows().collect();
    let task = progress.task("searching again", chosen.len() as u64, "queries");
    let k = ids.cols();
    for chunk in chosen.chunks(rayon::current_num_threads()) {
        progress.check()?;
        let fault = chunk.par_iter().find_map_first(|&query| {
            let query = query as usize;
            let truth = plain::search(base.view(), queries.view().row(query), metric, k + 1);
            let stated = &ids.values()[query * k..][..k];
            if let Some(place) = truth.iter().zip(stated).position(|(n, &id)| n.row as i32 != id) {
                let (row, stated) = (truth[place].row, stated[place]);
                return Some(format!(
                    "query {query}: neighbour {place} is row {row}, not {stated}"
                ));
            }
            let stated = stats?.gaps[query];
            let next = truth.get(k).map(|next| (next.score - truth[k - 1].score).abs());
            let gap = next.unwrap_or(f64::INFINITY);
            (gap.to_bits() != stated.to_bits())
                .then(|| format!("query {query}: the gap behind k is {gap}, not {stated}"))
        });
        if let Some(fault) = fault {
            return Ok(Err(fault));
        }
        task.advance(chunk.len() as u64);
    }
    Ok(Ok(()))
}
