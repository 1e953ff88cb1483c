//! Recipes: one TOML file that makes one dataset. `dataset.toml` is a recipe too, with every
//! default filled in.

use crate::error::check_schema;
use crate::{FormatError, Rule, SCHEMA};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use vprep_core::Metric;

/// A recipe: one table for each stage, in the order in which they run. A stage without a table
/// does not run. Paths are relative to the recipe's own directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recipe {
    /// Format of this file: 1.
    pub schema: u32,
    /// Name of the dataset; it is made in `datasets/<name>` unless told.
    pub name: String,
    /// Metric.
    #[serde(default = "cosine")]
    pub metric: Metric,
    /// Values in a vector. Optional in a recipe, where it is checked; always in `dataset.toml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dim: Option<u32>,
    /// Where the data comes from: for readers, copied to the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceTable>,
    /// Files to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<ImportTables>,
    /// Vectors to make up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synth: Option<SynthTable>,
    /// Bring vectors to unit length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalize: Option<NormalizeTable>,
    /// Draw a part of the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subset: Option<SubsetTable>,
    /// Draw the calibration queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitTable>,
    /// Find the exact neighbours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<TruthTable>,
    /// Build the index of each store named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub build: BTreeMap<String, BuildTable>,
    /// Find the search setting of each store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrate: Option<CalibrateTable>,
    /// Write the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<ManifestTable>,
    /// Check everything at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validate: Option<ValidateTable>,
}

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
}

impl Default for ValidateTable {
    fn default() -> Self {
        Self { recheck: 16 }
    }
}

fn cosine() -> Metric {
    Metric::Cosine
}

fn ten_and_hundred() -> Vec<u32> {
    vec![10, 100]
}

impl Recipe {
    /// A recipe without stages.
    pub fn new(name: impl Into<String>, metric: Metric) -> Self {
        Self {
            schema: SCHEMA,
            name: name.into(),
            metric,
            dim: None,
            source: None,
            import: None,
            synth: None,
            normalize: None,
            subset: None,
            split: None,
            truth: None,
            build: BTreeMap::new(),
            calibrate: None,
            manifest: None,
            validate: None,
        }
    }

    /// Reads TOML text and checks every value.
    ///
    /// # Errors
    ///
    /// If it is not TOML, holds an unknown key, lacks one, or a value is out of range.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let recipe: Self = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count() + 1;
            FormatError::Toml { line, message: error.message().replace('\n', "; ") }
        })?;
        check_schema(recipe.schema)?;
        recipe.check()?;
        Ok(recipe)
    }

    /// The stores that the recipe calibrates: those it names, else all that it builds.
    pub fn calibrated_stores(&self) -> Vec<String> {
        match &self.calibrate {
            None => Vec::new(),
            Some(table) if table.store.is_empty() => self.build.keys().cloned().collect(),
            Some(table) => table.store.clone(),
        }
    }

    /// The TOML text.
    ///
    /// # Panics
    ///
    /// Never for a recipe that passed [`Recipe::check`].
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a checked recipe is TOML; this is a bug")
    }

    /// Checks every value that its type leaves too free.
    ///
    /// # Errors
    ///
    /// If a value is out of range, or tables exclude each other.
    pub fn check(&self) -> Result<(), FormatError> {
        let name_ok = !self.name.is_empty()
            && self.name.len() <= 100
            && !self.name.starts_with(['.', '-'])
            && self.name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        range(
            name_ok,
            "name",
            format!("{:?}", self.name),
            "1 to 100 of the letters a-z, A-Z, 0-9, `.`, `_`, `-`, not starting with `.` or `-`",
        )?;
        if let Some(dim) = self.dim {
            range((1..=MAX_DIM).contains(&dim), "dim", dim, "from 1 to 65536")?;
        }
        let import = self.import.as_ref();
        let inherits = self.subset.as_ref().is_some_and(|subset| subset.from.is_some());
        let count = |sources: [bool; 3]| sources.into_iter().filter(|&given| given).count();
        let synth = self.synth.is_some();
        if count([import.is_some_and(|import| import.base.is_some()), synth, inherits]) > 1 {
            return Err(FormatError::Tables(
                "the base comes from one of [import.base], [synth] and [subset] with `from`; \
                 keep one of them, or make another dataset",
            ));
        }
        if count([import.is_some_and(|import| import.queries.is_some()), synth, inherits]) > 1 {
            return Err(FormatError::Tables(
                "[synth] and [subset] with `from` bring queries of their own; leave out \
                 [import.queries], or make another dataset",
            ));
        }
        for table in import.iter().flat_map(|import| [&import.base, &import.queries]).flatten() {
            range(!table.files.is_empty(), "import.files", "[]", "at least one file")?;
        }
        if let Some(synth) = &self.synth {
            range((1..=MAX_ROWS).contains(&synth.rows), "synth.rows", synth.rows, ROWS)?;
            range((1..=MAX_DIM).contains(&synth.dim), "synth.dim", synth.dim, "from 1 to 65536")?;
            range((1..=MAX_ROWS).contains(&synth.queries), "synth.queries", synth.queries, ROWS)?;
            if let Some(clusters) = synth.clusters {
                range(clusters >= 1, "synth.clusters", clusters, "at least 1")?;
            }
        }
        if let Some(subset) = &self.subset {
            range((1..=MAX_ROWS).contains(&subset.rows), "subset.rows", subset.rows, ROWS)?;
        }
        if let Some(split) = &self.split {
            let legal = (1..=MAX_ROWS).contains(&split.calibration);
            range(legal, "split.calibration", split.calibration, ROWS)?;
        }
        if let Some(truth) = &self.truth {
            range(truth.k >= 1, "truth.k", truth.k, "at least 1")?;
        }
        if let Some(calibrate) = &self.calibrate {
            calibrate.check()?;
        }
        Ok(())
    }
}

impl Recipe {
    /// Checks that the stages have what they need from one another, as a recipe that is to be run
    /// must, and a dataset that is still being made need not.
    ///
    /// # Errors
    ///
    /// If nothing brings vectors, or a store is calibrated that is not built.
    pub fn check_whole(&self) -> Result<(), FormatError> {
        let import = self.import.as_ref();
        let base = import.is_some_and(|import| import.base.is_some());
        let inherits = self.subset.as_ref().is_some_and(|subset| subset.from.is_some());
        if !base && self.synth.is_none() && !inherits {
            return Err(FormatError::Tables(
                "no table brings vectors; add [import.base], [synth] or [subset] with `from`",
            ));
        }
        if self.calibrate.is_some() {
            let stores = self.calibrated_stores();
            if stores.is_empty() || stores.iter().any(|store| !self.build.contains_key(store)) {
                return Err(FormatError::Tables(
                    "[calibrate] needs an index of each of its stores; add a table [build.<store>]",
                ));
            }
        }
        Ok(())
    }
}

impl CalibrateTable {
    /// Checks targets, k and the cap.
    ///
    /// # Errors
    ///
    /// If one of them is out of range.
    pub fn check(&self) -> Result<(), FormatError> {
        range(!self.target.is_empty(), "calibrate.target", "[]", "at least one target")?;
        for &target in &self.target {
            range(
                target > 0.0 && target <= 1.0,
                "calibrate.target",
                target,
                "above 0 and at most 1",
            )?;
        }
        range(!self.k.is_empty(), "calibrate.k", "[]", "at least one number")?;
        for &k in &self.k {
            range(k >= 1, "calibrate.k", k, "at least 1")?;
        }
        if let Some(value) = self.max_value {
            range(value >= 1, "calibrate.max-value", value, "at least 1")?;
        }
        Ok(())
    }
}

/// Row numbers are int32 in the truth.
const MAX_ROWS: u64 = i32::MAX as u64;
const MAX_DIM: u32 = 65_536;
const ROWS: &str = "from 1 to 2147483647";

#[expect(clippy::needless_pass_by_value, reason = "numbers and literals, easier to write so")]
fn range(
    ok: bool,
    key: &'static str,
    value: impl ToString,
    allowed: &'static str,
) -> Result<(), FormatError> {
    if ok { Ok(()) } else { Err(FormatError::Range { key, value: value.to_string(), allowed }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(text: &str) -> String {
        Recipe::parse(text).expect_err("a bad recipe").to_string()
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line() {
        let error = fails("schema = 1\nname = \"x\"\n\n[truth]\nkk = 3\n");
        assert_eq!(error, "line 5: unknown field `kk`, expected `k` or `metric`");
    }

    #[test]
    fn values_out_of_range_name_the_key_and_the_range() {
        let head = "schema = 1\nname = \"x\"\n";
        assert_eq!(
            fails(&format!("{head}[truth]\nk = 0\n")),
            "truth.k = 0 is out of range; it must be at least 1"
        );
        assert_eq!(
            fails(&format!("{head}[calibrate]\ntarget = [1.5]\n")),
            "calibrate.target = 1.5 is out of range; it must be above 0 and at most 1"
        );
        assert!(fails("schema = 1\nname = \"../x\"\n").starts_with("name = \"../x\" is out"));
        assert!(fails("schema = 2\nname = \"x\"\n").starts_with("schema 2 is not known"));
    }

    #[test]
    fn two_sources_of_one_file_are_refused_and_so_is_none() {
        let head = "schema = 1\nname = \"x\"\n";
        let synth = "[synth]\nrows = 5\ndim = 2\nqueries = 2\n";
        let queries = "[import.queries]\nfiles = [\"q.npy\"]\n";
        assert!(fails(&format!("{head}{synth}{queries}")).contains("queries of their own"));
        let base = "[import.base]\nfiles = [\"b.npy\"]\n";
        assert!(fails(&format!("{head}{synth}{base}")).contains("the base comes from one of"));
        let whole = |text: &str| {
            let recipe = Recipe::parse(&format!("{head}{text}")).expect("legal");
            recipe.check_whole().map_err(|error| error.to_string())
        };
        assert!(whole("[truth]\n").expect_err("no vectors").contains("no table brings vectors"));
        let calibrate = format!("{base}[calibrate]\ntarget = [0.9]\n");
        assert!(whole(&calibrate).expect_err("no store").contains("[build.<store>]"));
        assert_eq!(whole(&format!("{calibrate}[build.hnsw]\n")), Ok(()));
    }

    #[test]
    fn a_resolved_recipe_reads_back() {
        let text = "schema = 1\nname = \"x\"\n[split]\n[truth]\n[build.hnsw]\nm = 16\n\
                    [calibrate]\ntarget = [0.9]\n[manifest]\n[validate]\n";
        let recipe = Recipe::parse(text).expect("a good recipe");
        assert_eq!(Recipe::parse(&recipe.to_toml()).expect("its own text"), recipe);
        assert_eq!(recipe.calibrate.expect("given").k, [10, 100]);
    }
}
