//! The command line as it is typed.

use bytesize::ByteSize;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use vprep_core::Metric;
use vprep_manifest::{Device, PoolingRule, Rule, ZeroRule};
use vprep_pipeline::{Engine, Side};

/// Prepares datasets for vector-search benchmarks: exact ground truth, equal recall, one manifest.
#[derive(Debug, Parser)]
#[command(name = "vprep", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 unexpected, 2 bad usage or recipe, 3 bad or missing \
    data, 4 a check found a difference or a target was not reached, 5 a store, a remote or a \
    device is unreachable, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Dataset directory [default: here, else the only one under datasets/]
    #[arg(
        short,
        long,
        global = true,
        value_name = "DIR",
        env = "VPREP_DATASET",
        hide_env_values = true
    )]
    pub(crate) dataset: Option<PathBuf>,
    /// Print one JSON object to standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say nothing but results and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Threads to use, 1 to 1024 [default: one per processor]
    #[arg(long, global = true, value_name = "N", value_parser = threads(), env = "VPREP_THREADS", hide_env_values = true)]
    pub(crate) threads: Option<u16>,
    /// How progress is shown on standard error
    #[arg(long, global = true, value_name = "MODE", default_value = "auto")]
    pub(crate) progress: ProgressMode,
    /// When standard error is coloured
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorWhen,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressMode {
    /// A bar on a terminal, lines elsewhere.
    Auto,
    /// A bar.
    Bar,
    /// A line now and then.
    Lines,
    /// Nothing.
    None,
}

/// When output is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run every stage of a recipe, skipping what is up to date
    Run(RunArgs),
    /// Show the stages of a recipe, which are up to date, and why the others are not
    Plan(PlanArgs),
    /// Fetch public data, whole and verified, into a directory
    Fetch(FetchArgs),
    /// Read vectors from parquet, npy, xbin, vecs, jsonl or hdf5 files into the dataset
    Import(ImportArgs),
    /// Turn texts into vectors with a BERT model, in checkpoints that survive a crash
    Embed(EmbedArgs),
    /// Make seeded clustered vectors, for tests and benchmarks
    Synth(SynthArgs),
    /// Bring vectors to unit length
    Normalize(NormalizeArgs),
    /// Draw a seeded part of another dataset into a new one
    Subset(SubsetArgs),
    /// Draw the queries that calibrate; the others prove
    Split(SplitArgs),
    /// Find the exact neighbours of every query
    Truth(TruthArgs),
    /// List every store, its engine, its knob and its build parameters
    Stores,
    /// Build a store's index
    Build(BuildArgs),
    /// Find the smallest search setting that reaches each recall target, and prove it
    Calibrate(CalibrateArgs),
    /// Write manifest.json: what the dataset is, and the digest of every file
    Manifest,
    /// Check a dataset against its manifest, from the files alone
    Validate(ValidateArgs),
    /// Describe a dataset or a file of vectors
    Inspect(InspectArgs),
    /// Print a shell's completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The recipe
    #[arg(value_name = "PIPELINE.toml")]
    pub(crate) recipe: PathBuf,
    /// Stop after this stage
    #[arg(long, value_name = "STAGE")]
    pub(crate) until: Option<String>,
    /// Check the recipe and show the plan, nothing more
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) share: ShareArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
}

/// How machines share the checkpoints of an embedding.
#[derive(Debug, Args)]
pub(crate) struct ShareArgs {
    /// Compute only the I-th of N parts of an embedding's checkpoints, as in 1/4, and stop
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<(usize, usize)>,
    /// Compute no checkpoint: put those together that are there, or say which are missing
    #[arg(long, conflicts_with = "shard")]
    pub(crate) assemble: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EmbedArgs {
    /// Files or patterns of texts: tsv, txt, jsonl (with .gz or .zst too) or parquet
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    pub(crate) texts: Vec<PathBuf>,
    /// What the texts are
    #[arg(long, value_parser = side())]
    pub(crate) role: Side,
    /// A model of the hub, owner/name, or a directory
    #[arg(long, value_name = "M", default_value = "BAAI/bge-small-en-v1.5")]
    pub(crate) model: String,
    /// Branch, tag or commit of a hub model [default: the known one, else main]
    #[arg(long, value_name = "R")]
    pub(crate) revision: Option<String>,
    /// Column with the texts, by name, or by number in a tsv without names [default: found]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) text_column: Option<String>,
    /// Column with the ids [default: found, else the row number]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id_column: Option<String>,
    /// Column whose value goes before the text
    #[arg(long, value_name = "COLUMN")]
    pub(crate) title_column: Option<String>,
    /// How a text's token vectors become one [default: what the model says]
    #[arg(long, value_parser = pooling())]
    pub(crate) pooling: Option<PoolingRule>,
    /// Tokens of a text that are used [default: what the model says]
    #[arg(long, value_name = "N")]
    pub(crate) max_length: Option<u32>,
    /// Put before every query [default: what the model says]
    #[arg(long, value_name = "TEXT")]
    pub(crate) query_prefix: Option<String>,
    /// Put before every text of the base [default: what the model says]
    #[arg(long, value_name = "TEXT")]
    pub(crate) base_prefix: Option<String>,
    /// Rows that are computed, written and recorded together: what a crash costs at most
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    pub(crate) checkpoint_rows: u64,
    /// Embed texts without content like others
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// What computes; cuda needs a build with the feature cuda
    #[arg(long, value_name = "cpu|cuda[:N]", default_value_t)]
    pub(crate) device: Device,
    /// Metric of a new dataset [default: cosine]
    #[arg(long, value_parser = metric())]
    pub(crate) metric: Option<Metric>,
    #[command(flatten)]
    pub(crate) share: ShareArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The recipe
    #[arg(value_name = "PIPELINE.toml")]
    pub(crate) recipe: PathBuf,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
}

/// How public data is fetched.
#[derive(Debug, Args)]
#[command(next_help_heading = "Network options")]
pub(crate) struct NetworkArgs {
    /// Connections at once, 1 to 64
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = connections(), env = "VPREP_JOBS", hide_env_values = true)]
    pub(crate) jobs: u16,
    /// Do without the network: take only what is fetched or cached already
    #[arg(long)]
    pub(crate) offline: bool,
    /// A catalogue to use in place of the built-in one
    #[arg(long, value_name = "FILE", env = "VPREP_CATALOG", hide_env_values = true)]
    pub(crate) catalog: Option<PathBuf>,
    /// Addresses to ask in place of others: the beginning of each, the one that replaces it
    #[arg(long, value_name = "FROM=TO", env = "VPREP_MIRROR", hide_env_values = true)]
    pub(crate) mirror: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "SOURCE is hf://datasets/owner/name, hf://owner/name (a model), https://…, a path, \
    or a name of the catalogue. Hub files share the cache of Python's huggingface_hub and heed \
    HF_HOME, HF_HUB_CACHE, HF_TOKEN, HF_ENDPOINT and HF_HUB_OFFLINE."
)]
pub(crate) struct FetchArgs {
    /// What to fetch
    #[arg(required_unless_present = "list")]
    pub(crate) source: Option<String>,
    /// Directory to install the files in
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    pub(crate) into: Option<PathBuf>,
    /// Branch, tag or commit of a hub repository
    #[arg(long, value_name = "R")]
    pub(crate) revision: Option<String>,
    /// Only files that match; may be given again [default: all, of a set those it needs]
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Unpack an archive from the web; --include then chooses among its members
    #[arg(long)]
    pub(crate) extract: bool,
    /// Hard-link local files instead of copying them
    #[arg(long)]
    pub(crate) link: bool,
    /// Show the catalogue, or all of the set SOURCE, and fetch nothing
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Files or patterns, read in numeric order
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What the vectors are
    #[arg(long, value_parser = side())]
    pub(crate) role: Side,
    /// Metric of a new dataset [default: cosine]
    #[arg(long, value_parser = metric())]
    pub(crate) metric: Option<Metric>,
    /// Column with the vectors, or dataset in hdf5 [default: the only list of numbers; train or test]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) vector_column: Option<String>,
    /// Column with the ids [default: id, _id, else the row number]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id_column: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SynthArgs {
    /// Rows of the base
    #[arg(long, value_name = "N")]
    pub(crate) rows: u64,
    /// Values in a vector
    #[arg(long, value_name = "D")]
    pub(crate) dim: u32,
    /// Rows of the queries
    #[arg(long, value_name = "Q")]
    pub(crate) queries: u64,
    /// Seed
    #[arg(long, default_value_t = 0, value_name = "S")]
    pub(crate) seed: u64,
    /// Number of clusters [default: the square root of the rows]
    #[arg(long, value_name = "C")]
    pub(crate) clusters: Option<u64>,
    /// Metric of a new dataset [default: cosine]
    #[arg(long, value_parser = metric())]
    pub(crate) metric: Option<Metric>,
}

#[derive(Debug, Args)]
pub(crate) struct NormalizeArgs {
    /// What to do with zero vectors, which have no direction
    #[arg(long, default_value = "error", value_parser = zero())]
    pub(crate) zero: ZeroRule,
}

#[derive(Debug, Args)]
pub(crate) struct SubsetArgs {
    /// Directory of the parent dataset
    #[arg(long, value_name = "DATASET")]
    pub(crate) from: PathBuf,
    /// Rows to keep
    #[arg(long, value_name = "N")]
    pub(crate) rows: u64,
    /// Seed
    #[arg(long, value_name = "S")]
    pub(crate) seed: u64,
    /// Keep every document that these relevance judgements (TREC's or BEIR's layout) call relevant
    #[arg(long, value_name = "FILE")]
    pub(crate) keep_relevant: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SplitArgs {
    /// How many queries calibrate
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub(crate) calibration: u64,
    /// Seed
    #[arg(long, default_value_t = 0, value_name = "S")]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct TruthArgs {
    /// Neighbours of each query
    #[arg(long, default_value_t = 100)]
    pub(crate) k: u32,
    /// Metric [default: the dataset's]
    #[arg(long, value_parser = metric())]
    pub(crate) metric: Option<Metric>,
    /// What finds the neighbours; every engine finds the same
    #[arg(long, default_value = "exact", value_parser = engine())]
    pub(crate) engine: Engine,
    /// Queries, drawn by seed, that the plain float64 reference must answer alike
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) verify: u64,
    /// Search only the I-th of N slices of the base, as in 1/4, keep what is found, and stop
    #[arg(long, value_name = "I/N", value_parser = shard, conflicts_with_all = ["engine", "verify"])]
    pub(crate) shard: Option<(usize, usize)>,
    /// Search nothing: put the shards together that are there, or say which are missing
    #[arg(long, conflicts_with_all = ["engine", "shard"])]
    pub(crate) merge: bool,
    /// Memory that a block of queries may take, as in 1GiB [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<ByteSize>,
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// The store
    #[arg(long, value_name = "S")]
    pub(crate) store: String,
    /// Links of a node in an HNSW graph [default: 16]
    #[arg(long)]
    pub(crate) m: Option<u32>,
    /// Candidates looked at when a node is added to an HNSW graph [default: 128]
    #[arg(long, value_name = "EF")]
    pub(crate) ef_construction: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Recall to reach, above 0 and at most 1; several may be given
    #[arg(long, required = true, num_args = 1.., value_name = "T")]
    pub(crate) target: Vec<f64>,
    /// Stores [default: every one that is built]
    #[arg(long, num_args = 1.., value_name = "S")]
    pub(crate) store: Vec<String>,
    /// Neighbours to ask for [default: 10 and 100, as far as the truth goes]
    #[arg(long, num_args = 1..)]
    pub(crate) k: Vec<u32>,
    /// Largest knob value to try
    #[arg(long, value_name = "V")]
    pub(crate) max_value: Option<u32>,
    /// When a target counts as reached: by the mean recall, or by its one-sided 95% lower bound
    #[arg(long, default_value = "mean", value_parser = rule())]
    pub(crate) rule: Rule,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// A manifest or a dataset directory [default: the dataset of -d]
    pub(crate) path: Option<PathBuf>,
    /// Queries to search again with the plain float64 reference
    #[arg(long, default_value_t = 16, value_name = "N")]
    pub(crate) recheck: u64,
    /// Neighbours that others published for this base, a parquet file (id, neighbors_id), to
    /// compare the truth with
    #[arg(long, value_name = "FILE")]
    pub(crate) neighbors: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A dataset directory, or a parquet, npy, xbin, vecs, jsonl or hdf5 file
    pub(crate) path: PathBuf,
    /// Column with the vectors, or dataset in hdf5 [default: the only list of numbers; train]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) vector_column: Option<String>,
}

/// A flag whose values are the names of `values`.
fn named<T: Copy + Send + Sync + 'static, const N: usize>(
    values: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let find = move |given: String| values.into_iter().find(|&value| name(value) == given);
    PossibleValuesParser::new(values.map(name)).map(move |given| find(given).expect("one of them"))
}

/// More threads than any machine has processors only cost memory.
fn threads() -> impl TypedValueParser<Value = u16> {
    clap::value_parser!(u16).range(1..=1024)
}

fn pooling() -> impl TypedValueParser<Value = PoolingRule> {
    named([PoolingRule::Cls, PoolingRule::Mean], PoolingRule::name)
}

/// Reads `I/N`, I from 1 to N; returns I from 0.
fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((i, n)) if (1..=n).contains(&i) => Ok((i - 1, n)),
        _ => Err("a part is I/N, I from 1 to N, as in 1/4".to_owned()),
    }
}

fn connections() -> impl TypedValueParser<Value = u16> {
    clap::value_parser!(u16).range(1..=64)
}

fn metric() -> impl TypedValueParser<Value = Metric> {
    named(Metric::ALL, Metric::name)
}

fn engine() -> impl TypedValueParser<Value = Engine> {
    named(Engine::ALL, Engine::name)
}

fn side() -> impl TypedValueParser<Value = Side> {
    named(Side::BOTH, Side::name)
}

fn zero() -> impl TypedValueParser<Value = ZeroRule> {
    named([ZeroRule::Error, ZeroRule::Drop, ZeroRule::Keep], ZeroRule::name)
}

fn rule() -> impl TypedValueParser<Value = Rule> {
    named([Rule::Mean, Rule::LowerBound], Rule::name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn good_and_bad_lines() {
        let parse = |line: &str| {
            Cli::try_parse_from(line.split(' ')).map(drop).map_err(|error| error.kind())
        };
        for good in [
            "vprep run p.toml -d x --until truth --dry-run",
            "vprep import a.npy b.npy --role base --metric l2 -d x",
            "vprep subset --from a --rows 5 --seed 1 -d b --threads 2",
            "vprep calibrate --target 0.9 0.95 --k 10 100 --rule lower-bound --json",
            "vprep calibrate --target 0.9 --target 0.95",
            "vprep completions zsh",
            "vprep fetch cohere_medium_1m --into x --include a --include b --jobs 8 --offline",
            "vprep fetch --list",
            "vprep embed --texts a.tsv b.tsv --role base --model ./m --shard 2/4 -d x",
            "vprep embed --texts a.tsv --role base --device cuda:1",
            "vprep fetch --list cohere_medium_1m",
            "vprep truth --memory 1.5GiB -d x",
            "vprep truth --merge --verify 8 -d x",
            "vprep truth --k 5 --engine f64 --verify 8 -d x",
        ] {
            assert_eq!(parse(good), Ok(()), "{good}");
        }
        for (bad, kind) in [
            ("vprep", ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand),
            ("vprep import a.npy", ErrorKind::MissingRequiredArgument),
            ("vprep import --role base", ErrorKind::MissingRequiredArgument),
            ("vprep import a.npy --role gold", ErrorKind::InvalidValue),
            ("vprep fetch cohere_medium_1m", ErrorKind::MissingRequiredArgument),
            ("vprep embed --texts a.tsv --role base --shard 5/4", ErrorKind::ValueValidation),
            ("vprep embed --texts a.tsv --role base --device tpu", ErrorKind::ValueValidation),
            ("vprep fetch x --into y --jobs 0", ErrorKind::ValueValidation),
            ("vprep truth --metric dot", ErrorKind::InvalidValue),
            ("vprep truth --engine fast", ErrorKind::InvalidValue),
            ("vprep truth --shard 1/2 --verify 1", ErrorKind::ArgumentConflict),
            ("vprep truth --memory much", ErrorKind::ValueValidation),
            ("vprep truth --k -1", ErrorKind::UnknownArgument),
            ("vprep truth --threads 0", ErrorKind::ValueValidation),
            ("vprep truth --threads 1025", ErrorKind::ValueValidation),
            ("vprep calibrate", ErrorKind::MissingRequiredArgument),
            ("vprep turth", ErrorKind::InvalidSubcommand),
        ] {
            assert_eq!(parse(bad), Err(kind), "{bad}");
        }
    }
}
