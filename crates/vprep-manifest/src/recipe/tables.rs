//! The tables of a recipe, one for each stage.

use super::Device;
use crate::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use vprep_core::Metric;

/// Build parameters of a store by name, as the store itself declares them (`vprep stores`).
pub type BuildTable = BTreeMap<String, u32>;

/// Where the data comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SourceTable {
    /// What it is called.
    pub name: String,
    /// Where it is had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Which version of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Its licence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// How to cite it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub citation: Option<String>,
}

/// Fetch public data into the dataset's own directory `raw/`. In a recipe with this table, a path
/// that begins with `raw/` is a fetched file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FetchTable {
    /// A name of the catalogue, `hf://datasets/owner/name`, `hf://owner/name` or `https://…`.
    pub source: String,
    /// Branch, tag or commit of a hub repository; the catalogue's, or else `main`, unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Patterns of the files to fetch; what the catalogue does not call optional, or else all,
    /// unless told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Whether `source` is the address of an archive that is to be unpacked; `include` then chooses
    /// among its members. Sets of the catalogue say so themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extract: bool,
}

/// The files of both roles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ImportTables {
    /// The base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<ImportTable>,
    /// The queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<ImportTable>,
}

/// Files with vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ImportTable {
    /// Files or patterns, read in numeric order (`part-2` before `part-10`).
    pub files: Vec<PathBuf>,
    /// The column with the vectors; the only list of numbers unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_column: Option<String>,
    /// The column with the ids; `id`, `_id` or the row number unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_column: Option<String>,
}

/// Turn texts into vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct EmbedTable {
    /// A model of the hub, `owner/name`, or a directory that holds one (`./model`).
    pub model: String,
    /// Branch, tag or commit of a hub model; the known one unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// How a text's token vectors become one; what the model says unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooling: Option<PoolingRule>,
    /// Tokens of a text that are used; what the model says unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u32>,
    /// Put before every query; what the model says unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_prefix: Option<String>,
    /// Put before every text of the base; what the model says unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_prefix: Option<String>,
    /// Rows that are computed, written and recorded together.
    pub checkpoint_rows: u64,
    /// Whether texts without content are embedded like others.
    pub allow_empty: bool,
    /// What computes: `cpu` unless told, `cuda` or `cuda:N` for a GPU.
    #[serde(skip_serializing_if = "Device::is_cpu")]
    pub device: Device,
    /// The texts of the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<TextsTable>,
    /// The texts of the queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<TextsTable>,
}

impl Default for EmbedTable {
    fn default() -> Self {
        Self {
            model: "BAAI/bge-small-en-v1.5".to_owned(),
            revision: None,
            pooling: None,
            max_length: None,
            query_prefix: None,
            base_prefix: None,
            checkpoint_rows: 50_000,
            allow_empty: false,
            device: Device::Cpu,
            base: None,
            queries: None,
        }
    }
}

/// How the vectors of a text's tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PoolingRule {
    /// That of the first token.
    Cls,
    /// Their mean.
    Mean,
}

impl PoolingRule {
    /// The name in files and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cls => "cls",
            Self::Mean => "mean",
        }
    }
}

/// Files with texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TextsTable {
    /// Files or patterns, read in numeric order (`part-2` before `part-10`).
    pub texts: Vec<PathBuf>,
    /// The column with the texts: a name, or in a tsv without names a number from 1; found by the
    /// usual names unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_column: Option<String>,
    /// The column with the ids; found by the usual names, else the row number, unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_column: Option<String>,
    /// A column whose value goes before the text; none unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title_column: Option<String>,
}

/// Seeded clustered vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SynthTable {
    /// Rows of the base.
    pub rows: u64,
    /// Values in a vector.
    pub dim: u32,
    /// Rows of the queries.
    pub queries: u64,
    /// Seed.
    #[serde(default)]
    pub seed: u64,
    /// Number of clusters; the square root of `rows` unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u64>,
}

/// What to do with zero vectors, which have no direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ZeroRule {
    /// Stop and name their rows.
    #[default]
    Error,
    /// Leave the rows out.
    Drop,
    /// Keep them as they are.
    Keep,
}

impl ZeroRule {
    /// The name in files and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Drop => "drop",
            Self::Keep => "keep",
        }
    }
}

/// Bring vectors to unit length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NormalizeTable {
    /// What to do with zero vectors.
    #[serde(default)]
    pub zero: ZeroRule,
}

/// Draw a part of the base by the rule of `vprep_core::sample`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SubsetTable {
    /// Directory of the parent dataset; this dataset's own base unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<PathBuf>,
    /// Rows to keep.
    pub rows: u64,
    /// Seed.
    pub seed: u64,
    /// Files of relevance judgements (TREC's or BEIR's layout): every document that one of them
    /// calls relevant is kept, whatever its key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep_relevant: Vec<PathBuf>,
}

/// Draw the calibration queries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SplitTable {
    /// How many queries tune; the others prove.
    pub calibration: u64,
    /// Seed.
    pub seed: u64,
}

impl Default for SplitTable {
    fn default() -> Self {
        Self { calibration: 200, seed: 0 }
    }
}

/// Find the exact neighbours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TruthTable {
    /// Neighbours of each query.
    pub k: u32,
    /// Metric; the dataset's unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
}

impl Default for TruthTable {
    fn default() -> Self {
        Self { k: 100, metric: None }
    }
}

/// Find the search setting of each store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CalibrateTable {
    /// Recall to reach, each between 0 and 1.
    pub target: Vec<f64>,
    /// Neighbours to ask for; 10 and 100 unless told.
    #[serde(default = "ten_and_hundred")]
    pub k: Vec<u32>,
    /// Stores; every one that the recipe builds unless told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub store: Vec<String>,
    /// Largest knob value to try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_value: Option<u32>,
    /// When a target counts as reached.
    #[serde(default)]
    pub rule: Rule,
}

/// What the results must hold besides the targets, or else the recipe fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct GatesTable {
    /// Neighbours for which the recall of the store `flat` must be exactly 1: what measures recall
    /// is right. Empty for no such gate.
    pub exact_k: Vec<u32>,
    /// Held-out recall that every store must have for each k that is calibrated, at one of its
    /// calibrated settings.
    pub floor: f64,
}

impl Default for GatesTable {
    fn default() -> Self {
        Self { exact_k: vec![1, 10, 100], floor: 0.90 }
    }
}

/// Write the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ManifestTable {}

/// Check everything at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ValidateTable {
    /// How many queries, drawn by seed, are searched again by the plain float64 reference.
    pub recheck: u64,
    /// A parquet file of neighbours that others published for the whole base, with the columns `id`
    /// and `neighbors_id`: the truth is compared with it. A subset has no use for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbors: Option<PathBuf>,
}

impl Default for ValidateTable {
    fn default() -> Self {
        Self { recheck: 16, neighbors: None }
    }
}

fn ten_and_hundred() -> Vec<u32> {
    vec![10, 100]
}
