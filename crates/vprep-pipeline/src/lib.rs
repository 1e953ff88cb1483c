//! The stages of a vprep recipe: what each reads and writes, which are up to date, and how they
//! are run, stopped and resumed. Nothing here prints.
//!
//! ```
//! use vprep_core::Silent;
//! use vprep_manifest::Recipe;
//! use vprep_pipeline::{Context, Dataset};
//!
//! let recipe = Recipe::parse(
//!     r#"
//!     schema = 1
//!     name = "tiny"
//!
//!     [synth]
//!     rows = 500
//!     dim = 16
//!     queries = 20
//!
//!     [normalize]
//!
//!     [truth]
//!     k = 10
//!     "#,
//! )?;
//! let home = tempfile::tempdir()?;
//! let dir = home.path().join("tiny");
//! let context = Context::new(&Silent);
//! let mut dataset = Dataset::for_recipe(&recipe, home.path(), &dir, &context)?;
//! let mut ran = Vec::new();
//! dataset.run_all(None, |done| ran.push(done.stage.clone()))?;
//! assert_eq!(ran, ["synth", "normalize.base", "normalize.queries", "truth"]);
//! assert!(dir.join("truth.ids.npy").exists());
//!
//! // Everything is up to date now.
//! dataset.run_all(None, |done| assert!(!done.ran))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod base_of_index;
mod context;
mod dataset;
mod error;
mod facts;
pub mod inspect;
mod job;
mod matrix;
mod memory;
mod paths;
mod plan;
mod record;
mod resolve;
mod run;
mod stages;
pub mod stores;
mod truth_options;
mod truth_stats;
pub mod validate;

pub use context::{Context, Network, Share};
pub use dataset::{
    DATASET_TOML, MANIFEST, SPLITS, Side, TRUTH_IDS, TRUTH_SCORES, TRUTH_STATS, calibration_file,
    default_k, index_dir, locate, read_calibration, read_dataset, read_recipe,
};
pub use error::PipelineError;
pub use job::{Job, STAGES, check_stage};
pub use memory::quarter_of_memory;
pub use plan::{Plan, Reason, Step, plan};
pub use resolve::{model, parent_dataset, resolve, source_files};
pub use run::{Dataset, Done};
pub use stages::model::check_device;
pub use stages::truth::verify_truth;
pub use truth_options::{Engine, TruthOptions, TruthPart};
