//! What can go wrong in a pipeline.

use std::io;
use std::path::{Path, PathBuf};
use vprep_calibrate::CalibrateError;
use vprep_core::{Failure, Interrupted, Kind, Metric, RowList};
use vprep_data::DataError;
use vprep_data::read::ReadError;
use vprep_embed::EmbedError;
use vprep_fetch::FetchError;
use vprep_knn::KnnError;
use vprep_manifest::FormatError;
use vprep_store::StoreError;

/// A stage or a check that cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// A recipe that cannot be used.
    #[error("{}: {source}", path.display())]
    BadRecipe {
        /// The recipe.
        path: PathBuf,
        /// What is wrong.
        source: FormatError,
    },
    /// A `dataset.toml`, manifest or split that cannot be used.
    #[error("{}: {source}", path.display())]
    BadDataset {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: FormatError,
    },
    /// A directory whose name cannot be that of a dataset.
    #[error("{}: the directory's name is the dataset's: {source}", path.display())]
    DatasetName {
        /// The directory.
        path: PathBuf,
        /// What is wrong with its name.
        source: FormatError,
    },
    /// A flag that cannot be used.
    #[error("{0}")]
    Usage(String),
    /// A directory that is no dataset.
    #[error("{}: no dataset.toml here; make a dataset with `vprep import`, `vprep synth` or `vprep run`", path.display())]
    NoDataset {
        /// The directory.
        path: PathBuf,
    },
    /// No `-d`, and no single dataset that could be meant.
    #[error("no dataset given: {}; name one with -d", listed(found))]
    WhichDataset {
        /// Those found under `datasets/`.
        found: Vec<PathBuf>,
    },
    /// A directory that holds another dataset.
    #[error("{}: holds the dataset `{found}`, not `{wanted}`; give another directory with -d", path.display())]
    OtherDataset {
        /// The directory.
        path: PathBuf,
        /// The name in its `dataset.toml`.
        found: String,
        /// The name in the recipe.
        wanted: String,
    },
    /// A file that a stage needs and nothing has made.
    #[error("{}: missing; make it with `vprep {command}`", path.display())]
    MissingInput {
        /// The file.
        path: PathBuf,
        /// The command that makes it.
        command: &'static str,
    },
    /// A file that a stage needs is not what its own inputs make today.
    #[error("{}: out of date, since {stage} is stale ({reason}); run `vprep run {}` to bring all up to date", path.display(), dataset_toml.display())]
    StaleInput {
        /// The file.
        path: PathBuf,
        /// The stage that makes it.
        stage: String,
        /// Why it is stale.
        reason: String,
        /// The dataset's recipe.
        dataset_toml: PathBuf,
    },
    /// Base and queries of different dimension.
    #[error("{}: dim {found}, but {} has dim {expected}; embed both with the same model", path.display(), other.display())]
    DimensionMismatch {
        /// The file that was read.
        path: PathBuf,
        /// Its dimension.
        found: usize,
        /// The file it must agree with.
        other: PathBuf,
        /// The dimension of that one.
        expected: usize,
    },
    /// A file without the dimension that the recipe states.
    #[error("{}: dim {found}, but the dataset states dim = {expected}; correct the recipe, or import into another directory", path.display())]
    StatedDimension {
        /// The file that was read.
        path: PathBuf,
        /// Its dimension.
        found: usize,
        /// The dimension stated.
        expected: u32,
    },
    /// Files of one import with different columns.
    #[error("{}: has {found}, but {} has {expected}; import files of one layout together", path.display(), other.display())]
    ColumnMismatch {
        /// The file that was read.
        path: PathBuf,
        /// Its columns.
        found: String,
        /// The first file.
        other: PathBuf,
        /// The columns of that one.
        expected: String,
    },
    /// More rows than int32 row numbers can tell apart.
    #[error("{}: {found} rows in all, but row numbers are int32; the most is 2147483647", path.display())]
    TooManyRows {
        /// The first file.
        path: PathBuf,
        /// Rows of all files.
        found: u64,
    },
    /// NaN or infinite values.
    #[error("{}: NaN or infinity in {rows}; correct or remove them in the source", path.display())]
    NonFinite {
        /// The file.
        path: PathBuf,
        /// The rows.
        rows: RowList,
    },
    /// Zero vectors, which have no direction.
    #[error("{}: zero vector in {rows}; choose `--zero drop` or `--zero keep`, or correct the source", path.display())]
    ZeroVectors {
        /// The file.
        path: PathBuf,
        /// The rows.
        rows: RowList,
    },
    /// More rows wanted than there are.
    #[error("{}: has {found} rows, but {what} asks for {wanted}", path.display())]
    TooFewRows {
        /// The file.
        path: PathBuf,
        /// Its rows.
        found: u64,
        /// What asks.
        what: &'static str,
        /// For how many.
        wanted: u64,
    },
    /// A metric that a dataset already has another of.
    #[error("{}: the dataset's metric is {found}, not {wanted}; import into another directory", path.display())]
    OtherMetric {
        /// The dataset.
        path: PathBuf,
        /// Its metric.
        found: Metric,
        /// The metric asked for.
        wanted: Metric,
    },
    /// A truth by another metric than the index.
    #[error("{}: found by {truth}, but the dataset's metric is {dataset}; run `vprep truth` without --metric", path.display())]
    TruthMetric {
        /// The truth.
        path: PathBuf,
        /// Its metric.
        truth: Metric,
        /// The metric of the dataset.
        dataset: Metric,
    },
    /// A truth that the vectors do not bear out.
    #[error("{}: not the truth of this base and these queries: {problem}; run `vprep truth`", path.display())]
    ForeignTruth {
        /// The truth.
        path: PathBuf,
        /// What differs.
        problem: String,
    },
    /// A store that this build does not know.
    #[error("unknown store `{name}`; `vprep stores` lists: {known}")]
    UnknownStore {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A store that this build does not hold.
    #[error("store `{name}` is not compiled in; build vprep with `--features {feature}`")]
    CompiledOut {
        /// The store.
        name: &'static str,
        /// The feature that brings it.
        feature: &'static str,
    },
    /// Nothing to calibrate.
    #[error("{0}")]
    NoStore(String),
    /// A source file that is an output too.
    #[error("{}: a file that vprep makes in this very dataset; import into another directory", path.display())]
    OwnSource {
        /// The file.
        path: PathBuf,
    },
    /// A source file that was written to while it was read.
    #[error("{}: changed while it was read; run the same command again", path.display())]
    SourceChanged {
        /// The file.
        path: PathBuf,
    },
    /// A parent whose file is not as its own stage wrote it.
    #[error("{}: not as it was written; run `vprep run {}` to make it again", path.display(), dataset_toml.display())]
    SpoiledParent {
        /// The file.
        path: PathBuf,
        /// The parent's recipe.
        dataset_toml: PathBuf,
    },
    /// A stage without a record, whose facts the manifest needs.
    #[error("{}: there is no record of how `{stage}` made it; run `vprep run {}` to make it again", path.display(), dataset_toml.display())]
    NoRecord {
        /// An output of the stage.
        path: PathBuf,
        /// The stage.
        stage: String,
        /// The dataset's recipe.
        dataset_toml: PathBuf,
    },
    /// Scores that float32 cannot hold.
    #[error("{}: a score is beyond the range of float32; scale the vectors, or use cosine", path.display())]
    HugeScores {
        /// The truth.
        path: PathBuf,
    },
    /// A source directory that is the target too.
    #[error("{}: a dataset cannot be a subset of itself; name a new directory with -d", path.display())]
    OwnParent {
        /// The dataset.
        path: PathBuf,
    },
    /// Published neighbours of a whole base, given for a part of it.
    #[error("{}: holds the neighbours of a whole base, and this dataset is {rows} of {parent_rows} rows: a subset has no truth but its own; leave --neighbors out", path.display())]
    NeighborsOfParent {
        /// The file.
        path: PathBuf,
        /// Rows of the subset.
        rows: u64,
        /// Rows of the whole.
        parent_rows: u64,
    },
    /// Checks that found a difference, where a recipe asks for none.
    #[error("{}: {failed} of {total} checks failed: {first}", path.display())]
    ChecksFailed {
        /// The manifest.
        path: PathBuf,
        /// Checks that failed.
        failed: usize,
        /// Checks made.
        total: usize,
        /// The first that failed, in words.
        first: String,
    },
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file of the dataset.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A source file.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Public data.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A share of the checkpoints of an embedding is done, and others are not: no fault.
    #[error(
        "{stage}: {computed} checkpoints computed, {missing} of {count} are still missing; compute the other parts, bring their files together in .vprep/embed, and run again without --shard"
    )]
    PartDone {
        /// The stage.
        stage: String,
        /// Checkpoints computed now.
        computed: usize,
        /// Checkpoints that are not there yet.
        missing: usize,
        /// Checkpoints in all.
        count: usize,
    },
    /// A shard of a truth is done: no fault.
    #[error("truth: shard {shard} of {count} is done, {}", still(dir, missing))]
    ShardDone {
        /// Where shards lie.
        dir: PathBuf,
        /// The shard, from 1.
        shard: usize,
        /// How many there are.
        count: usize,
        /// Those that are not there yet; empty if all are.
        missing: String,
    },
    /// Nothing to merge.
    #[error("{}: no shards here; make them with `vprep truth --shard I/N`, and bring their files together", dir.display())]
    NoShards {
        /// Where shards lie.
        dir: PathBuf,
    },
    /// Too little to merge.
    #[error("{}: shards {missing} of {count} are missing{foreign}; make them with `vprep truth --shard I/{count}`, and bring their files together", dir.display())]
    MissingShards {
        /// Where shards lie.
        dir: PathBuf,
        /// The shards, from 1.
        missing: String,
        /// Which of them are there, but of another truth.
        foreign: String,
        /// How many there must be.
        count: usize,
    },
    /// A row that FAISS finds, and that is better than one of an answer.
    #[error(
        "query {query}: FAISS finds row {row}, which is better by float64 than the last of the rows found; report it as a bug"
    )]
    Contradicted {
        /// The query.
        query: usize,
        /// The row.
        row: i64,
    },
    /// An answer that the plain reference does not give.
    #[error("{}: query {query} is not as the plain float64 reference answers it: {problem}; do not use this truth, and report it as a bug", path.display())]
    NotVerified {
        /// The truth.
        path: PathBuf,
        /// The query.
        query: u64,
        /// What differs.
        problem: String,
    },
    /// Embedding.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// Exact search.
    #[error(transparent)]
    Knn(#[from] KnnError),
    /// A store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Calibration.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// Stopped by the user.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

fn still(dir: &Path, missing: &str) -> String {
    if missing.is_empty() {
        return "and all others are here; run `vprep truth --merge`".to_owned();
    }
    let dir = dir.display();
    format!(
        "{missing} are still missing in {dir}; bring all together there, and run `vprep truth --merge`"
    )
}

fn listed(found: &[PathBuf]) -> String {
    if found.is_empty() {
        return "no dataset.toml in this directory, and none under datasets/".to_owned();
    }
    let names: Vec<_> = found.iter().map(|path| path.display().to_string()).collect();
    format!("there are {}", names.join(", "))
}

impl PipelineError {
    /// A closure for `map_err` on reading a file.
    pub(crate) fn read(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |error| DataError::io("read", path)(error).into()
    }

    /// A closure for `map_err` on parsing a recipe.
    pub(crate) fn format(path: impl AsRef<Path>) -> impl FnOnce(FormatError) -> Self {
        move |source| Self::BadRecipe { path: path.as_ref().to_owned(), source }
    }

    /// A closure for `map_err` on parsing a file of the dataset.
    pub(crate) fn dataset(path: impl AsRef<Path>) -> impl FnOnce(FormatError) -> Self {
        move |source| Self::BadDataset { path: path.as_ref().to_owned(), source }
    }
}

impl Failure for PipelineError {
    fn kind(&self) -> Kind {
        match self {
            Self::BadRecipe { .. }
            | Self::DatasetName { .. }
            | Self::OwnSource { .. }
            | Self::Usage(_)
            | Self::WhichDataset { .. }
            | Self::OtherDataset { .. }
            | Self::UnknownStore { .. }
            | Self::OwnParent { .. }
            | Self::NeighborsOfParent { .. }
            | Self::OtherMetric { .. } => Kind::Usage,
            Self::BadDataset { .. }
            | Self::NoDataset { .. }
            | Self::MissingInput { .. }
            | Self::SourceChanged { .. }
            | Self::SpoiledParent { .. }
            | Self::NoRecord { .. }
            | Self::HugeScores { .. }
            | Self::ShardDone { .. }
            | Self::NoShards { .. }
            | Self::MissingShards { .. }
            | Self::NoStore(_)
            | Self::StaleInput { .. }
            | Self::DimensionMismatch { .. }
            | Self::StatedDimension { .. }
            | Self::ColumnMismatch { .. }
            | Self::TooManyRows { .. }
            | Self::NonFinite { .. }
            | Self::ZeroVectors { .. }
            | Self::TooFewRows { .. }
            | Self::TruthMetric { .. }
            | Self::ForeignTruth { .. }
            | Self::Io { .. } => Kind::Data,
            Self::ChecksFailed { .. } | Self::NotVerified { .. } | Self::Contradicted { .. } => {
                Kind::Check
            }
            Self::CompiledOut { .. } => Kind::Unreachable,
            Self::Data(error) => error.kind(),
            Self::Read(error) => error.kind(),
            Self::PartDone { .. } => Kind::Data,
            Self::Embed(error) => error.kind(),
            Self::Fetch(error) => error.kind(),
            Self::Knn(error) => error.kind(),
            Self::Store(error) => error.kind(),
            Self::Calibrate(error) => error.kind(),
            Self::Interrupted(_) => Kind::Interrupted,
        }
    }
}
