//! Where things lie in a dataset directory, and `dataset.toml`.

use crate::PipelineError;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use vprep_data::MappedNpy;
use vprep_manifest::{Calibration, Recipe, Role};

/// How a dataset was made; a recipe with every default filled in.
pub const DATASET_TOML: &str = "dataset.toml";
/// Query rows for tuning and for proving.
pub const SPLITS: &str = "splits.json";
/// Row numbers of the exact neighbours.
pub const TRUTH_IDS: &str = "truth.ids.npy";
/// Scores of the exact neighbours.
pub const TRUTH_SCORES: &str = "truth.scores.npy";
/// The k-th score of every query and its distance to the next.
pub const TRUTH_STATS: &str = "truth.stats.parquet";
/// The whole.
pub const MANIFEST: &str = "manifest.json";

/// The base or the queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// What is searched.
    Base,
    /// What is searched for.
    Queries,
}

impl Side {
    /// Both, in the order in which they are handled.
    pub const BOTH: [Self; 2] = [Self::Base, Self::Queries];

    /// The name in files and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Queries => "queries",
        }
    }

    /// The file of vectors.
    pub const fn vectors(self) -> &'static str {
        match self {
            Self::Base => "base.f32.npy",
            Self::Queries => "queries.f32.npy",
        }
    }

    /// The file of ids and other columns.
    pub const fn table(self) -> &'static str {
        match self {
            Self::Base => "base.parquet",
            Self::Queries => "queries.parquet",
        }
    }

    /// The role of the file of vectors.
    pub const fn role(self) -> Role {
        match self {
            Self::Base => Role::Base,
            Self::Queries => Role::Queries,
        }
    }

    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::Base => Self::Queries,
            Self::Queries => Self::Base,
        }
    }
}

/// The directory of a store's index, relative to the dataset.
pub fn index_dir(store: &str) -> String {
    format!("indexes/{store}")
}

/// The file of a store's calibration, relative to the dataset.
pub fn calibration_file(store: &str) -> String {
    format!("calibration/{store}.json")
}

/// What there is in a dataset of the files and directories that stages write, relative to it.
///
/// # Errors
///
/// If a directory cannot be listed.
pub(crate) fn outputs_in(dir: &Path) -> Result<Vec<String>, PipelineError> {
    let fixed = [SPLITS, TRUTH_IDS, TRUTH_SCORES, TRUTH_STATS, MANIFEST].into_iter();
    let sides = Side::BOTH.into_iter().flat_map(|side| [side.vectors(), side.table()]);
    let there = |name: &&str| dir.join(name).exists();
    let mut outputs: Vec<String> = fixed.chain(sides).filter(there).map(str::to_owned).collect();
    for parent in ["indexes", "calibration"] {
        let path = dir.join(parent);
        if !path.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&path).map_err(PipelineError::read(&path))? {
            let name = entry.map_err(PipelineError::read(&path))?.file_name();
            outputs.push(format!("{parent}/{}", name.to_string_lossy()));
        }
    }
    outputs.sort();
    Ok(outputs)
}

/// Reads a recipe that is to be run.
///
/// # Errors
///
/// If it cannot be read, is not a recipe, or lacks something.
pub fn read_recipe(path: &Path) -> Result<Recipe, PipelineError> {
    let text = fs::read_to_string(path).map_err(PipelineError::read(path))?;
    let recipe = Recipe::parse(&text).map_err(PipelineError::format(path))?;
    recipe.check_whole().map_err(PipelineError::format(path))?;
    Ok(recipe)
}

/// Reads the `dataset.toml` of a dataset.
///
/// # Errors
///
/// If there is none, or it is not a recipe.
pub fn read_dataset(dir: &Path) -> Result<Recipe, PipelineError> {
    let path = dir.join(DATASET_TOML);
    if !path.exists() {
        return Err(PipelineError::NoDataset { path: dir.to_owned() });
    }
    // The file is vprep's own, so a fault in it is bad data rather than bad usage.
    let text = fs::read_to_string(&path).map_err(PipelineError::read(&path))?;
    Recipe::parse(&text).map_err(|source| PipelineError::BadDataset { path, source })
}

/// Reads the results of a store.
///
/// # Errors
///
/// If there are none, or they cannot be read.
pub fn read_calibration(dir: &Path, store: &str) -> Result<Calibration, PipelineError> {
    let path = dir.join(calibration_file(store));
    let text = fs::read_to_string(&path).map_err(PipelineError::read(&path))?;
    Calibration::parse(&text).map_err(PipelineError::dataset(&path))
}

/// The neighbours to ask for unless told: 10 and 100, as far as the truth goes.
///
/// # Errors
///
/// If there is no truth.
pub fn default_k(dir: &Path) -> Result<Vec<u32>, PipelineError> {
    let path = dir.join(TRUTH_IDS);
    if !path.exists() {
        return Err(PipelineError::MissingInput { path, command: "truth" });
    }
    let width = MappedNpy::<i32>::open(&path)?.cols() as u32;
    let k: Vec<u32> = [10, 100].into_iter().filter(|&k| k <= width).collect();
    Ok(if k.is_empty() { vec![width] } else { k })
}

/// Finds the dataset that a command without `-d` means: the current directory if it holds a
/// `dataset.toml`, else the only dataset under `datasets/`.
///
/// # Errors
///
/// If there is none or more than one; the error lists them.
pub fn locate() -> Result<PathBuf, PipelineError> {
    let here = env::current_dir().map_err(PipelineError::read("."))?;
    if here.join(DATASET_TOML).exists() {
        return Ok(PathBuf::from("."));
    }
    let mut found: Vec<PathBuf> = match fs::read_dir(here.join("datasets")) {
        Ok(entries) => entries
            .filter_map(Result::ok)
            .filter(|entry| entry.path().join(DATASET_TOML).exists())
            .map(|entry| Path::new("datasets").join(entry.file_name()))
            .collect(),
        Err(_) => Vec::new(),
    };
    found.sort();
    match found.len() {
        1 => Ok(found.remove(0)),
        _ => Err(PipelineError::WhichDataset { found }),
    }
}

/// A name for a dataset whose directory is all that is known.
pub(crate) fn name_from(dir: &Path) -> Result<String, PipelineError> {
    let absolute = std::path::absolute(dir).map_err(PipelineError::read(dir))?;
    let name = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let checked = Recipe::new(&name, vprep_core::Metric::Cosine).check();
    checked.map_err(|source| PipelineError::DatasetName { path: dir.to_owned(), source })?;
    Ok(name)
}
