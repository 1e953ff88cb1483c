//! Which stages are up to date, which are stale, and why.
//!
//! Several stages write the same file (`import`, `normalize` and `subset` all write the base), so
//! a file has a version after each of them. The records of finished stages chain these versions
//! by digest: a stage is up to date if its record matches its parameters, if the versions it read
//! are those that the stages before it wrote, and if the last version of each file is the one on
//! disk. A stage that must run needs its inputs in the version before it; where that version has
//! been replaced since, the stage that wrote it must run again too.

use crate::job::{Input, Job, jobs};
use crate::record::{self, Record};
use crate::{Context, PipelineError, stages, stores};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use vprep_data::{Content, DataError, content};
use vprep_manifest::Recipe;

/// The stages of a recipe and the state of each.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In the order in which they run.
    pub steps: Vec<Step>,
}

/// One stage and its state.
#[derive(Clone, Debug)]
pub struct Step {
    /// The stage.
    pub job: Job,
    /// Why it must run; none if it is up to date.
    pub stale: Option<Reason>,
    /// What it found out when it last ran, if it ever did.
    pub summary: Option<String>,
}

/// Why a stage must run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no record of it.
    NeverRun,
    /// vprep computes it differently today.
    Algorithm,
    /// A parameter is another one.
    Parameters,
    /// An input is not the one it read.
    Input(String),
    /// An output is missing.
    OutputMissing(String),
    /// An output is not as it was written.
    OutputChanged(String),
    /// A server does not hold the index any more, or another one in its place.
    IndexLost,
    /// A later stage has replaced the output and needs it again.
    Replaced {
        /// The output.
        file: String,
        /// The stage that needs it.
        by: String,
    },
    /// A stage before it must run.
    Upstream(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverRun => write!(f, "not made yet"),
            Self::Algorithm => write!(f, "made by another version of the stage"),
            Self::Parameters => write!(f, "parameters changed"),
            Self::Input(name) => write!(f, "{name} is not the one it was made from"),
            Self::OutputMissing(name) => write!(f, "{name} is missing"),
            Self::OutputChanged(name) => write!(f, "{name} is not as it was written"),
            Self::IndexLost => write!(f, "the server does not hold it any more"),
            Self::Replaced { file, by } => write!(f, "{by} needs {file} as it was written here"),
            Self::Upstream(stage) => write!(f, "{stage} runs before it"),
        }
    }
}

/// Digests of files as they are on disk, each read once.
pub(crate) struct Digests<'a> {
    dir: &'a Path,
    context: &'a Context<'a>,
    known: HashMap<PathBuf, Option<(Content, Stamp)>>,
}

/// What changes when a file is written: a cheap way to see that it was while it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(path: &Path) -> Self {
        let metadata = fs::metadata(path).ok();
        let bytes = metadata.as_ref().map_or(0, fs::Metadata::len);
        Self { bytes, modified: metadata.and_then(|metadata| metadata.modified().ok()) }
    }
}

impl Sources<'_> {
    /// Whether a file that no record speaks of counts as what its stage makes: for a command,
    /// which works on the files that are there, but not for a recipe, which makes them.
    fn trusts_what_is_there(self) -> bool {
        matches!(self, Self::Of(_))
    }
}

/// Whose source files a plan compares with what was read of them.
#[derive(Clone, Copy)]
pub(crate) enum Sources<'a> {
    /// Those of every import.
    All,
    /// Those of some jobs; the others are taken for unchanged. A command looks at its own only.
    Of(&'a dyn Fn(&Job) -> bool),
}

impl<'a> Digests<'a> {
    pub(crate) fn new(dir: &'a Path, context: &'a Context<'a>) -> Self {
        Self { dir, context, known: HashMap::new() }
    }

    /// The digest of a file or directory of the dataset; none if it is not there.
    pub(crate) fn own(&mut self, name: &str) -> Result<Option<Content>, DataError> {
        self.at(self.dir.join(name))
    }

    pub(crate) fn at(&mut self, path: PathBuf) -> Result<Option<Content>, DataError> {
        if let Some(known) = self.known.get(&path) {
            return Ok(known.as_ref().map(|known| known.0.clone()));
        }
        let found = if path.exists() {
            // Taken before the file is read, so that a change meanwhile shows.
            let stamp = Stamp::of(&path);
            Some((content(&path, self.context.progress)?, stamp))
        } else {
            None
        };
        let result = found.as_ref().map(|found| found.0.clone());
        self.known.insert(path, found);
        Ok(result)
    }

    /// Whether a file is still the one whose digest was taken.
    pub(crate) fn is_unchanged(&self, path: &Path) -> bool {
        let known = self.known.get(path).and_then(Option::as_ref);
        known.is_none_or(|known| known.1 == Stamp::of(path))
    }

    /// What a stage has just written need not be read.
    pub(crate) fn written(&mut self, outputs: &BTreeMap<String, Content>) {
        for (name, content) in outputs {
            let path = self.dir.join(name);
            let stamp = Stamp::of(&path);
            self.known.insert(path, Some((content.clone(), stamp)));
        }
    }
}

/// Plans the recipe of the dataset at `dir`. The recipe's paths are relative to `dir`.
///
/// # Errors
///
/// If a file cannot be read, or the user stops the work.
pub fn plan(recipe: &Recipe, dir: &Path, context: &Context<'_>) -> Result<Plan, PipelineError> {
    plan_with(recipe, dir, Sources::All, &mut Digests::new(dir, context))
}

pub(crate) fn plan_with(
    recipe: &Recipe,
    dir: &Path,
    sources: Sources<'_>,
    digests: &mut Digests<'_>,
) -> Result<Plan, PipelineError> {
    let jobs = jobs(recipe, dir);
    let records: Vec<Option<Record>> =
        jobs.iter().map(|job| record::read(dir, &job.id())).collect();
    let mut stale: Vec<Option<Reason>> = Vec::with_capacity(jobs.len());
    for (i, job) in jobs.iter().enumerate() {
        let before = Before { recipe, dir, jobs: &jobs[..i], records: &records[..i], sources };
        stale.push(before.fault(job, &records[i], digests)?);
    }
    // The last writer of each file answers for what is on disk.
    for (i, job) in jobs.iter().enumerate() {
        for file in job.writes(dir) {
            let is_last = jobs[i + 1..].iter().all(|later| !later.writes(dir).contains(&file));
            let written = records[i].as_ref().and_then(|record| record.outputs.get(&file));
            if !is_last || stale[i].is_some() {
                continue;
            }
            stale[i] = match digests.own(&file)? {
                None if job.outputs_may_go() => None,
                None => Some(Reason::OutputMissing(file)),
                Some(found) if Some(&found) != written => Some(Reason::OutputChanged(file)),
                Some(_) => None,
            };
        }
    }
    for (i, job) in jobs.iter().enumerate() {
        if let Job::Build(store, _) = job
            && stale[i].is_none()
            && stores::has_lost(store, dir)
        {
            stale[i] = Some(Reason::IndexLost);
        }
    }
    // A stage that must run needs its inputs as the stage before it left them.
    for i in (0..jobs.len()).rev() {
        if stale[i].is_none() {
            continue;
        }
        for file in own_inputs(recipe, dir, &jobs[i]) {
            let Some(writer) = last_writer(dir, &jobs[..i], &file) else { continue };
            let written = records[writer].as_ref().and_then(|record| record.outputs.get(&file));
            if stale[writer].is_none() && digests.own(&file)?.as_ref() != written {
                stale[writer] = Some(Reason::Replaced { file, by: jobs[i].id() });
            }
        }
    }
    // What reads the output of a stage that must run must run too.
    for i in 0..jobs.len() {
        if stale[i].is_some() {
            continue;
        }
        let upstream = own_inputs(recipe, dir, &jobs[i])
            .into_iter()
            .filter_map(|file| last_writer(dir, &jobs[..i], &file))
            .find(|&writer| match &stale[writer] {
                None => false,
                Some(Reason::NeverRun) => !sources.trusts_what_is_there(),
                Some(_) => true,
            });
        stale[i] = upstream.map(|writer| Reason::Upstream(jobs[writer].id()));
    }
    let steps = jobs
        .into_iter()
        .zip(stale)
        .zip(records)
        .map(|((job, stale), record)| {
            let summary = record.map(|record| record.summary);
            Step { job, stale, summary }
        })
        .collect();
    Ok(Plan { steps })
}

/// The stages before the one that is looked at.
struct Before<'a> {
    recipe: &'a Recipe,
    dir: &'a Path,
    jobs: &'a [Job],
    records: &'a [Option<Record>],
    sources: Sources<'a>,
}

impl Before<'_> {
    /// What is wrong with a stage's record, looking at no output.
    fn fault(
        &self,
        job: &Job,
        record: &Option<Record>,
        digests: &mut Digests<'_>,
    ) -> Result<Option<Reason>, PipelineError> {
        let Some(record) = record else { return Ok(Some(Reason::NeverRun)) };
        if record.algorithm != job.algorithm() {
            return Ok(Some(Reason::Algorithm));
        }
        if record.parameters != job.parameters(self.recipe) {
            return Ok(Some(Reason::Parameters));
        }
        if let (Job::Fetch(table), Sources::All) = (job, self.sources)
            && stages::fetch::entry(table, digests.context) != stages::fetch::recorded_entry(record)
        {
            return Ok(Some(Reason::Input("the catalogue's entry".to_owned())));
        }
        if *job == Job::Manifest {
            let fetch = self.jobs.iter().position(|job| matches!(job, Job::Fetch(_)));
            let fetch = fetch.and_then(|place| self.records[place].as_ref());
            let known = record.facts.get("fetched").and_then(|digest| digest.as_str());
            if stages::manifest::fetched_digest(fetch).as_deref() != known {
                return Ok(Some(Reason::Input("what was fetched".to_owned())));
            }
        }
        let inputs = job.reads(self.recipe, self.dir);
        if record.inputs.len() != inputs.len() {
            return Ok(Some(Reason::Input("the list of inputs".to_owned())));
        }
        for input in &inputs {
            let (name, now) = match input {
                Input::Own(file) => (file, self.version(file, digests)?),
                Input::Outside { name, path } => (name, self.source(job, path, digests)?),
            };
            let Some(now) = now else { continue };
            if record.inputs.get(name) != Some(&now) {
                let shown = name.split_once(':').map_or(name.as_str(), |(_, name)| name);
                return Ok(Some(Reason::Input(shown.to_owned())));
            }
        }
        Ok(None)
    }

    /// The version of a file that the stages before left. None where the stage that wrote it has
    /// no record: it is stale itself, and whatever reads from it too.
    fn version(
        &self,
        file: &str,
        digests: &mut Digests<'_>,
    ) -> Result<Option<Content>, PipelineError> {
        match last_writer(self.dir, self.jobs, file) {
            Some(writer) => match &self.records[writer] {
                Some(record) => Ok(record.outputs.get(file).cloned()),
                None if self.sources.trusts_what_is_there() => Ok(digests.own(file)?),
                None => Ok(None),
            },
            None => Ok(digests.own(file)?),
        }
    }

    /// A source file as it is today. None where it is gone or not asked for: what was made from
    /// it stands as long as nothing needs it again.
    fn source(
        &self,
        job: &Job,
        path: &Path,
        digests: &mut Digests<'_>,
    ) -> Result<Option<Content>, PipelineError> {
        match self.sources {
            Sources::Of(wanted) if !wanted(job) => Ok(None),
            _ => Ok(digests.at(path.to_owned())?),
        }
    }
}

/// The digest with which the last of a dataset's stages wrote a file, where that is recorded.
pub(crate) fn as_written(recipe: &Recipe, dir: &Path, file: &str) -> Option<Content> {
    let jobs = jobs(recipe, dir);
    let writer = last_writer(dir, &jobs, file)?;
    record::read(dir, &jobs[writer].id())?.outputs.get(file).cloned()
}

pub(crate) fn own_inputs(recipe: &Recipe, dir: &Path, job: &Job) -> Vec<String> {
    let own = |input| match input {
        Input::Own(file) => Some(file),
        Input::Outside { .. } => None,
    };
    job.reads(recipe, dir).into_iter().filter_map(own).collect()
}

pub(crate) fn last_writer(dir: &Path, jobs: &[Job], file: &str) -> Option<usize> {
    jobs.iter().rposition(|job| job.writes(dir).iter().any(|written| written == file))
}
