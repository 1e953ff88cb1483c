//! `calibrate`: one table, and exit code 4 if a target was not reached.

use super::dataset;
use crate::cli::{CalibrateArgs, Global};
use crate::error::CliError;
use crate::output::Output;
use crate::table;
use serde::Serialize;
use std::path::Path;
use vprep_core::Kind;
use vprep_manifest::{CalibrateTable, Cell, Recipe, SCHEMA};
use vprep_pipeline::{
    Context, Dataset, Done, Job, PipelineError, default_k, index_dir, read_calibration,
};

/// What `calibrate --json` prints.
#[derive(Serialize)]
struct CalibrateReport<'a> {
    schema: u32,
    dataset: String,
    cells: &'a [Cell],
}

pub(crate) fn calibrate(
    args: &CalibrateArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let dir = dataset(global)?;
    let mut target = Dataset::open(&dir, context)?;
    for store in &args.store {
        vprep_pipeline::stores::find(store)?;
        if !target.recipe().build.contains_key(store) {
            let path = dir.join(index_dir(store));
            return Err(PipelineError::MissingInput { path, command: "build --store" }.into());
        }
    }
    let k = if args.k.is_empty() { default_k(&dir)? } else { args.k.clone() };
    let asked = CalibrateTable {
        target: args.target.clone(),
        k,
        store: args.store.clone(),
        max_value: args.max_value,
        rule: args.rule,
    };
    let known = target.recipe().calibrate.clone();
    let options = |table: &CalibrateTable| (table.rule, table.max_value);
    // Another rule or cap is a question of its own; what the dataset is calibrated to stays.
    let passing = known.as_ref().is_some_and(|known| options(known) != options(&asked));
    let table = match known {
        Some(known) if !passing => merged(known, &asked),
        _ => asked.clone(),
    };
    target.edit(|recipe| recipe.calibrate = Some(table))?;
    let stores = match args.store.is_empty() {
        true => target.recipe().build.keys().cloned().collect(),
        false => args.store.clone(),
    };
    if stores.is_empty() {
        let problem =
            "no store is built in this dataset; build one with `vprep build --store hnsw`";
        return Err(PipelineError::NoStore(problem.to_owned()).into());
    }
    let mut cells: Vec<Cell> = Vec::new();
    if passing {
        for store in &stores {
            let done = target.try_out(&format!("calibrate.{store}"))?;
            output.stage(&done);
            cells.extend(cells_of(done));
        }
        output.note(
            "these results are not kept: the dataset is calibrated by another rule or cap; to \
             change that, edit [calibrate] in its recipe and run it",
        );
    } else {
        let wanted = |job: &Job| matches!(job, Job::Calibrate(s, _) if stores.contains(s));
        target.run_command(wanted)?.iter().for_each(|done| output.stage(done));
        for store in &stores {
            cells.extend(read_calibration(&dir, store)?.cells);
        }
    }
    cells.retain(|cell| asked.k.contains(&cell.k) && asked.target.contains(&cell.target));
    let report =
        CalibrateReport { schema: SCHEMA, dataset: dir.display().to_string(), cells: &cells };
    output.result(&report, || table::calibration(&cells))?;
    Ok(verdict(&cells))
}

/// The dataset's table with what is asked added, so that what was calibrated stays.
fn merged(mut table: CalibrateTable, asked: &CalibrateTable) -> CalibrateTable {
    table.k.extend(&asked.k);
    table.target.extend(&asked.target);
    if asked.store.is_empty() {
        table.store.clear();
    } else if !table.store.is_empty() {
        table.store.extend(asked.store.iter().cloned());
    }
    table
}

/// What a calibration that was only tried found.
fn cells_of(done: Done) -> Vec<Cell> {
    serde_json::from_value(done.facts).expect("the facts of a calibration are cells; this is a bug")
}

/// The results of every store that a recipe calibrates.
pub(crate) fn all_cells(dir: &Path, recipe: &Recipe) -> Result<Vec<Cell>, CliError> {
    let mut cells = Vec::new();
    for store in recipe.calibrated_stores() {
        cells.extend(read_calibration(dir, &store)?.cells);
    }
    Ok(cells)
}

/// The kind of failure that unreached targets are.
pub(crate) fn verdict(cells: &[Cell]) -> Option<Kind> {
    cells.iter().any(|cell| !cell.reached).then_some(Kind::Check)
}
