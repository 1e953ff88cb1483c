//! `truth`: the exact neighbours of every query.

use super::{Outcome, grouped};
use crate::PipelineError;
use crate::dataset::{Side, TRUTH_IDS, TRUTH_SCORES, TRUTH_STATS};
use crate::matrix;
use crate::run::Stage;
use crate::truth_stats::TruthStats;
use vprep_data::{MappedNpy, NpyWriter};
use vprep_knn::Exact;
use vprep_manifest::{TruthFacts, TruthTable};

/// How the neighbours are found, as manifests state it.
const METHOD: &str = "estimates with a proven error bound exclude rows that are certainly worse than the \
    k best of every query, float64 scores of all others decide";
/// How equal scores are ordered, as manifests state it.
const TIES: &str = "equal float64 scores by row number";

pub(crate) fn run(table: &TruthTable, stage: &mut Stage<'_>) -> Result<Outcome, PipelineError> {
    let progress = stage.context.progress;
    let metric = table.metric.unwrap_or(stage.recipe.metric);
    let base = MappedNpy::<f32>::open(&stage.dir.join(Side::Base.vectors()))?;
    let queries = MappedNpy::<f32>::open(&stage.dir.join(Side::Queries.vectors()))?;
    let (k, found) = (table.k as usize, base.rows() as u64);
    if k > base.rows() {
        let (path, what, wanted) = (base.path().to_owned(), "truth (k)", k as u64);
        return Err(PipelineError::TooFewRows { path, found, what, wanted });
    }
    if base.cols() != queries.cols() {
        return Err(PipelineError::DimensionMismatch {
            path: queries.path().to_owned(),
            found: queries.cols(),
            other: base.path().to_owned(),
            expected: base.cols(),
        });
    }
    let (rows, cols) = (queries.rows() as u64, k as u64);
    let mut ids = NpyWriter::<i32>::new(stage.outputs.create(TRUTH_IDS)?, rows, cols)?;
    let mut scores = NpyWriter::<f32>::new(stage.outputs.create(TRUTH_SCORES)?, rows, cols)?;
    let mut stats = TruthStats::default();
    let exact = Exact::new(base.view(), metric)?;
    let path = stage.dir.join(TRUTH_SCORES);
    exact.search(queries.view(), k, progress, |found| {
        if found.scores.iter().any(|score| !score.is_finite()) {
            return Err(PipelineError::HugeScores { path: path.clone() });
        }
        ids.append(&found.rows)?;
        scores.append(&found.scores)?;
        for (query, rows) in found.queries.zip(found.rows.chunks_exact(k)) {
            let last = base.view().row(rows[k - 1] as usize);
            stats.kth.push(metric.score(queries.view().row(query), last));
        }
        stats.gaps.extend(found.gaps);
        stats.tied.extend(found.tied);
        Ok::<(), PipelineError>(())
    })?;
    let (ids, scores) = (ids.finish()?, scores.finish()?);
    stage.outputs.add(TRUTH_IDS, ids);
    stage.outputs.add(TRUTH_SCORES, scores);
    let content = stats.write(stage.outputs.create(TRUTH_STATS)?)?;
    stage.outputs.add(TRUTH_STATS, content);
    let facts = TruthFacts {
        k: table.k,
        metric,
        method: METHOD.to_owned(),
        ties: TIES.to_owned(),
        queries_tied_at_k: stats.queries_tied(),
        duplicate_rows: matrix::duplicates(base.blocks(), progress)?,
    };
    let mut summary =
        format!("top {k} by {metric}, {} queries x {} rows", grouped(rows), grouped(found));
    for (count, what) in
        [(facts.queries_tied_at_k, "queries tied at k"), (facts.duplicate_rows, "duplicate rows")]
    {
        if count > 0 {
            summary += &format!(", {} {what}", grouped(count));
        }
    }
    Ok(Outcome::new(&facts, summary))
}
