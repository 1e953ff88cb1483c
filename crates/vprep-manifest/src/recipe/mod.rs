//! Recipes: one TOML file that makes one dataset. `dataset.toml` is a recipe too, with every
//! default filled in.

mod check;
mod device;
mod tables;

pub use device::Device;
pub use tables::{
    BuildTable, CalibrateTable, EmbedTable, FetchTable, GatesTable, ImportTable, ImportTables,
    ManifestTable, NormalizeTable, PoolingRule, SourceTable, SplitTable, SubsetTable, SynthTable,
    TextsTable, TruthTable, ValidateTable, ZeroRule,
};

use crate::error::check_schema;
use crate::{FormatError, SCHEMA};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Component, Path};
use vprep_core::Metric;

/// The directory of a dataset that holds what was fetched.
pub const RAW: &str = "raw";

/// A recipe: one table for each stage, in the order in which they run. A stage without a table
/// does not run. Paths are relative to the recipe's own directory, but for those of fetched files.
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
    /// Public data to fetch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch: Option<FetchTable>,
    /// Files to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<ImportTables>,
    /// Texts to turn into vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embed: Option<EmbedTable>,
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
    /// What the results must hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<GatesTable>,
    /// Write the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<ManifestTable>,
    /// Check everything at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validate: Option<ValidateTable>,
}

fn cosine() -> Metric {
    Metric::Cosine
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
            fetch: None,
            import: None,
            embed: None,
            synth: None,
            normalize: None,
            subset: None,
            split: None,
            truth: None,
            build: BTreeMap::new(),
            calibrate: None,
            gates: None,
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

    /// What the calibration of one store is asked: what the recipe says and, of the store `flat`,
    /// the neighbours that its gate looks at.
    pub fn calibration_of(&self, store: &str) -> Option<CalibrateTable> {
        let mut table = self.calibrate.clone()?;
        if let Some(gates) = self.gates.as_ref().filter(|_| store == GatesTable::EXACT) {
            table.k.extend(&gates.exact_k);
            table.k.sort_unstable();
            table.k.dedup();
        }
        Some(table)
    }

    /// Whether a path of the recipe is that of a fetched file, which lies in the dataset.
    pub fn is_fetched(&self, path: &Path) -> bool {
        let below = path.components().all(|part| matches!(part, Component::Normal(_)));
        self.fetch.is_some() && below && path.starts_with(RAW)
    }

    /// The TOML text.
    ///
    /// # Panics
    ///
    /// Never for a recipe that passed [`Recipe::check`].
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a checked recipe is TOML; this is a bug")
    }
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
        assert!(fails(&format!("{head}{synth}{queries}")).contains("queries come from one of"));
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
        let gates = format!("{calibrate}[gates]\n[build.hnsw]\n");
        assert!(whole(&gates).expect_err("no flat").contains("[build.flat]"));
        assert_eq!(whole(&format!("{gates}[build.flat]\n")), Ok(()));
        assert!(fails(&format!("{head}[gates]\nfloor = 1.5\n")).contains("gates.floor"));
    }

    #[test]
    fn fetched_files_are_told_apart_and_a_subset_takes_no_neighbors_of_the_whole() {
        let head = "schema = 1\nname = \"x\"\n";
        let fetch = "[fetch]\nsource = \"cohere_medium_1m\"\n";
        let recipe = Recipe::parse(&format!("{head}{fetch}")).expect("legal");
        assert!(recipe.is_fetched(Path::new("raw/test.parquet")));
        assert!(!recipe.is_fetched(Path::new("../raw/test.parquet")));
        assert!(!recipe.is_fetched(Path::new("raw/../../test.parquet")));
        assert!(!Recipe::parse(head).expect("legal").is_fetched(Path::new("raw/test.parquet")));
        let validate = "[validate]\nneighbors = \"raw/neighbors.parquet\"\n";
        Recipe::parse(&format!("{head}{fetch}{validate}")).expect("legal for the whole");
        let subset = "[subset]\nrows = 5\nseed = 1\n";
        assert!(fails(&format!("{head}{fetch}{subset}{validate}")).contains("a whole base"));
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
