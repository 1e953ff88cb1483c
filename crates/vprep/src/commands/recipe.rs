//! `run` and `plan`: whole recipes.

use super::calibrate::{all_cells, verdict};
use crate::cli::{Global, RunArgs};
use crate::error::CliError;
use crate::output::Output;
use crate::table;
use serde::Serialize;
use std::path::{Path, PathBuf};
use vprep_core::Kind;
use vprep_manifest::{Cell, Recipe, SCHEMA};
use vprep_pipeline::{
    Context, DATASET_TOML, Dataset, Done, MANIFEST, PipelineError, Step, check_stage, read_recipe,
    resolve,
};

/// What `run --json` prints.
#[derive(Serialize)]
struct RunReport<'a> {
    schema: u32,
    dataset: String,
    stages: &'a [Done],
    cells: Vec<Cell>,
    manifest: Option<String>,
}

/// What `plan --json` prints.
#[derive(Serialize)]
struct PlanReport {
    schema: u32,
    dataset: String,
    stages: Vec<PlannedStage>,
}

#[derive(Serialize)]
struct PlannedStage {
    stage: String,
    up_to_date: bool,
    reason: Option<String>,
}

pub(crate) fn run(
    args: &RunArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    args.until.as_deref().map_or(Ok(()), check_stage)?;
    if args.dry_run {
        return plan(&args.recipe, global, output, context);
    }
    let (recipe, recipe_dir, dir) = open(&args.recipe, global)?;
    let mut dataset = Dataset::for_recipe(&recipe, &recipe_dir, &dir, context)?;
    let mut stages: Vec<Done> = Vec::new();
    let ran = dataset.run_all(args.until.as_deref(), |done| {
        output.stage(done);
        stages.push(done.clone());
    });
    let ended = |command: &str| stages.iter().any(|done| done.stage.starts_with(command));
    let cells = if ended("calibrate") { all_cells(&dir, dataset.recipe())? } else { Vec::new() };
    if matches!(&ran, Err(PipelineError::ChecksFailed { .. })) && !cells.is_empty() {
        output.note(table::calibration(&cells).trim_end());
    }
    let removed = ran?;
    for file in &removed {
        output.note(format_args!("removed {file}: no stage of this recipe makes it"));
    }
    if removed.is_empty() && stages.iter().all(|done| !done.ran) {
        output.note(format_args!("all {} stages are up to date, nothing was done", stages.len()));
    }
    let manifest = ended("manifest").then(|| dir.join(MANIFEST).display().to_string());
    let report = RunReport {
        schema: SCHEMA,
        dataset: dir.display().to_string(),
        stages: &stages,
        cells: cells.clone(),
        manifest: manifest.clone(),
    };
    output.result(&report, || {
        let table = if cells.is_empty() { String::new() } else { table::calibration(&cells) };
        let manifest = manifest.map_or_else(String::new, |path| format!("manifest: {path}\n"));
        table + &manifest
    })?;
    let gates = dataset.recipe().gates.as_ref().filter(|_| !cells.is_empty());
    let shut: Vec<_> = gates.iter().flat_map(|gates| gates.gates(&cells)).collect();
    let shut = shut.iter().filter(|gate| !gate.passes());
    let shut = shut.inspect(|gate| output.note(format_args!("gate: {gate}"))).count();
    Ok(if shut > 0 { Some(Kind::Check) } else { verdict(&cells) })
}

pub(crate) fn plan(
    recipe: &Path,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let (recipe, recipe_dir, dir) = open(recipe, global)?;
    let resolved = resolve(&recipe, &recipe_dir, &dir)?;
    let plan = vprep_pipeline::plan(&resolved, &dir, context)?;
    let stage = |step: &Step| PlannedStage {
        stage: step.job.id(),
        up_to_date: step.stale.is_none(),
        reason: step.stale.as_ref().map(ToString::to_string),
    };
    let report = PlanReport {
        schema: SCHEMA,
        dataset: dir.display().to_string(),
        stages: plan.steps.iter().map(stage).collect(),
    };
    output.result(&report, || {
        let row = |stage: &PlannedStage| {
            let state = if stage.up_to_date { "up to date" } else { "stale" };
            let reason = stage.reason.clone().unwrap_or_default();
            vec![stage.stage.clone(), state.to_owned(), reason]
        };
        let rows = report.stages.iter().map(row).collect();
        table::plain(&["stage", "state", "why"], &[], rows)
    })?;
    Ok(None)
}

/// Reads a recipe, and finds what its paths are relative to and where its dataset lies: where
/// `-d` says, where a `dataset.toml` itself lies, else `datasets/<name>`.
fn open(path: &Path, global: &Global) -> Result<(Recipe, PathBuf, PathBuf), CliError> {
    let recipe = read_recipe(path)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let recipe_dir = parent.unwrap_or(Path::new(".")).to_owned();
    let dir = match &global.dataset {
        Some(dir) => dir.clone(),
        None if path.file_name().is_some_and(|name| name == DATASET_TOML) => recipe_dir.clone(),
        None => Path::new("datasets").join(&recipe.name),
    };
    Ok((recipe, recipe_dir, dir))
}
