//! What the outputs of a job depend on, beside its inputs.

use super::{Job, file_name};
use crate::dataset::Side;
use crate::stages;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use vprep_fetch::Source;
use vprep_manifest::{EmbedTable, Recipe};

impl Job {
    /// What the outputs depend on beside the inputs; no paths.
    pub(crate) fn parameters(&self, recipe: &Recipe) -> Value {
        fn value(table: &impl Serialize) -> Value {
            serde_json::to_value(table).expect("tables are JSON; this is a bug")
        }
        match self {
            Self::Import(_, table) => {
                let mut parameters = json!({
                    "vector-column": table.vector_column,
                    "id-column": table.id_column,
                });
                let fetched = table.files.iter().filter(|path| recipe.is_fetched(path));
                let fetched: Vec<&PathBuf> = fetched.collect();
                if !fetched.is_empty() {
                    parameters["fetched"] = value(&fetched);
                }
                parameters
            }
            Self::Fetch(table) => value(table),
            Self::Synth(table) => value(table),
            Self::Normalize(_, table) => value(table),
            Self::Texts(_, table) => {
                let fetched = table.texts.iter().filter(|path| recipe.is_fetched(path));
                json!({
                    "text-column": table.text_column,
                    "id-column": table.id_column,
                    "title-column": table.title_column,
                    "fetched": fetched.collect::<Vec<_>>(),
                })
            }
            Self::Embed(side, table) => {
                let mut table = EmbedTable { base: None, queries: None, ..table.as_ref().clone() };
                if stages::model::is_directory(&table.model) {
                    // Where it lies does not matter; its files are inputs.
                    table.model = String::new();
                }
                // The other side's prefix changes nothing, nor does the size of checkpoints unless
                // texts lie in batches, as on a GPU.
                match side {
                    Side::Base => table.query_prefix = None,
                    Side::Queries => table.base_prefix = None,
                }
                if table.device.is_cpu() {
                    table.checkpoint_rows = EmbedTable::default().checkpoint_rows;
                }
                table.device = table.device.unnumbered();
                value(&table)
            }
            Self::Subset(table) | Self::SubsetTexts(table) => {
                let mut parameters = json!({
                    "rows": table.rows,
                    "seed": table.seed,
                    "inherits": table.from.is_some(),
                });
                if !table.keep_relevant.is_empty() {
                    let names: Vec<_> =
                        table.keep_relevant.iter().map(|path| file_name(path)).collect();
                    parameters["keep-relevant"] = value(&names);
                }
                parameters
            }
            Self::Split(table) => value(table),
            Self::Truth(table) => json!({
                "k": table.k,
                "metric": table.metric.unwrap_or(recipe.metric),
            }),
            Self::Build(_, table) => json!({ "metric": recipe.metric, "parameters": table }),
            Self::Calibrate(_, table) => json!({
                "target": table.target,
                "k": table.k,
                "max-value": table.max_value,
                "rule": table.rule,
            }),
            Self::Manifest => value(&portable(recipe)),
            Self::Validate(table) => json!({ "recheck": table.recheck }),
        }
    }
}

/// The recipe without what says the same in another way: directories of source files, and the
/// dimension, which a recipe may leave out.
pub(crate) fn portable(recipe: &Recipe) -> Recipe {
    let whole = recipe;
    let mut recipe = Recipe { dim: None, ..whole.clone() };
    if let Some(table) = &mut recipe.fetch
        && let Ok(source @ Source::Web { .. }) = stages::fetch::source(table)
    {
        // Its query may hold a key.
        table.source = source.to_string();
    }
    let strip = |path: &mut PathBuf| {
        if !whole.is_fetched(path) {
            *path = PathBuf::from(file_name(path));
        }
    };
    if let Some(import) = &mut recipe.import {
        for table in [&mut import.base, &mut import.queries].into_iter().flatten() {
            table.files.iter_mut().for_each(strip);
        }
    }
    if let Some(embed) = &mut recipe.embed {
        for table in [&mut embed.base, &mut embed.queries].into_iter().flatten() {
            table.texts.iter_mut().for_each(strip);
        }
        if stages::model::is_directory(&embed.model) {
            embed.model = format!("./{}", file_name(Path::new(&embed.model)));
        }
        embed.device = embed.device.unnumbered();
    }
    if let Some(neighbors) = recipe.validate.as_mut().and_then(|table| table.neighbors.as_mut()) {
        strip(neighbors);
    }
    if let Some(subset) = &mut recipe.subset {
        subset.from.iter_mut().chain(&mut subset.keep_relevant).for_each(strip);
    }
    recipe
}
