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
use vprep_pipeline::{Context, Dataset, Job, default_k, read_calibration};

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
    let k = if args.k.is_empty() { default_k(&dir)? } else { args.k.clone() };
    let asked = CalibrateTable {
        target: args.target.clone(),
        k,
        store: args.store.clone(),
        max_value: args.max_value,
        rule: args.rule,
    };
    target.edit(|recipe| recipe.calibrate = Some(merged(recipe.calibrate.take(), &asked)))?;
    let stores = match args.store.is_empty() {
        true => target.recipe().build.keys().cloned().collect(),
        false => args.store.clone(),
    };
    if stores.is_empty() {
        let problem =
            "no store is built in this dataset; build one with `vprep build --store hnsw`";
        return Err(vprep_pipeline::PipelineError::NoStore(problem.to_owned()).into());
    }
    let done = target
        .run_command(|job| matches!(job, Job::Calibrate(store, _) if stores.contains(store)))?;
    done.iter().for_each(|done| output.stage(done));
    let mut cells = Vec::new();
    for store in &stores {
        let wanted = |cell: &Cell| asked.k.contains(&cell.k) && asked.target.contains(&cell.target);
        cells.extend(read_calibration(&dir, store)?.cells.into_iter().filter(wanted));
    }
    let report =
        CalibrateReport { schema: SCHEMA, dataset: dir.display().to_string(), cells: &cells };
    output.result(&report, || table::calibration(&cells))?;
    Ok(verdict(&cells))
}

/// The dataset's table with what is asked added, so that what was calibrated stays. Another rule
/// or cap makes another calibration.
fn merged(known: Option<CalibrateTable>, asked: &CalibrateTable) -> CalibrateTable {
    let Some(mut table) = known else { return asked.clone() };
    if (table.rule, table.max_value) != (asked.rule, asked.max_value) {
        return asked.clone();
    }
    table.k.extend(&asked.k);
    table.target.extend(&asked.target);
    if asked.store.is_empty() {
        table.store.clear();
    } else if !table.store.is_empty() {
        table.store.extend(asked.store.iter().cloned());
        table.store.sort();
        table.store.dedup();
    }
    table
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
