//! The stages of a recipe as jobs: what each reads, writes and depends on.

mod parameters;
mod reads;

pub(crate) use parameters::portable;

use crate::PipelineError;
use crate::dataset::{
    MANIFEST, SPLITS, Side, TRUTH_IDS, TRUTH_SCORES, TRUTH_STATS, calibration_file, index_dir,
};
use std::path::{Path, PathBuf};
use vprep_manifest::{
    BuildTable, CalibrateTable, EmbedTable, FetchTable, ImportTable, NormalizeTable, RAW, Recipe,
    SplitTable, SubsetTable, SynthTable, TextsTable, TruthTable, ValidateTable, ZeroRule,
};

/// One stage with its table.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// Fetch public data.
    Fetch(FetchTable),
    /// Read vectors from files.
    Import(Side, ImportTable),
    /// Read texts from files.
    Texts(Side, TextsTable),
    /// Turn texts into vectors.
    Embed(Side, Box<EmbedTable>),
    /// Make up vectors.
    Synth(SynthTable),
    /// Bring vectors to unit length.
    Normalize(Side, NormalizeTable),
    /// Draw a part of the base.
    Subset(SubsetTable),
    /// Draw a part of the base while it is only texts.
    SubsetTexts(SubsetTable),
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
pub const STAGES: [&str; 12] = [
    "fetch",
    "import",
    "embed",
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
    let mut subset = recipe.subset.clone().map(Job::Subset);
    if recipe.subset.as_ref().is_some_and(|subset| subset.from.is_some()) {
        jobs.extend(subset.take());
    }
    if let Some(embed) = &recipe.embed {
        let sides = Side::BOTH.into_iter().zip([&embed.base, &embed.queries]);
        let sides: Vec<_> =
            sides.filter_map(|(side, texts)| Some((side, texts.clone()?))).collect();
        jobs.extend(sides.iter().map(|(side, texts)| Job::Texts(*side, texts.clone())));
        if embed.base.is_some() {
            // What is not kept need not be embedded.
            subset = None;
            jobs.extend(recipe.subset.clone().map(Job::SubsetTexts));
        }
        jobs.extend(sides.iter().map(|(side, _)| Job::Embed(*side, Box::new(embed.clone()))));
    }
    jobs.extend(recipe.synth.clone().map(Job::Synth));
    if let Some(table) = &recipe.normalize {
        let written: Vec<String> = jobs.iter().flat_map(|job| job.writes(dir)).collect();
        for side in Side::BOTH {
            if written.iter().any(|file| file == side.vectors()) {
                jobs.push(Job::Normalize(side, table.clone()));
            }
        }
    }
    jobs.extend(subset);
    jobs.extend(recipe.split.clone().map(Job::Split));
    jobs.extend(recipe.truth.clone().map(Job::Truth));
    jobs.extend(recipe.build.iter().map(|(store, table)| Job::Build(store.clone(), table.clone())));
    jobs.extend(recipe.calibrated_stores().into_iter().filter_map(|store| {
        let table = recipe.calibration_of(&store)?;
        Some(Job::Calibrate(store, table))
    }));
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
            Self::Texts(..) | Self::Embed(..) => "embed",
            Self::Synth(_) => "synth",
            Self::Normalize(..) => "normalize",
            Self::Subset(_) | Self::SubsetTexts(_) => "subset",
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
            Self::Import(side, _) | Self::Embed(side, _) | Self::Normalize(side, _) => {
                format!("{command}.{}", side.name())
            }
            Self::Texts(side, _) => format!("texts.{}", side.name()),
            Self::Build(store, _) | Self::Calibrate(store, _) => format!("{command}.{store}"),
            _ => command.to_owned(),
        }
    }

    /// Raised when the same inputs and parameters give other outputs than before.
    pub(crate) fn algorithm(&self) -> u32 {
        match self {
            Self::Truth(_) | Self::Build(..) | Self::Calibrate(..) => 2,
            _ => 1,
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
            Self::Texts(side, _) => list(&[side.table()]),
            Self::Embed(side, _) => list(&[side.vectors()]),
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
            Self::SubsetTexts(_) => list(&[Side::Base.table()]),
            Self::Split(_) => list(&[SPLITS]),
            Self::Truth(_) => list(&[TRUTH_IDS, TRUTH_SCORES, TRUTH_STATS]),
            Self::Build(store, _) => vec![index_dir(store)],
            Self::Calibrate(store, _) => vec![calibration_file(store)],
            Self::Manifest => list(&[MANIFEST]),
            Self::Validate(_) => Vec::new(),
        }
    }
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
