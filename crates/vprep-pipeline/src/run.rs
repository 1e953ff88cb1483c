//! Running stages: one at a time by command, or all of a recipe.

use crate::dataset::{self, DATASET_TOML, Side, read_dataset};
use crate::job::{Input, Job};
use crate::plan::{Digests, Reason, last_writer, own_inputs, plan_with};
use crate::record::{self, Record};
use crate::stages::{self, Outcome};
use crate::{Context, PipelineError};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};
use vprep_core::Metric;
use vprep_data::{Content, DataError, MappedNpy, Transaction, Workdir};
use vprep_manifest::{Recipe, StageRun, canonical_json};

/// A dataset that this process alone writes to.
pub struct Dataset<'a> {
    dir: PathBuf,
    workdir: Workdir,
    recipe: Recipe,
    context: &'a Context<'a>,
}

/// What came of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The stage.
    pub stage: String,
    /// Whether it ran now, or was up to date.
    pub ran: bool,
    /// What it found out, one line.
    pub summary: String,
    /// Seconds it took now.
    pub seconds: f64,
}

/// What a stage works with.
pub(crate) struct Stage<'a> {
    /// The dataset directory.
    pub(crate) dir: &'a Path,
    /// The dataset's recipe, paths relative to `dir`.
    pub(crate) recipe: &'a Recipe,
    /// Where outputs go.
    pub(crate) outputs: Outputs<'a>,
    /// Digests of the inputs by name.
    pub(crate) inputs: &'a BTreeMap<String, Content>,
    /// Progress, interruption and the tool's version.
    pub(crate) context: &'a Context<'a>,
}

/// The outputs of a stage, published together with its record.
pub(crate) struct Outputs<'a> {
    transaction: Transaction<'a>,
    contents: BTreeMap<String, Content>,
    dirs: BTreeMap<String, PathBuf>,
}

impl Outputs<'_> {
    /// Starts a file; hand its digest to [`Outputs::add`].
    pub(crate) fn create(&mut self, file: &str) -> Result<vprep_data::StagedFile, DataError> {
        self.transaction.create(file)
    }

    /// Starts a directory and returns where to fill it.
    pub(crate) fn create_dir(&mut self, name: &str) -> Result<PathBuf, DataError> {
        let path = self.transaction.create_dir(name)?;
        self.dirs.insert(name.to_owned(), path.clone());
        Ok(path)
    }

    /// Notes the digest of a finished file.
    pub(crate) fn add(&mut self, file: &str, content: Content) {
        self.contents.insert(file.to_owned(), content);
    }

    /// Writes a whole small file.
    pub(crate) fn write(&mut self, file: &str, text: &str) -> Result<Content, DataError> {
        let mut staged = self.create(file)?;
        staged.write_all(text.as_bytes()).map_err(DataError::io("write", staged.path()))?;
        let content = staged.finish()?;
        self.add(file, content.clone());
        Ok(content)
    }
}

impl<'a> Dataset<'a> {
    /// Opens the dataset at `dir` for writing.
    ///
    /// # Errors
    ///
    /// If there is none, or another process writes to it.
    pub fn open(dir: &Path, context: &'a Context<'a>) -> Result<Self, PipelineError> {
        let recipe = read_dataset(dir)?;
        let workdir = Workdir::lock(dir)?;
        Ok(Self { dir: dir.to_owned(), workdir, recipe, context })
    }

    /// Opens the dataset at `dir`, or starts one with `metric`, which is cosine unless told. The
    /// directory appears with the first stage that succeeds.
    ///
    /// # Errors
    ///
    /// If there is a dataset of another metric, or another process writes to it.
    pub fn open_or_create(
        dir: &Path,
        metric: Option<Metric>,
        context: &'a Context<'a>,
    ) -> Result<Self, PipelineError> {
        if dir.join(DATASET_TOML).exists() {
            let dataset = Self::open(dir, context)?;
            let found = dataset.recipe.metric;
            return match metric {
                Some(wanted) if wanted != found => {
                    Err(PipelineError::OtherMetric { path: dir.to_owned(), found, wanted })
                }
                _ => Ok(dataset),
            };
        }
        let recipe = Recipe::new(dataset::name_from(dir)?, metric.unwrap_or(Metric::Cosine));
        let workdir = Workdir::lock(dir)?;
        Ok(Self { dir: dir.to_owned(), workdir, recipe, context })
    }

    /// Opens the dataset that a recipe makes, at `dir`. `recipe_dir` is what the recipe's paths
    /// are relative to.
    ///
    /// # Errors
    ///
    /// If the directory holds another dataset, another process writes to it, or a source file is
    /// missing.
    pub fn for_recipe(
        recipe: &Recipe,
        recipe_dir: &Path,
        dir: &Path,
        context: &'a Context<'a>,
    ) -> Result<Self, PipelineError> {
        let recipe = resolve(recipe, recipe_dir, dir)?;
        let workdir = Workdir::lock(dir)?;
        Ok(Self { dir: dir.to_owned(), workdir, recipe, context })
    }

    /// The dataset's recipe, paths relative to its directory.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The dataset's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Changes the recipe, as a stage's command does before it runs the stage.
    ///
    /// # Errors
    ///
    /// If the recipe would not be legal.
    pub fn edit(&mut self, change: impl FnOnce(&mut Recipe)) -> Result<(), PipelineError> {
        let mut recipe = self.recipe.clone();
        change(&mut recipe);
        recipe.check().map_err(|error| PipelineError::Usage(error.to_string()))?;
        self.recipe = stages::build::resolve(recipe)?;
        Ok(())
    }

    /// Runs the stages of one command, those of its jobs that are stale. Every input must be what
    /// its own stage makes today.
    ///
    /// # Errors
    ///
    /// If an input is missing or stale, or the stage fails.
    pub fn run_command(
        &mut self,
        wanted: impl Fn(&Job) -> bool,
    ) -> Result<Vec<Done>, PipelineError> {
        let context = self.context;
        let dir = self.dir.clone();
        let mut digests = Digests::new(&dir, context);
        let mut done = Vec::new();
        let count = plan_with(&self.recipe, &dir, &mut digests)?.steps.len();
        for i in 0..count {
            let plan = plan_with(&self.recipe, &dir, &mut digests)?;
            let step = &plan.steps[i];
            if !wanted(&step.job) {
                continue;
            }
            let before: Vec<Job> = plan.steps[..i].iter().map(|step| step.job.clone()).collect();
            for file in own_inputs(&self.recipe, &dir, &step.job) {
                let reason = last_writer(&dir, &before, &file)
                    .and_then(|writer| plan.steps[writer].stale.clone().map(|r| (writer, r)));
                match reason {
                    _ if !dir.join(&file).exists() => return Err(missing(&dir, &file)),
                    // Nothing says that the file is not what it should be.
                    None | Some((_, Reason::NeverRun)) => {}
                    Some((writer, reason)) => {
                        return Err(PipelineError::StaleInput {
                            path: dir.join(&file),
                            stage: plan.steps[writer].job.id(),
                            reason: reason.to_string(),
                            dataset_toml: dir.join(DATASET_TOML),
                        });
                    }
                }
            }
            done.push(match &step.stale {
                None => Done {
                    stage: step.job.id(),
                    ran: false,
                    summary: step.summary.clone().unwrap_or_default(),
                    seconds: 0.0,
                },
                Some(_) => self.execute(&step.job, &mut digests)?,
            });
        }
        Ok(done)
    }

    /// Runs every stale stage of the recipe in order, up to and with those of the command `until`.
    /// `report` hears of each stage as it ends or is found up to date.
    ///
    /// # Errors
    ///
    /// If a stage fails; those before it stand.
    pub fn run_all(
        &mut self,
        until: Option<&str>,
        mut report: impl FnMut(&Done),
    ) -> Result<(), PipelineError> {
        let context = self.context;
        let dir = self.dir.clone();
        let mut digests = Digests::new(&dir, context);
        let mut ran: Vec<String> = Vec::new();
        let mut next = 0;
        loop {
            let plan = plan_with(&self.recipe, &dir, &mut digests)?;
            let within = until.map_or(plan.steps.len(), |until| {
                plan.steps.iter().rposition(|step| step.job.command() == until).map_or_else(
                    || plan.steps.iter().take_while(|s| before(&s.job, until)).count(),
                    |last| last + 1,
                )
            });
            let first = plan.steps[..within].iter().position(|step| step.stale.is_some());
            for step in &plan.steps[next.min(within)..first.unwrap_or(within)] {
                if !ran.contains(&step.job.id()) {
                    let summary = step.summary.clone().unwrap_or_default();
                    report(&Done { stage: step.job.id(), ran: false, summary, seconds: 0.0 });
                }
            }
            let Some(first) = first else { break };
            next = next.max(first);
            let done = self.execute(&plan.steps[first].job, &mut digests)?;
            report(&done);
            ran.push(done.stage);
        }
        self.save_recipe()
    }

    /// Runs a job and publishes its outputs, its record and the recipe together.
    fn execute(&mut self, job: &Job, digests: &mut Digests<'_>) -> Result<Done, PipelineError> {
        self.context.progress.check()?;
        let started = SystemTime::now();
        let clock = Instant::now();
        let mut inputs = BTreeMap::new();
        for input in job.reads(&self.recipe, &self.dir) {
            let (name, found) = match input {
                Input::Own(file) => {
                    let found = digests.own(&file)?;
                    if found.is_none() {
                        return Err(missing(&self.dir, &file));
                    }
                    (file, found)
                }
                Input::Outside { name, path } => {
                    let found = digests.at(path.clone())?;
                    if found.is_none() {
                        let source = std::io::ErrorKind::NotFound.into();
                        return Err(DataError::io("read", tidy(&path))(source).into());
                    }
                    (name, found)
                }
            };
            inputs.extend(found.map(|content| (name, content)));
        }
        let mut recipe = self.recipe.clone();
        let before = recipe.clone();
        let mut stage = Stage {
            dir: &self.dir,
            recipe: &before,
            outputs: Outputs {
                transaction: self.workdir.begin()?,
                contents: BTreeMap::new(),
                dirs: BTreeMap::new(),
            },
            inputs: &inputs,
            context: self.context,
        };
        let outcome: Outcome = stages::run(job, &mut stage)?;
        let Outputs { transaction, mut contents, dirs } = stage.outputs;
        for (name, path) in dirs {
            contents.insert(name, vprep_data::content(&path, self.context.progress)?);
        }
        recipe.dim = recipe.dim.or(outcome.dim);
        let seconds = clock.elapsed().as_secs_f64();
        let record = Record {
            algorithm: job.algorithm(),
            parameters: job.parameters(&recipe),
            inputs: inputs.clone(),
            outputs: contents,
            facts: outcome.facts,
            summary: outcome.summary,
            run: StageRun {
                started: humantime::format_rfc3339_seconds(started).to_string(),
                seconds,
                threads: rayon::current_num_threads() as u32,
                version: self.context.tool.version.clone(),
            },
        };
        let mut outputs = Outputs { transaction, contents: BTreeMap::new(), dirs: BTreeMap::new() };
        outputs.write(&record::path(&job.id()), &canonical_json(&record))?;
        outputs.write(DATASET_TOML, &recipe.to_toml())?;
        self.context.progress.check()?;
        outputs.transaction.commit()?;
        digests.written(&record.outputs);
        self.recipe = recipe;
        Ok(Done { stage: job.id(), ran: true, summary: record.summary, seconds })
    }

    /// Writes `dataset.toml` if it says something else.
    fn save_recipe(&mut self) -> Result<(), PipelineError> {
        if self.recipe.dim.is_none() {
            // A recipe need not state the dimension; the dataset does.
            let base = MappedNpy::<f32>::open(&self.dir.join(Side::Base.vectors()))?;
            self.recipe.dim = Some(base.cols() as u32);
        }
        let text = self.recipe.to_toml();
        let path = self.dir.join(DATASET_TOML);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        let transaction = self.workdir.begin()?;
        let mut outputs = Outputs { transaction, contents: BTreeMap::new(), dirs: BTreeMap::new() };
        outputs.write(DATASET_TOML, &text)?;
        Ok(outputs.transaction.commit()?)
    }
}

/// Whether a job comes before the stages of the command `until`.
fn before(job: &Job, until: &str) -> bool {
    let place = |name: &str| crate::job::STAGES.iter().position(|stage| *stage == name);
    place(job.command()) < place(until)
}

fn missing(dir: &Path, file: &str) -> PipelineError {
    use crate::dataset::{TRUTH_IDS, TRUTH_SCORES};
    let command = match file {
        _ if file == Side::Base.vectors() || file == Side::Base.table() => "import --role base",
        _ if file == Side::Queries.vectors() || file == Side::Queries.table() => {
            "import --role queries"
        }
        dataset::SPLITS => "split",
        TRUTH_IDS | TRUTH_SCORES => "truth",
        dataset::MANIFEST => "manifest",
        _ if file.starts_with("indexes/") => "build --store",
        _ => "run",
    };
    PipelineError::MissingInput { path: dir.join(file), command }
}

/// A recipe with its patterns expanded, its paths relative to the dataset, and its build
/// parameters filled in.
///
/// # Errors
///
/// If `dir` holds another dataset, a pattern matches nothing, or a store or a parameter is not
/// known.
pub fn resolve(recipe: &Recipe, recipe_dir: &Path, dir: &Path) -> Result<Recipe, PipelineError> {
    let mut recipe = recipe.clone();
    if dir.join(DATASET_TOML).exists() {
        let found = read_dataset(dir)?.name;
        if found != recipe.name {
            let (path, wanted) = (dir.to_owned(), recipe.name);
            return Err(PipelineError::OtherDataset { path, found, wanted });
        }
    }
    if let Some(import) = &mut recipe.import {
        for table in [&mut import.base, &mut import.queries].into_iter().flatten() {
            let files = vprep_data::read::expand(&table.files, recipe_dir)?;
            table.files = files.iter().map(|file| relative(file, dir)).collect::<Result<_, _>>()?;
        }
    }
    if let Some(from) = recipe.subset.as_mut().and_then(|subset| subset.from.as_mut()) {
        *from = relative(&recipe_dir.join(&from), dir)?;
    }
    stages::build::resolve(recipe)
}

/// Source files named on the command line, in numeric order and relative to the dataset.
///
/// # Errors
///
/// If one is missing, or a pattern matches nothing.
pub fn source_files(files: &[PathBuf], dir: &Path) -> Result<Vec<PathBuf>, PipelineError> {
    let files = vprep_data::read::expand(files, Path::new(""))?;
    files.iter().map(|file| relative(file, dir)).collect()
}

/// `path`, as seen from `dir`.
///
/// # Errors
///
/// If the current directory cannot be told.
pub fn relative(path: &Path, dir: &Path) -> Result<PathBuf, PipelineError> {
    let absolute = |path: &Path| std::path::absolute(path).map_err(PipelineError::read(path));
    let (path, dir) = (normal(&absolute(path)?), normal(&absolute(dir)?));
    Ok(pathdiff::diff_paths(&path, dir).unwrap_or(path))
}

/// An absolute path without `.` and `..`, so far as that can be told from the text.
fn normal(path: &Path) -> PathBuf {
    use std::path::Component;
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
        path
    })
}

/// A path for people: `datasets/x/../y` as `datasets/y`.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    if path.is_absolute() {
        return normal(path);
    }
    let here = std::env::current_dir().unwrap_or_default();
    relative(&here.join(path), &here).unwrap_or_else(|_| path.to_owned())
}
