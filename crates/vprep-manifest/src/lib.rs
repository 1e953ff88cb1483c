//! What other programs read of vprep: `manifest.json`, `calibration/<store>.json`, `splits.json`,
//! and the TOML of recipes and of `dataset.toml`.
//!
//! Every JSON file carries `"schema": 1`. A reader refuses a schema it does not know and keys it
//! does not know; a writer raises the number when it adds a field.
//!
//! ```
//! use vprep_manifest::Recipe;
//!
//! let recipe = Recipe::parse(
//!     r#"
//!     schema = 1
//!     name = "tiny"
//!     metric = "cosine"
//!
//!     [synth]
//!     rows = 1000
//!     dim = 32
//!     queries = 100
//!     seed = 7
//!
//!     [truth]
//!     k = 10
//!     "#,
//! )
//! .unwrap();
//! assert_eq!(recipe.truth.unwrap().k, 10);
//! ```

mod calibration;
mod canonical;
mod error;
mod gates;
mod manifest;
mod recipe;
mod splits;

pub use calibration::{Calibration, Cell, Inputs, Place, Point, QuerySet, Rule, Serving, Setting};
pub use canonical::{canonical_json, hex, sha256};
pub use error::FormatError;
pub use gates::Gate;
pub use manifest::{
    Counts, EmbeddedTexts, EmbeddingFacts, FetchFacts, FetchedFile, FileEntry, Judgements,
    KeptFacts, Manifest, NormStats, Normalization, Role, Run, SourceFile, SplitFacts, StageRun,
    StoreFacts, SubsetFacts, Tool, TruthFacts,
};
pub use recipe::{
    BuildTable, CalibrateTable, Device, EmbedTable, FetchTable, GatesTable, ImportTable,
    ImportTables, ManifestTable, NormalizeTable, PoolingRule, RAW, Recipe, SourceTable, SplitTable,
    SubsetTable, SynthTable, TextsTable, TruthTable, ValidateTable, ZeroRule,
};
pub use splits::Splits;

/// The schema number of every file that this version writes.
pub const SCHEMA: u32 = 1;
