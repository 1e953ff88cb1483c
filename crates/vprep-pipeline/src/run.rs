//! Running stages: one at a time by command, or all of a recipe.

use crate::dataset::{self, DATASET_TOML, Side, read_dataset};
use crate::job::{Input, Job, STAGES, jobs};
use crate::paths::tidy;
use crate::plan::{Digests, Plan, Reason, Sources, Step, last_writer, own_inputs, plan_with};
use crate::record::{self, Record};
use crate::resolve::resolve;
use crate::stages::{self, Outcome};
use crate::{Context, PipelineError, stores};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Done {
    /// The stage.
    pub stage: String,
    /// Whether it ran now, or was up to date.
    pub ran: bool,
    /// What it found out, one line.
    pub summary: String,
    /// Seconds it took now.
    pub seconds: f64,
    /// What it found out, in its own type.
    #[serde(skip)]
    pub facts: Value,
}

impl Step {
    /// A stage that is up to date.
    fn as_done(&self) -> Done {
        let summary = self.summary.clone().unwrap_or_default();
        Done { stage: self.job.id(), ran: false, summary, seconds: 0.0, facts: Value::Null }
    }
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

    /// Notes the digest of a finished file, or of a directory whose digest is known.
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
        if !is_dataset(dir) {
            return Err(PipelineError::NoDataset { path: dir.to_owned() });
        }
        // The lock comes first: it finishes what a dead writer had decided, dataset.toml included.
        let workdir = Workdir::lock(dir)?;
        let recipe = read_dataset(dir)?;
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
        if is_dataset(dir) {
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
    /// If the recipe lacks something, the directory holds another dataset, another process writes
    /// to it, or a source file is missing.
    pub fn for_recipe(
        recipe: &Recipe,
        recipe_dir: &Path,
        dir: &Path,
        context: &'a Context<'a>,
    ) -> Result<Self, PipelineError> {
        // What can be refused is refused before anything is made; what the lock recovers may
        // change the dataset that is there, so it is compared again.
        resolve(recipe, recipe_dir, dir)?;
        let workdir = Workdir::lock(dir)?;
        let recipe = resolve(recipe, recipe_dir, dir)?;
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
    /// its own stage makes today; one that a later stage has replaced is made again first.
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
        let ids: Vec<String> =
            jobs(&self.recipe, &dir).iter().filter(|job| wanted(job)).map(Job::id).collect();
        let mut done = Vec::new();
        for id in ids {
            self.bring_up(&id, &wanted, &mut digests, &mut done)?;
        }
        Ok(done)
    }

    /// Runs a stage if it is stale, after the stages whose outputs it needs again.
    fn bring_up(
        &mut self,
        id: &str,
        wanted: &dyn Fn(&Job) -> bool,
        digests: &mut Digests<'_>,
        done: &mut Vec<Done>,
    ) -> Result<(), PipelineError> {
        loop {
            let plan = plan_with(&self.recipe, &self.dir, Sources::Of(wanted), digests)?;
            let place = plan.steps.iter().position(|step| step.job.id() == id);
            let place = place.expect("the recipe has the stage; this is a bug");
            let step = &plan.steps[place];
            let Some(again) = self.replaced_input(&plan, place)? else {
                done.push(match &step.stale {
                    None => step.as_done(),
                    Some(_) => self.execute(&step.job, true, digests)?,
                });
                return Ok(());
            };
            if done.iter().any(|done| done.ran && done.stage == again) {
                unreachable!("{again} ran, and {id} still needs it; this is a bug");
            }
            self.bring_up(&again, wanted, digests, done)?;
        }
    }

    /// A stage before `place` whose output has been replaced and must be made again for it.
    fn replaced_input(&self, plan: &Plan, place: usize) -> Result<Option<String>, PipelineError> {
        let dir = &self.dir;
        let jobs: Vec<Job> = plan.steps.iter().map(|step| step.job.clone()).collect();
        for file in own_inputs(&self.recipe, dir, &jobs[place]) {
            if !dir.join(&file).exists() {
                return Err(missing(dir, &file));
            }
            let Some(writer) = last_writer(dir, &jobs[..place], &file) else { continue };
            match &plan.steps[writer].stale {
                // Nothing says that the file is not what it should be.
                None | Some(Reason::NeverRun) => {}
                Some(_) if plan.steps[place].stale.is_none() => {}
                Some(Reason::Replaced { .. }) => return Ok(Some(jobs[writer].id())),
                Some(reason) => {
                    return Err(PipelineError::StaleInput {
                        path: dir.join(&file),
                        stage: jobs[writer].id(),
                        reason: reason.to_string(),
                        dataset_toml: dir.join(DATASET_TOML),
                    });
                }
            }
        }
        Ok(None)
    }

    /// Runs a stage without keeping anything of it, on inputs as [`Dataset::run_command`] wants
    /// them, and returns what it found out.
    ///
    /// # Errors
    ///
    /// If an input is missing or stale, or the stage fails.
    pub fn try_out(&mut self, id: &str) -> Result<Done, PipelineError> {
        let context = self.context;
        let dir = self.dir.clone();
        let mut digests = Digests::new(&dir, context);
        let plan = plan_with(&self.recipe, &dir, Sources::Of(&|_| false), &mut digests)?;
        let place = plan.steps.iter().position(|step| step.job.id() == id);
        let place = place.expect("the recipe has the stage; this is a bug");
        if let Some(stage) = self.replaced_input(&plan, place)? {
            return Err(PipelineError::StaleInput {
                path: dir.clone(),
                stage,
                reason: "its output was replaced".to_owned(),
                dataset_toml: dir.join(DATASET_TOML),
            });
        }
        self.execute(&plan.steps[place].job, false, &mut digests)
    }

    /// Runs every stale stage of the recipe in order, up to and with those of the command `until`.
    /// `report` hears of each stage as it ends or is found up to date. What earlier recipes left
    /// of vprep's own files, and no stage of this one makes, is removed and returned.
    ///
    /// # Errors
    ///
    /// If a stage fails; those before it stand.
    pub fn run_all(
        &mut self,
        until: Option<&str>,
        mut report: impl FnMut(&Done),
    ) -> Result<Vec<String>, PipelineError> {
        let context = self.context;
        let dir = self.dir.clone();
        let mut digests = Digests::new(&dir, context);
        let (mut ran, mut ended): (Vec<String>, Vec<String>) = Default::default();
        loop {
            let plan = plan_with(&self.recipe, &dir, Sources::All, &mut digests)?;
            let within = until.map_or(plan.steps.len(), |until| {
                // A subset of another dataset comes before stages that a recipe names first.
                let last = plan.steps.iter().rposition(|step| step.job.command() == until);
                let earlier = plan.steps.iter().take_while(|step| !comes_after(&step.job, until));
                last.map_or_else(|| earlier.count(), |last| last + 1)
            });
            let steps = &plan.steps[..within];
            // A device or a store that is missing is told before hours of other stages.
            for step in steps.iter().filter(|step| step.stale.is_some()) {
                match &step.job {
                    Job::Embed(_, table) => stages::model::check_device(table.device)?,
                    Job::Build(store, _) | Job::Calibrate(store, _) => {
                        stores::find(store)?.version()?;
                    }
                    _ => {}
                }
            }
            let first = steps.iter().position(|step| step.stale.is_some());
            for step in &steps[..first.unwrap_or(within)] {
                if !ended.contains(&step.job.id()) {
                    report(&step.as_done());
                    ended.push(step.job.id());
                }
            }
            let Some(first) = first else { break };
            let done = self.execute(&plan.steps[first].job, true, &mut digests)?;
            if ran.contains(&done.stage) {
                unreachable!("{} ran and is stale again; this is a bug", done.stage);
            }
            report(&done);
            ran.push(done.stage.clone());
            ended.push(done.stage);
        }
        self.settle()
    }

    /// Runs a job and, if they are to be kept, publishes its outputs, its record and the recipe
    /// together.
    fn execute(
        &mut self,
        job: &Job,
        keep: bool,
        digests: &mut Digests<'_>,
    ) -> Result<Done, PipelineError> {
        self.context.progress.check()?;
        let started = SystemTime::now();
        let clock = Instant::now();
        let mut inputs = BTreeMap::new();
        let mut outside = Vec::new();
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
                    outside.push(path);
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
        if let Some(path) = outside.into_iter().find(|path| !digests.is_unchanged(path)) {
            return Err(PipelineError::SourceChanged { path: tidy(&path) });
        }
        if let (Some(expected), Some(found)) = (recipe.dim, outcome.dim)
            && expected != found
        {
            let (path, found) = (self.dir.join(DATASET_TOML), found as usize);
            return Err(PipelineError::StatedDimension { path, found, expected });
        }
        if !keep {
            let (stage, summary, facts) = (job.id(), outcome.summary, outcome.facts);
            let seconds = clock.elapsed().as_secs_f64();
            return Ok(Done { stage, ran: true, summary, seconds, facts });
        }
        let Outputs { transaction, mut contents, dirs } = stage.outputs;
        for (name, path) in dirs {
            if let Entry::Vacant(unknown) = contents.entry(name) {
                unknown.insert(vprep_data::content(&path, self.context.progress)?);
            }
        }
        recipe.dim = match recipe.dim.or(outcome.dim) {
            Some(dim) => Some(dim),
            None => self.dim_of_base()?,
        };
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
        stages::clear(job, &self.dir)?;
        self.recipe = recipe;
        let (summary, facts) = (record.summary, record.facts);
        Ok(Done { stage: job.id(), ran: true, summary, seconds, facts })
    }

    /// The dimension of the base that is there. A recipe need not state it; the dataset does.
    fn dim_of_base(&self) -> Result<Option<u32>, PipelineError> {
        let base = self.dir.join(Side::Base.vectors());
        let dim = || Ok(MappedNpy::<f32>::open(&base)?.cols() as u32);
        base.exists().then(dim).transpose()
    }

    /// Makes the directory what the recipe says: writes `dataset.toml` if it says something else,
    /// and removes outputs that no stage of the recipe makes, which belong to other data.
    fn settle(&mut self) -> Result<Vec<String>, PipelineError> {
        let Some(dim) = self.dim_of_base()? else {
            // Nothing was made, so nothing is to be said of it.
            return Ok(Vec::new());
        };
        self.recipe.dim.get_or_insert(dim);
        let written: Vec<String> =
            jobs(&self.recipe, &self.dir).iter().flat_map(|job| job.writes(&self.dir)).collect();
        let left: Vec<String> = dataset::outputs_in(&self.dir)?
            .into_iter()
            .filter(|output| !written.contains(output))
            .collect();
        let text = self.recipe.to_toml();
        let path = self.dir.join(DATASET_TOML);
        let same = fs::read_to_string(&path).is_ok_and(|old| old == text);
        if same && left.is_empty() {
            return Ok(left);
        }
        let transaction = self.workdir.begin()?;
        let mut outputs = Outputs { transaction, contents: BTreeMap::new(), dirs: BTreeMap::new() };
        outputs.write(DATASET_TOML, &text)?;
        left.iter().for_each(|output| outputs.transaction.remove(output));
        outputs.transaction.commit()?;
        Ok(left)
    }
}

/// Whether there is a dataset at `dir`, be it one that a dead writer had decided on.
fn is_dataset(dir: &Path) -> bool {
    dir.join(DATASET_TOML).exists() || Workdir::is_unfinished(dir)
}

/// Whether a job comes after the stages of the command `until`.
fn comes_after(job: &Job, until: &str) -> bool {
    let place = |name: &str| STAGES.iter().position(|stage| *stage == name);
    place(job.command()) > place(until)
}

fn missing(dir: &Path, file: &str) -> PipelineError {
    use crate::dataset::{TRUTH_IDS, TRUTH_SCORES, TRUTH_STATS};
    let command = match file {
        _ if file == Side::Base.vectors() || file == Side::Base.table() => "import --role base",
        _ if file == Side::Queries.vectors() || file == Side::Queries.table() => {
            "import --role queries"
        }
        dataset::SPLITS => "split",
        TRUTH_IDS | TRUTH_SCORES | TRUTH_STATS => "truth",
        dataset::MANIFEST => "manifest",
        _ if file.starts_with("indexes/") => "build --store",
        _ if file.starts_with("calibration/") => "calibrate --target",
        _ => "run",
    };
    PipelineError::MissingInput { path: dir.join(file), command }
}
