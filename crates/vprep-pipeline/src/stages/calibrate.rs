//! `calibrate`: the search settings of one store.

use super::Outcome;
use crate::dataset::{SPLITS, Side, TRUTH_IDS, TRUTH_SCORES, calibration_file, index_dir};
use crate::run::Stage;
use crate::{PipelineError, base_of_index, record, stores, validate};
use std::fs;
use std::path::Path;
use vprep_calibrate::{Options, Queries, calibrate};
use vprep_core::Metric;
use vprep_data::{MappedNpy, content};
use vprep_manifest::{
    CalibrateTable, Calibration, Cell, Inputs, Place, Point, SCHEMA, Serving, Setting, Splits,
    canonical_json,
};
use vprep_store::{IndexFacts, Location, StoreError};

/// Queries that are searched again where the truth has no record.
const UNRECORDED: u64 = 16;

pub(crate) fn run(
    name: &str,
    table: &CalibrateTable,
    stage: &mut Stage<'_>,
) -> Result<Outcome, PipelineError> {
    let progress = stage.context.progress;
    let store = stores::find(name)?;
    let info = store.info();
    let base = MappedNpy::<f32>::open(&stage.dir.join(Side::Base.vectors()))?;
    let queries = MappedNpy::<f32>::open(&stage.dir.join(Side::Queries.vectors()))?;
    let ids = MappedNpy::<i32>::open(&stage.dir.join(TRUTH_IDS))?;
    let scores = MappedNpy::<f32>::open(&stage.dir.join(TRUTH_SCORES))?;
    let metric = stage.recipe.metric;
    check_metric(stage.recipe.truth.as_ref().and_then(|truth| truth.metric), metric, ids.path())?;
    validate::truth_holds(&base, &queries, &ids, &scores, metric, progress)?
        .map_err(|problem| PipelineError::ForeignTruth { path: ids.path().to_owned(), problem })?;
    if record::read(stage.dir, "truth").is_none() {
        // Nothing says that no better row is missing, so some queries are searched again.
        validate::recheck(&base, &queries, &ids, None, metric, UNRECORDED, progress)?.map_err(
            |problem| PipelineError::ForeignTruth { path: ids.path().to_owned(), problem },
        )?;
    }
    let splits = read_splits(&stage.dir.join(SPLITS), queries.rows() as u64)?;
    let dir = stage.dir.join(index_dir(name));
    if !base_of_index::matches(&dir, &stage.inputs[Side::Base.vectors()].sha256) {
        let (store, problem) = (info.name, "built from another base".to_owned());
        return Err(StoreError::NoIndex { store, path: dir, problem }.into());
    }
    let index = store.open(&dir, base.view())?;

    let digest = |name: &str| stage.inputs[name].sha256.clone();
    let inputs = Inputs {
        base: digest(Side::Base.vectors()),
        queries: digest(Side::Queries.vectors()),
        truth_ids: digest(TRUTH_IDS),
        splits: digest(SPLITS),
        index: digest(&index_dir(name)),
    };
    let data = Queries {
        base: base.view(),
        queries: queries.view(),
        truth_ids: ids.values(),
        truth_k: ids.cols(),
        metric,
        calibration: &splits.calibration,
        held_out: &splits.held_out,
    };
    let options = Options {
        k: table.k.clone(),
        target: table.target.clone(),
        max_value: table.max_value,
        rule: table.rule,
    };
    let engine = format!("{} {}", info.engine, store.version()?);
    let known = known_points(stage, name, &inputs, &engine)?;
    let (cells, points) =
        calibrate(store.as_ref(), index.as_ref(), &data, &options, known, progress)?;
    let reached = cells.iter().filter(|cell| cell.reached).count();
    let summary =
        format!("{reached} of {} targets reached, {} measurements", cells.len(), points.len());
    let calibration = Calibration {
        schema: SCHEMA,
        store: name.to_owned(),
        engine,
        knob: info.knob.map(str::to_owned),
        metric,
        rule: table.rule,
        max_value: table.max_value,
        inputs,
        serving: serving(name, info.knob, index.facts(), &cells),
        cells,
        points,
    };
    stage.outputs.write(&calibration_file(name), &canonical_json(&calibration))?;
    Ok(Outcome::new(&calibration.cells, summary))
}

/// What a service reads: where the index is, and the value for each (k, target).
fn serving(store: &str, knob: Option<&str>, facts: &IndexFacts, cells: &[Cell]) -> Serving {
    let place = match &facts.location {
        Location::Path(path) if path == "." => Place::Path(Side::Base.vectors().to_owned()),
        Location::Path(path) => Place::Path(format!("{}/{path}", index_dir(store))),
        Location::Collection(name) => Place::Collection(name.clone()),
    };
    let setting = |cell: &Cell| {
        let &Cell { k, target, value, reached, .. } = cell;
        Setting { k, target, value, reached }
    };
    Serving {
        place,
        parameters: facts.parameters.clone(),
        knob: knob.map(str::to_owned),
        settings: cells.iter().map(setting).collect(),
    }
}

/// What was measured before of the very same index, queries and truth. Only points that this stage
/// itself wrote are taken: the file must have the digest that its record states.
fn known_points(
    stage: &Stage<'_>,
    store: &str,
    inputs: &Inputs,
    engine: &str,
) -> Result<Vec<Point>, PipelineError> {
    let file = calibration_file(store);
    let path = stage.dir.join(&file);
    let record = record::read(stage.dir, &format!("calibrate.{store}"));
    let Some(written) = record.and_then(|record| record.outputs.get(&file).cloned()) else {
        return Ok(Vec::new());
    };
    if !path.exists() || content(&path, stage.context.progress)? != written {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&path).map_err(PipelineError::read(&path))?;
    // One that an older version wrote is measured anew.
    let Ok(old) = Calibration::parse(&text) else { return Ok(Vec::new()) };
    Ok(if old.inputs == *inputs && old.engine == engine { old.points } else { Vec::new() })
}

fn check_metric(truth: Option<Metric>, dataset: Metric, path: &Path) -> Result<(), PipelineError> {
    match truth {
        Some(truth) if truth != dataset => {
            Err(PipelineError::TruthMetric { path: path.to_owned(), truth, dataset })
        }
        _ => Ok(()),
    }
}

fn read_splits(path: &Path, queries: u64) -> Result<Splits, PipelineError> {
    let text = fs::read_to_string(path).map_err(PipelineError::read(path))?;
    let splits = Splits::parse(&text).map_err(PipelineError::dataset(path))?;
    match validate::splits_hold(&splits, queries) {
        Ok(()) => Ok(splits),
        Err(problem) => {
            Err(vprep_data::DataError::Malformed { path: path.to_owned(), problem }.into())
        }
    }
}
