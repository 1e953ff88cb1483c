//! Whether a truth agrees with neighbours that others published for the same base.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use vprep_core::{Metric, Progress};
use vprep_data::{DataError, ID, MappedNpy, PublishedNeighbors, read_i64_column, read_neighbors};

/// How far a published neighbour's float64 score may lie behind the k-th: whoever published it
/// computed in float32, where an inner product of two unit vectors of 768 values is off by about
/// 1e-6.
const TOLERANCE: f64 = 1e-5;

/// The files of a dataset that published neighbours are compared with.
pub(crate) struct Dataset<'a> {
    pub(crate) base: &'a MappedNpy<f32>,
    pub(crate) queries: &'a MappedNpy<f32>,
    pub(crate) truth: &'a MappedNpy<i32>,
    pub(crate) base_table: &'a Path,
    pub(crate) queries_table: &'a Path,
    pub(crate) metric: Metric,
}

/// Compares the first k neighbours of every query: each must be a distinct row of this base, and
/// score no worse than the k-th of the truth.
pub(crate) fn agree(
    path: &Path,
    dataset: &Dataset<'_>,
    progress: &dyn Progress,
) -> Result<Result<(), String>, DataError> {
    let published = read_neighbors(path, progress)?;
    let base = rows_by_id(dataset.base_table, progress)?;
    let queries = rows_by_id(dataset.queries_table, progress)?;
    let mut missing: HashSet<u32> = queries.values().copied().collect();
    for neighbors in &published {
        progress.check()?;
        let query = neighbors.query;
        let Some(&row) = queries.get(&query) else {
            return Ok(Err(format!("query {query} is none of this dataset")));
        };
        missing.remove(&row);
        if let Err(problem) = one(neighbors, row as usize, &base, dataset) {
            return Ok(Err(format!("query {query}: {problem}")));
        }
    }
    match missing.len() {
        0 => Ok(Ok(())),
        n => Ok(Err(format!("{n} of {} queries are not in it", queries.len()))),
    }
}

fn one(
    published: &PublishedNeighbors,
    query: usize,
    base: &HashMap<i64, u32>,
    dataset: &Dataset<'_>,
) -> Result<(), String> {
    let Dataset { base: vectors, truth, metric, .. } = dataset;
    let vector = dataset.queries.view().row(query);
    let truth = &truth.values()[query * truth.cols()..][..truth.cols()];
    let k = truth.len().min(published.ids.len());
    let Some(&last) = truth[..k].last() else { return Err("it has no neighbours".to_owned()) };
    let score = |row: u32| metric.score(vector, vectors.view().row(row as usize));
    let bound = score(last as u32);
    let tolerance = TOLERANCE * bound.abs().max(1.0);
    let limit = if metric.larger_is_better() { bound - tolerance } else { bound + tolerance };
    let mut seen = HashSet::with_capacity(k);
    for (place, id) in published.ids[..k].iter().enumerate() {
        let Some(&row) = base.get(id) else {
            return Err(format!(
                "neighbour {id} is no row of this base; these are the neighbours of another, such \
                 as the whole that a subset was drawn from"
            ));
        };
        if !seen.insert(row) {
            return Err(format!("neighbour {id} stands twice"));
        }
        let found = score(row);
        if metric.compare(found, limit).is_gt() {
            return Err(format!(
                "neighbour {id} at place {place} scores {found:.7}, but place {} of the truth \
                 scores {bound:.7}",
                k - 1
            ));
        }
    }
    Ok(())
}

fn rows_by_id(table: &Path, progress: &dyn Progress) -> Result<HashMap<i64, u32>, DataError> {
    let ids = read_i64_column(table, ID, progress)?;
    Ok(ids.into_iter().zip(0..).collect())
}
