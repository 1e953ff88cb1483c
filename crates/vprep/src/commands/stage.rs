//! The commands that run one stage: each puts its table into the dataset's recipe and runs it.

use super::dataset;
use crate::cli::{
    BuildArgs, Global, ImportArgs, NormalizeArgs, SplitArgs, SubsetArgs, SynthArgs, TruthArgs,
};
use crate::error::CliError;
use crate::output::Output;
use serde::Serialize;
use std::path::Path;
use vprep_core::Kind;
use vprep_manifest::{
    BuildTable, ImportTable, ManifestTable, NormalizeTable, Recipe, SCHEMA, SplitTable,
    SubsetTable, SynthTable, TruthTable,
};
use vprep_pipeline::{Context, Dataset, Done, Job, Side, read_dataset, relative, source_files};

/// What a stage's command prints with `--json`.
#[derive(Serialize)]
struct StageReport {
    schema: u32,
    dataset: String,
    stages: Vec<Ran>,
}

#[derive(Serialize)]
struct Ran {
    stage: String,
    ran: bool,
    summary: String,
    seconds: f64,
}

pub(crate) fn import(
    args: &ImportArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let dir = dataset(global)?;
    let table = ImportTable {
        files: source_files(&args.files, &dir)?,
        vector_column: args.vector_column.clone(),
        id_column: args.id_column.clone(),
    };
    let target = Dataset::open_or_create(&dir, args.metric, context)?;
    let edit = |recipe: &mut Recipe| {
        let import = recipe.import.get_or_insert_default();
        match args.role {
            Side::Base => import.base = Some(table),
            Side::Queries => import.queries = Some(table),
        }
    };
    finish(target, edit, |job| matches!(job, Job::Import(side, _) if *side == args.role), output)
}

pub(crate) fn synth(
    args: &SynthArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let target = Dataset::open_or_create(&dataset(global)?, args.metric, context)?;
    let table = SynthTable {
        rows: args.rows,
        dim: args.dim,
        queries: args.queries,
        seed: args.seed,
        clusters: args.clusters,
    };
    finish(target, |r| r.synth = Some(table), |job| matches!(job, Job::Synth(_)), output)
}

pub(crate) fn normalize(
    args: &NormalizeArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let target = Dataset::open(&dataset(global)?, context)?;
    let table = NormalizeTable { zero: args.zero };
    finish(target, |r| r.normalize = Some(table), |job| matches!(job, Job::Normalize(..)), output)
}

pub(crate) fn subset(
    args: &SubsetArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let dir = dataset(global)?;
    let parent = read_dataset(&args.from)?;
    let from = relative(&args.from, &dir)?;
    if from.as_os_str().is_empty() {
        return Err(vprep_pipeline::PipelineError::OwnParent { path: dir }.into());
    }
    let target = Dataset::open_or_create(&dir, Some(parent.metric), context)?;
    let table = SubsetTable { from: Some(from), rows: args.rows, seed: args.seed };
    finish(target, |r| r.subset = Some(table), |job| matches!(job, Job::Subset(_)), output)
}

pub(crate) fn split(
    args: &SplitArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let target = Dataset::open(&dataset(global)?, context)?;
    let table = SplitTable { calibration: args.calibration, seed: args.seed };
    finish(target, |r| r.split = Some(table), |job| matches!(job, Job::Split(_)), output)
}

pub(crate) fn truth(
    args: &TruthArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let target = Dataset::open(&dataset(global)?, context)?;
    let table = TruthTable { k: args.k, metric: args.metric };
    finish(target, |r| r.truth = Some(table), |job| matches!(job, Job::Truth(_)), output)
}

pub(crate) fn build(
    args: &BuildArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    vprep_pipeline::stores::find(&args.store)?;
    let target = Dataset::open(&dataset(global)?, context)?;
    let given = [("m", args.m), ("ef-construction", args.ef_construction)];
    let table: BuildTable =
        given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    let edit = |recipe: &mut Recipe| drop(recipe.build.insert(args.store.clone(), table));
    finish(target, edit, |job| matches!(job, Job::Build(store, _) if *store == args.store), output)
}

pub(crate) fn manifest(
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let dir = dataset(global)?;
    let target = Dataset::open(&dir, context)?;
    let edit = |recipe: &mut Recipe| recipe.manifest = Some(ManifestTable {});
    finish(target, edit, |job| *job == Job::Manifest, output)
}

fn finish(
    mut target: Dataset<'_>,
    edit: impl FnOnce(&mut Recipe),
    wanted: impl Fn(&Job) -> bool,
    output: &Output,
) -> Result<Option<Kind>, CliError> {
    target.edit(edit)?;
    let done = target.run_command(wanted)?;
    done.iter().for_each(|done| output.stage(done));
    print(target.dir(), done, output)?;
    Ok(None)
}

fn print(dir: &Path, done: Vec<Done>, output: &Output) -> Result<(), CliError> {
    let ran = |done: Done| Ran {
        stage: done.stage,
        ran: done.ran,
        summary: done.summary,
        seconds: done.seconds,
    };
    let stages = done.into_iter().map(ran).collect();
    let report = StageReport { schema: SCHEMA, dataset: dir.display().to_string(), stages };
    output.result(&report, String::new)
}
