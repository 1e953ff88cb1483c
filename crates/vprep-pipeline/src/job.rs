//! The stages of a recipe as jobs: what each reads, writes and depends on.

use crate::dataset::{
    MANIFEST, SPLITS, Side, TRUTH_IDS, TRUTH_SCORES, calibration_file, index_dir,
};
use crate::{PipelineError, stages};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use vprep_fetch::Source;
use vprep_manifest::{
    BuildTable, CalibrateTable, FetchTable, ImportTable, NormalizeTable, RAW, Recipe, SplitTable,
    SubsetTable, SynthTable, TruthTable, ValidateTable, ZeroRule,
};

/// One stage with its table.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// Fetch public data.
    Fetch(FetchTable),
    /// Read vectors from files.
    Import(Side, ImportTable),
    /// Make up vectors.
    Synth(SynthTable),
    /// Bring vectors to unit length.
    Normalize(Side, NormalizeTable),
    /// Draw a part of the base.
    Subset(SubsetTable),
    /// Draw the calibration queries.
    Split(SplitTable),
    /// Find the exact neighbours.
    Truth(TruthTable),
    /// Build a store's index.
    Build(String, BuildTable),
    /// Find a store's search settings.
    Calibrate(String, CalibrateTable),
    /// Write the manifest.
    Manifest,
    /// Check everything.
    Validate(ValidateTable),
}

/// Something a job reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A file or directory of the dataset, relative to it.
    Own(String),
    /// A file outside, with the name by which the record knows it.
    Outside {
        /// Name without directories, so that moving the file changes nothing.
        name: String,
        /// Where it lies.
        path: PathBuf,
    },
}

/// The commands, in the order in which stages run: what `--until` takes.
pub const STAGES: [&str; 11] = [
    "fetch",
    "import",
    "synth",
    "normalize",
    "subset",
    "split",
    "truth",
    "build",
    "calibrate",
    "manifest",
    "validate",
];

/// The jobs of a resolved recipe, in order. `dir` is the dataset.
pub(crate) fn jobs(recipe: &Recipe, dir: &Path) -> Vec<Job> {
    let mut jobs: Vec<Job> = recipe.fetch.clone().map(Job::Fetch).into_iter().collect();
    let import = recipe.import.clone().unwrap_or_default();
    for (side, table) in Side::BOTH.into_iter().zip([import.base, import.queries]) {
        jobs.extend(table.map(|table| Job::Import(side, table)));
    }
    jobs.extend(recipe.synth.clone().map(Job::Synth));
    let subset = recipe.subset.clone().map(Job::Subset);
    let inherits = recipe.subset.as_ref().and_then(|subset| subset.from.as_ref());
    if inherits.is_some() {
        jobs.extend(subset.clone());
    }
    if let Some(table) = &recipe.normalize {
        let written: Vec<String> = jobs.iter().flat_map(|job| job.writes(dir)).collect();
        for side in Side::BOTH {
            if written.iter().any(|file| file == side.vectors()) {
                jobs.push(Job::Normalize(side, table.clone()));
            }
        }
    }
    if inherits.is_none() {
        jobs.extend(subset);
    }
    jobs.extend(recipe.split.clone().map(Job::Split));
    jobs.extend(recipe.truth.clone().map(Job::Truth));
    jobs.extend(recipe.build.iter().map(|(store, table)| Job::Build(store.clone(), table.clone())));
    if let Some(table) = &recipe.calibrate {
        let job = |store| Job::Calibrate(store, table.clone());
        jobs.extend(recipe.calibrated_stores().into_iter().map(job));
    }
    jobs.extend(recipe.manifest.as_ref().map(|_| Job::Manifest));
    jobs.extend(recipe.validate.clone().map(Job::Validate));
    jobs
}

impl Job {
    /// The command that runs it.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Fetch(_) => "fetch",
            Self::Import(..) => "import",
            Self::Synth(_) => "synth",
            Self::Normalize(..) => "normalize",
            Self::Subset(_) => "subset",
            Self::Split(_) => "split",
            Self::Truth(_) => "truth",
            Self::Build(..) => "build",
            Self::Calibrate(..) => "calibrate",
            Self::Manifest => "manifest",
            Self::Validate(_) => "validate",
        }
    }

    /// The stage's name, unique in a recipe, as in `import.base` or `build.hnsw`.
    pub fn id(&self) -> String {
        let command = self.command();
        match self {
            Self::Import(side, _) | Self::Normalize(side, _) => {
                format!("{command}.{}", side.name())
            }
            Self::Build(store, _) | Self::Calibrate(store, _) => format!("{command}.{store}"),
            _ => command.to_owned(),
        }
    }

    /// Raised when the same inputs and parameters give other outputs than before.
    pub(crate) fn algorithm(&self) -> u32 {
        1
    }

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
            Self::Subset(table) => {
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

    /// What the job reads.
    pub(crate) fn reads(&self, recipe: &Recipe, dir: &Path) -> Vec<Input> {
        let own =
            |paths: &[&str]| paths.iter().map(|path| Input::Own((*path).to_owned())).collect();
        match self {
            Self::Import(_, table) => sources(&table.files, "", recipe, dir),
            Self::Fetch(_) | Self::Synth(_) => Vec::new(),
            Self::Normalize(side, NormalizeTable { zero: ZeroRule::Drop }) => {
                own(&[side.vectors(), side.table()])
            }
            Self::Normalize(side, _) => own(&[side.vectors()]),
            Self::Subset(table) => {
                let mut inputs: Vec<Input> = match &table.from {
                    Some(from) => {
                        let parent = dir.join(from);
                        let outside = |name: String| {
                            let path = parent.join(&name);
                            Input::Outside { name: format!("parent:{name}"), path }
                        };
                        self.writes(dir).into_iter().map(outside).collect()
                    }
                    None => own(&[Side::Base.vectors(), Side::Base.table()]),
                };
                inputs.extend(sources(&table.keep_relevant, "judgements", recipe, dir));
                inputs
            }
            Self::Split(_) => own(&[Side::Queries.vectors()]),
            Self::Truth(_) => own(&[Side::Base.vectors(), Side::Queries.vectors()]),
            Self::Build(..) => own(&[Side::Base.vectors()]),
            Self::Calibrate(store, _) => own(&[
                Side::Base.vectors(),
                Side::Queries.vectors(),
                TRUTH_IDS,
                TRUTH_SCORES,
                SPLITS,
                &index_dir(store),
            ]),
            Self::Manifest => {
                let mut files: Vec<String> = jobs(recipe, dir)
                    .iter()
                    .take_while(|job| **job != Self::Manifest)
                    .filter(|job| !job.outputs_may_go())
                    .flat_map(|job| job.writes(dir))
                    .collect();
                files.sort();
                files.dedup();
                files.into_iter().map(Input::Own).collect()
            }
            Self::Validate(_) => {
                let mut inputs = Self::Manifest.reads(recipe, dir);
                inputs.push(Input::Own(MANIFEST.to_owned()));
                let neighbors = recipe.validate.as_ref().and_then(|table| table.neighbors.clone());
                inputs.extend(sources(neighbors.as_slice(), "neighbors", recipe, dir));
                inputs
            }
        }
    }

    /// Whether the outputs are only raw material: they may be deleted to save space, and are made
    /// again when a stage needs them.
    pub(crate) fn outputs_may_go(&self) -> bool {
        matches!(self, Self::Fetch(_))
    }

    /// Files and directories that the job writes, relative to the dataset.
    pub(crate) fn writes(&self, dir: &Path) -> Vec<String> {
        let list = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        let both = |side: Side| [side.vectors(), side.table()];
        match self {
            Self::Fetch(_) => list(&[RAW]),
            Self::Import(side, _) => list(&both(*side)),
            Self::Synth(_) => list(&Side::BOTH.map(both).concat()),
            Self::Normalize(side, NormalizeTable { zero: ZeroRule::Drop }) => list(&both(*side)),
            Self::Normalize(side, _) => list(&[side.vectors()]),
            Self::Subset(SubsetTable { from: Some(from), .. }) => {
                let mut files: Vec<String> = list(&both(Side::Base));
                let optional = [Side::Queries.vectors(), Side::Queries.table(), SPLITS];
                let there = |name: &&str| dir.join(from).join(name).exists();
                files.extend(optional.into_iter().filter(there).map(str::to_owned));
                files
            }
            Self::Subset(_) => list(&both(Side::Base)),
            Self::Split(_) => list(&[SPLITS]),
            Self::Truth(_) => list(&[TRUTH_IDS, TRUTH_SCORES]),
            Self::Build(store, _) => vec![index_dir(store)],
            Self::Calibrate(store, _) => vec![calibration_file(store)],
            Self::Manifest => list(&[MANIFEST]),
            Self::Validate(_) => Vec::new(),
        }
    }
}

/// Files that a job reads from outside the dataset, numbered so that their order is kept, and the
/// directory of fetched files if any of them is one.
fn sources(files: &[PathBuf], what: &str, recipe: &Recipe, dir: &Path) -> Vec<Input> {
    let (fetched, files): (Vec<_>, Vec<_>) = files.iter().partition(|path| recipe.is_fetched(path));
    let outside = |(i, path): (usize, &PathBuf)| Input::Outside {
        name: format!("{what}{i:08}:{}", file_name(path)),
        path: dir.join(path),
    };
    let own = (!fetched.is_empty()).then(|| Input::Own(RAW.to_owned()));
    own.into_iter().chain(files.into_iter().enumerate().map(outside)).collect()
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
    if let Some(neighbors) = recipe.validate.as_mut().and_then(|table| table.neighbors.as_mut()) {
        strip(neighbors);
    }
    if let Some(subset) = &mut recipe.subset {
        subset.from.iter_mut().chain(&mut subset.keep_relevant).for_each(strip);
    }
    recipe
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Checks a name that `--until` was given.
///
/// # Errors
///
/// If no stage has it; the error lists them.
pub fn check_stage(name: &str) -> Result<(), PipelineError> {
    if STAGES.contains(&name) {
        return Ok(());
    }
    Err(PipelineError::Usage(format!("unknown stage `{name}`; stages are {}", STAGES.join(", "))))
}
