//! `truth`: the exact neighbours of every query.

mod blocks;
mod reference;
mod search;
mod shards;
mod verify;
mod witness;

use super::{Outcome, grouped};
use crate::PipelineError;
use crate::context::Context;
use crate::dataset::{Side, TRUTH_IDS, TRUTH_SCORES, TRUTH_STATS, read_dataset};
use crate::job::Job;
use crate::matrix;
use crate::run::Stage;
use crate::truth_options::{Engine, TruthPart};
use crate::truth_stats::TruthStats;
use blocks::{Blocks, Key};
use search::{Searcher, queries_to_hold};
use shards::Shards;
use std::path::Path;
use verify::Verifier;
use vprep_core::Metric;
use vprep_data::{MappedNpy, NpyWriter};
use vprep_knn::Found;
use vprep_manifest::{TruthFacts, TruthTable};

pub(crate) use witness::STORE as WITNESS;

/// Where unfinished work lies in a dataset.
const DIR: &str = ".vprep/truth";
/// How the neighbours are found, as manifests state it.
const METHOD: &str = "estimates with a proven error bound exclude rows that are certainly worse than the k best, \
    for every query; float64 scores of all others decide";
/// How the plain reference finds them.
const PLAIN: &str = "float64 scores of every row";
/// How equal scores are ordered, as manifests state it.
const TIES: &str = "equal float64 scores by row number";

pub(crate) fn run(table: &TruthTable, stage: &mut Stage<'_>) -> Result<Outcome, PipelineError> {
    let progress = stage.context.progress;
    let options = stage.context.truth;
    options.engine.check()?;
    let memory = options.memory();
    let metric = table.metric.unwrap_or(stage.recipe.metric);
    let (base, queries) = open(stage.dir)?;
    let (k, rows) = (table.k as usize, base.rows() as u64);
    if k > base.rows() {
        let (path, what, wanted) = (base.path().to_owned(), "truth (k)", k as u64);
        return Err(PipelineError::TooFewRows { path, found: rows, what, wanted });
    }
    if options.engine == Engine::F64 {
        [&base, &queries].into_iter().try_for_each(|matrix| finite(matrix, stage.context))?;
    }
    let whole = Key {
        base: stage.inputs[Side::Base.vectors()].sha256.clone(),
        queries: stage.inputs[Side::Queries.vectors()].sha256.clone(),
        rows: 0..rows,
        k: k as u64,
        metric,
        algorithm: Job::Truth(table.clone()).algorithm(),
    };
    if let TruthPart::Shard { index, count } = options.part {
        return Err(shard(stage, &base, &queries, &whole, index, count)?);
    }
    let mut verifier = Verifier::new(options.verify, queries.rows());
    let mut sink = Sink::new(stage, &base, &queries, metric, k)?;
    let (view, vectors) = (base.view(), queries.view());
    let put = |found: Found| {
        verifier.keep(&found, k);
        sink.put(found)
    };
    let before = match options.part {
        TruthPart::Merge => {
            let shards = Shards::find(stage.dir, &whole, progress)?;
            let step = queries_to_hold(shards.candidates(), memory);
            shards.merge(view, vectors, step, progress, put)?;
            0
        }
        _ => {
            let mut searcher =
                Searcher::new(view, vectors, metric, k, (options.engine, memory), progress);
            searcher.scratch_in(stage.dir);
            let dir = stage.dir.join(blocks::DIR);
            let blocks = Blocks::open(&dir, &whole, options.engine.name(), progress)?;
            blocks.answer(&mut searcher, put)?
        }
    };
    let stats = sink.finish(stage)?;
    let verified = verifier.check(stage.dir, view, vectors, metric, progress)?;
    let facts = TruthFacts {
        k: table.k,
        metric,
        method: if options.engine == Engine::F64 { PLAIN } else { METHOD }.to_owned(),
        ties: TIES.to_owned(),
        queries_tied_at_k: stats.queries_tied(),
        verified_queries: verified,
        duplicate_rows: matrix::occurrences(base.blocks(), progress)?.repeated(),
    };
    let queries = grouped(queries.rows() as u64);
    let mut summary = format!("top {k} by {metric}, {queries} queries x {} rows", grouped(rows));
    for (count, what) in [
        (facts.queries_tied_at_k, "queries tied at k"),
        (facts.duplicate_rows, "duplicate rows"),
        (verified, "queries verified"),
        (before, "queries answered before"),
    ] {
        if count > 0 {
            summary += &format!(", {} {what}", grouped(count));
        }
    }
    if options.engine == Engine::Faiss {
        summary += ", FAISS finds no better row";
    }
    Ok(Outcome::new(&facts, summary))
}

/// Answers `count` queries of a dataset's truth again, those that `truth --verify` draws, by the
/// plain reference, and returns how many they were.
///
/// # Errors
///
/// [`PipelineError::NotVerified`] with the first query that differs, if a file is missing or
/// cannot be read, or if the user stops the work.
pub fn verify_truth(dir: &Path, count: u64, context: &Context<'_>) -> Result<u64, PipelineError> {
    let recipe = read_dataset(dir)?;
    let metric = recipe.truth.and_then(|truth| truth.metric).unwrap_or(recipe.metric);
    let (base, queries) = open(dir)?;
    let ids = MappedNpy::<i32>::open(&dir.join(TRUTH_IDS))?;
    let scores = MappedNpy::<f32>::open(&dir.join(TRUTH_SCORES))?;
    let stats = TruthStats::read(&dir.join(TRUTH_STATS), context.progress)?;
    let mut verifier = Verifier::new(count, queries.rows());
    let found = Found {
        queries: 0..queries.rows(),
        rows: ids.values().to_vec(),
        scores: scores.values().to_vec(),
        gaps: stats.gaps,
        tied: stats.tied,
    };
    verifier.keep(&found, ids.cols());
    verifier.check(dir, base.view(), queries.view(), metric, context.progress)
}

/// Makes one of `count` shards, and returns what is to be said of it.
fn shard(
    stage: &Stage<'_>,
    base: &MappedNpy<f32>,
    queries: &MappedNpy<f32>,
    whole: &Key,
    index: usize,
    count: usize,
) -> Result<PipelineError, PipelineError> {
    let (progress, options) = (stage.context.progress, stage.context.truth);
    let how = (options.engine, options.memory());
    if count > base.rows() {
        let (shard, rows) = (index + 1, base.rows());
        let text = format!("--shard {shard}/{count}: the base has {rows} rows to share out");
        return Err(PipelineError::Usage(text));
    }
    let shards = Shards::new(stage.dir, whole, count);
    if shards.missing(progress)?.contains(&index) {
        let key = shards.key(index);
        let (slice, k) = (base.view().slice(shards.rows(index)), key.k as usize);
        let mut searcher = Searcher::new(slice, queries.view(), whole.metric, k, how, progress);
        searcher.scratch_in(stage.dir);
        let dir = stage.dir.join(blocks::DIR);
        let blocks = Blocks::open(&dir, &key, options.engine.name(), progress)?;
        shards.write(index, |sink| blocks.answer(&mut searcher, sink).map(drop))?;
        blocks::discard(&dir)?;
    }
    let (dir, missing) = (shards.dir().to_owned(), shards::numbers(&shards.missing(progress)?));
    Ok(PipelineError::ShardDone { dir, shard: index + 1, count, missing })
}

/// Removes what was kept of a run, now that its outputs are published.
pub(crate) fn clear(dir: &Path) -> Result<(), PipelineError> {
    blocks::discard(&dir.join(DIR))
}

/// Base and queries, of the same dimension.
fn open(dir: &Path) -> Result<(MappedNpy<f32>, MappedNpy<f32>), PipelineError> {
    let base = MappedNpy::<f32>::open(&dir.join(Side::Base.vectors()))?;
    let queries = MappedNpy::<f32>::open(&dir.join(Side::Queries.vectors()))?;
    if base.cols() != queries.cols() {
        return Err(PipelineError::DimensionMismatch {
            path: queries.path().to_owned(),
            found: queries.cols(),
            other: base.path().to_owned(),
            expected: base.cols(),
        });
    }
    Ok((base, queries))
}

/// Refuses NaN and infinity, which the plain reference would order somehow.
fn finite(matrix: &MappedNpy<f32>, context: &Context<'_>) -> Result<(), PipelineError> {
    let rows = matrix::norms(matrix.blocks(), context.progress)?.non_finite;
    match rows.is_empty() {
        true => Ok(()),
        false => Err(PipelineError::NonFinite { path: matrix.path().to_owned(), rows }),
    }
}

/// Writes answers.
struct Sink<'a> {
    base: &'a MappedNpy<f32>,
    queries: &'a MappedNpy<f32>,
    metric: Metric,
    k: usize,
    ids: NpyWriter<i32>,
    scores: NpyWriter<f32>,
    stats: TruthStats,
}

impl<'a> Sink<'a> {
    fn new(
        stage: &mut Stage<'_>,
        base: &'a MappedNpy<f32>,
        queries: &'a MappedNpy<f32>,
        metric: Metric,
        k: usize,
    ) -> Result<Self, PipelineError> {
        let (rows, cols) = (queries.rows() as u64, k as u64);
        let ids = NpyWriter::new(stage.outputs.create(TRUTH_IDS)?, rows, cols)?;
        let scores = NpyWriter::new(stage.outputs.create(TRUTH_SCORES)?, rows, cols)?;
        Ok(Self { base, queries, metric, k, ids, scores, stats: TruthStats::default() })
    }

    fn put(&mut self, found: Found) -> Result<(), PipelineError> {
        if found.scores.iter().any(|score| !score.is_finite()) {
            let path = self.base.path().with_file_name(TRUTH_SCORES);
            return Err(PipelineError::HugeScores { path });
        }
        self.ids.append(&found.rows)?;
        self.scores.append(&found.scores)?;
        for (query, rows) in found.queries.zip(found.rows.chunks_exact(self.k)) {
            let last = self.base.view().row(rows[self.k - 1] as usize);
            self.stats.kth.push(self.metric.score(self.queries.view().row(query), last));
        }
        self.stats.gaps.extend(found.gaps);
        self.stats.tied.extend(found.tied);
        Ok(())
    }

    fn finish(self, stage: &mut Stage<'_>) -> Result<TruthStats, PipelineError> {
        let (ids, scores) = (self.ids.finish()?, self.scores.finish()?);
        stage.outputs.add(TRUTH_IDS, ids);
        stage.outputs.add(TRUTH_SCORES, scores);
        let stats = self.stats.write(stage.outputs.create(TRUTH_STATS)?)?;
        stage.outputs.add(TRUTH_STATS, stats);
        Ok(self.stats)
    }
}
