//! `manifest.json`: the whole dataset, tied together by digests.

use crate::canonical::digest_without;
use crate::error::check_schema;
use crate::{Cell, Device, FormatError, PoolingRule, Recipe, SourceTable, ZeroRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use vprep_core::Metric;

/// A dataset: what it is, how it was made, and the digest of each of its files.
///
/// `digest` is the sha256 of the canonical JSON (sorted keys, two spaces, final newline) of all
/// that stands here but `digest` itself and `run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Format of this file.
    pub schema: u32,
    /// Name of the dataset.
    pub name: String,
    /// Metric of the dataset.
    pub metric: Metric,
    /// Values in a vector.
    pub dim: u32,
    /// Type of a vector's values: always `f32`.
    pub element_type: String,
    /// Whether every vector that is not zero has unit length (within 4e-7).
    pub unit_length: bool,
    /// How many vectors there are.
    pub counts: Counts,
    /// Every file, by path.
    pub files: Vec<FileEntry>,
    /// Where the data comes from, as the recipe or else the catalogue says.
    pub source: Option<SourceTable>,
    /// What was fetched, and how far it could be verified; none if the files were there.
    pub fetched: Option<FetchFacts>,
    /// The files that were imported, in order, by content.
    pub source_files: Vec<SourceFile>,
    /// How texts were turned into vectors; none if the vectors were there.
    pub embedding: Option<EmbeddingFacts>,
    /// How the vectors were brought to unit length.
    pub normalization: Option<Normalization>,
    /// The draw of the base from a larger one.
    pub subset: Option<SubsetFacts>,
    /// The draw of the calibration queries.
    pub split: Option<SplitFacts>,
    /// The exact neighbours.
    pub truth: Option<TruthFacts>,
    /// Each store that was built, by name.
    pub stores: BTreeMap<String, StoreFacts>,
    /// The recipe with all defaults filled in, source files by name only, without `dim`.
    pub recipe: Recipe,
    /// What made it.
    pub tool: Tool,
    /// Digest of all of the above.
    pub digest: String,
    /// When, where and how long: outside the digest.
    pub run: Run,
}

/// How many vectors there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Rows of the base.
    pub base: u64,
    /// Rows of the queries; 0 if there are none.
    pub queries: u64,
}

/// What a file is for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, Hash,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// `base.f32.npy`
    Base,
    /// `base.parquet`
    BaseTable,
    /// `queries.f32.npy`
    Queries,
    /// `queries.parquet`
    QueriesTable,
    /// `splits.json`
    Splits,
    /// `truth.ids.npy`
    TruthIds,
    /// `truth.scores.npy`
    TruthScores,
    /// `truth.stats.parquet`
    TruthStats,
    /// A file under `indexes/`
    Index,
    /// `calibration/<store>.json`
    Calibration,
}

/// A file of the dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// What it is for.
    pub role: Role,
    /// Path relative to the manifest, with `/`.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Rows, where the file has rows.
    pub rows: Option<u64>,
    /// Digest of the content.
    pub sha256: String,
}

/// What was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchFacts {
    /// A name of the catalogue, a repository of the hub or an address, without credentials.
    pub source: String,
    /// The commit of a hub repository.
    pub revision: Option<String>,
    /// The files, by path.
    pub files: Vec<FetchedFile>,
}

/// A file that was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchedFile {
    /// Path below `raw/`.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Digest of the content.
    pub sha256: String,
    /// By what it was verified: `digest` (one that the catalogue or the hub names), `archive` (a
    /// member of an archive with such a digest), `length` or `nothing` (where nobody names one).
    pub verified: String,
}

/// A file that was imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceFile {
    /// `base` or `queries`.
    pub role: Role,
    /// File name without its directory.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Digest of the content.
    pub sha256: String,
}

/// How texts were turned into vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingFacts {
    /// The model's id on the hub, or the name of its directory.
    pub model: String,
    /// The commit of a hub model.
    pub revision: Option<String>,
    /// Digest of its weights; of several files, of the lines `<sha256>  <name>`.
    pub weights_sha256: String,
    /// Digest of its `tokenizer.json`.
    pub tokenizer_sha256: String,
    /// Digest of its `config.json`.
    pub config_sha256: String,
    /// How the vectors of a text's tokens become one.
    pub pooling: PoolingRule,
    /// Tokens of a text that are used, `[CLS]` and `[SEP]` included.
    pub max_length: u32,
    /// Put before every query.
    pub query_prefix: String,
    /// Put before every text of the base.
    pub base_prefix: String,
    /// Whether vectors left the model with length 1.
    pub normalized: bool,
    /// The type of its arithmetic: `f32`.
    pub precision: String,
    /// What computed, if not the CPU: it decides the last bits.
    #[serde(default, skip_serializing_if = "Device::is_cpu")]
    pub device: Device,
    /// The texts of the base, if they were embedded here.
    pub base: Option<EmbeddedTexts>,
    /// The texts of the queries, if they were embedded here.
    pub queries: Option<EmbeddedTexts>,
}

/// What became of texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmbeddedTexts {
    /// How many there are.
    pub texts: u64,
    /// Tokens that went through the model.
    pub tokens: u64,
    /// Texts that were cut at the maximum length.
    pub truncated: u64,
    /// Rows of the first of them.
    pub truncated_first: Vec<u64>,
    /// Texts without content.
    pub empty: u64,
    /// Rows of the first of them.
    pub empty_first: Vec<u64>,
}

/// How the vectors were brought to unit length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Normalization {
    /// What was done with zero vectors.
    pub zero: ZeroRule,
    /// Norms of the base before.
    pub base: NormStats,
    /// Norms of the queries before; none if there were no queries.
    pub queries: Option<NormStats>,
}

/// Norms of a set of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NormStats {
    /// Rows looked at.
    pub rows: u64,
    /// Rows that are all zero.
    pub zero: u64,
    /// Smallest norm.
    pub min: f64,
    /// Mean norm.
    pub mean: f64,
    /// Largest norm.
    pub max: f64,
}

/// The draw of the base from a larger one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubsetFacts {
    /// Rows kept.
    pub rows: u64,
    /// Seed of the draw.
    pub seed: u64,
    /// The rule in words.
    pub rule: String,
    /// Rows of the parent.
    pub parent_rows: u64,
    /// sha256 of the parent's `base.f32.npy`, or of its `base.parquet` where texts were drawn before
    /// they were embedded.
    pub parent_sha256: String,
    /// Rows kept in any case; none if every row was drawn.
    pub kept: Option<KeptFacts>,
}

/// Rows that a subset keeps whatever their key, since somebody judged them relevant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeptFacts {
    /// The files of judgements.
    pub judgements: Vec<Judgements>,
    /// Rows that they call relevant.
    pub rows: u64,
    /// How many of these would have been drawn without them.
    pub drawn_anyway: u64,
}

/// A file of relevance judgements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgements {
    /// File name without its directory.
    pub name: String,
    /// Digest of the content.
    pub sha256: String,
}

/// The draw of the calibration queries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitFacts {
    /// Seed of the draw.
    pub seed: u64,
    /// The rule in words.
    pub rule: String,
    /// Queries that tune.
    pub calibration: u64,
    /// Queries that prove.
    pub held_out: u64,
}

/// The exact neighbours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TruthFacts {
    /// Neighbours of each query.
    pub k: u32,
    /// Metric they were found by.
    pub metric: Metric,
    /// How they were found.
    pub method: String,
    /// How equal scores are ordered.
    pub ties: String,
    /// Queries whose k-th and next score are equal, so that the choice between them is the tie
    /// rule's.
    pub queries_tied_at_k: u64,
    /// Queries that the plain float64 reference was seen to answer alike when the truth was made.
    pub verified_queries: u64,
    /// Rows of the base that repeat an earlier row exactly.
    pub duplicate_rows: u64,
}

/// A store that was built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreFacts {
    /// Engine.
    pub engine: String,
    /// Version of the engine.
    pub version: String,
    /// Name of the search knob; none for an exact store.
    pub knob: Option<String>,
    /// Build parameters.
    pub parameters: BTreeMap<String, u32>,
    /// Digest of the index directory, as calibrations name it.
    pub index_sha256: String,
    /// One result for each (k, target).
    pub cells: Vec<Cell>,
}

/// What made a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// `vprep`
    pub name: String,
    /// Version of the tool.
    pub version: String,
    /// Commit it was built from, where known.
    pub commit: Option<String>,
}

/// When, where and how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Operating system, architecture and processors, as in `linux x86_64, 2 cpus`.
    pub machine: String,
    /// When the manifest was written, RFC 3339 in UTC.
    pub written: String,
    /// Each stage's run.
    pub stages: BTreeMap<String, StageRun>,
    /// Seconds that each store's build took.
    pub build_seconds: BTreeMap<String, f64>,
}

/// One stage's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageRun {
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// Wall time.
    pub seconds: f64,
    /// Threads it could use.
    pub threads: u32,
    /// Version of vprep that ran it.
    pub version: String,
}

impl Manifest {
    /// Reads the JSON text.
    ///
    /// # Errors
    ///
    /// If it is not JSON of this type, or of another schema.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let manifest: Self = serde_json::from_str(text)?;
        check_schema(manifest.schema)?;
        Ok(manifest)
    }

    /// The digest that the content has, whatever `digest` says.
    pub fn computed_digest(&self) -> String {
        digest_without(self, &["digest", "run"])
    }

    /// The file of a role that only one file has.
    pub fn file(&self, role: Role) -> Option<&FileEntry> {
        self.files.iter().find(|file| file.role == role)
    }
}
