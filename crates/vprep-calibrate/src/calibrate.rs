//! One cell for each k and target.

use crate::measure::Meter;
use crate::search::{Found, Grid, Seen, search};
use crate::{CalibrateError, Cell, Options, Point, Queries, QuerySet, Rule};
use vprep_core::Progress;
use vprep_store::{Index, Store};

/// Finds the smallest knob value for each k and target and proves it on the held-out queries.
///
/// `known` are points measured before on the same base, queries, truth, split and index; they are
/// taken instead of measuring again. Gives the cells by ascending (k, target), and all points,
/// those of `known` among them, by (k, query set, value).
///
/// A cell's `evaluations` counts the distinct knob values that its own search looked at on the
/// calibration queries, wherever their recall came from: at most `2 log2(legal values) + 4`.
///
/// Where no value reaches the target, the cell holds the smallest of the values with the highest
/// recall that was seen. Where the largest value allowed is below the smallest legal one, it holds
/// no value and no recall. The notes say which.
///
/// # Errors
///
/// If the parts of `data` do not fit each other, the options or the index, if a k is larger than
/// the truth is deep, if the store fails, or if the user stops the work.
pub fn calibrate(
    store: &dyn Store,
    index: &dyn Index,
    data: &Queries<'_>,
    options: &Options,
    known: Vec<Point>,
    progress: &dyn Progress,
) -> Result<(Vec<Cell>, Vec<Point>), CalibrateError> {
    let (ks, targets) = options.grid()?;
    data.check(&ks)?;
    data.check_index(store, index.facts())?;
    let label = format!("calibrating {}", store.info().name);
    let task = progress.task(&label, (ks.len() * targets.len()) as u64, "targets");
    let mut meter = Meter::new(store, index, data, known, progress);
    let mut cells = Vec::with_capacity(ks.len() * targets.len());
    for &k in &ks {
        for &target in &targets {
            cells.push(cell(store, index, data, options, &mut meter, k, target)?);
            task.advance(1);
        }
    }
    Ok((cells, meter.into_points()))
}

/// The result for one k and target.
fn cell(
    store: &dyn Store,
    index: &dyn Index,
    data: &Queries<'_>,
    options: &Options,
    meter: &mut Meter<'_>,
    k: u32,
    target: f64,
) -> Result<Cell, CalibrateError> {
    let info = store.info();
    let rows = data.base.rows();
    let mut cell = Cell {
        store: info.name.to_owned(),
        k,
        target,
        knob: info.knob.map(str::to_owned),
        value: None,
        calibration_recall: None,
        calibration_strict_recall: None,
        held_out_recall: None,
        held_out_strict_recall: None,
        held_out_low: None,
        held_out_high: None,
        calibration_queries: data.calibration.len() as u32,
        held_out_queries: data.held_out.len() as u32,
        reached: false,
        evaluations: 0,
        value_below_recall: None,
        notes: Vec::new(),
    };
    if data.width(k) < k as usize {
        cell.notes.push(format!("the base has {rows} rows only: recall is over {rows}, not {k}"));
    }
    let passes = |point: &Point| match options.rule {
        Rule::Mean => point.recall >= target,
        Rule::LowerBound => point.lower_bound >= target,
    };

    let Some(range) = index.knob_range(k as usize) else {
        let point = meter.point(k, QuerySet::Calibration, None)?;
        (cell.reached, cell.evaluations) = (passes(point), 1);
        if !cell.reached {
            let recall = recall(point, options.rule);
            cell.notes.push(format!("there is no knob to turn, and the recall is {recall}"));
        }
        return prove(cell, meter, data.width(k));
    };

    let knob = info.knob.unwrap_or("the knob");
    let Some(grid) = Grid::new(range, options.max_value) else {
        let (smallest, cap) = (range.smallest, options.max_value.unwrap_or(range.largest));
        cell.notes.push(format!(
            "no value of {knob} is allowed: the smallest legal one for k = {k} is {smallest}, \
             and the cap is {cap}"
        ));
        return Ok(cell);
    };
    let found = search(grid, |value| {
        let point = meter.point(k, QuerySet::Calibration, Some(value))?;
        Ok::<_, CalibrateError>(Seen { recall: point.recall, passes: passes(point) })
    })?;
    cell.value = Some(found.value);
    cell.reached = found.reached;
    cell.evaluations = found.evaluations;
    cell.value_below_recall = found.below;
    if !found.reached {
        let best = meter.point(k, QuerySet::Calibration, cell.value)?;
        let best = recall(best, options.rule);
        cell.notes.push(missed(knob, range.smallest, grid.cap(), &found, &best));
    }
    prove(cell, meter, data.width(k))
}

/// What to say of a search that ended below the target.
fn missed(knob: &str, smallest: u32, cap: u32, found: &Found, best: &str) -> String {
    let Found { value, evaluations, .. } = *found;
    if found.flat {
        format!(
            "{knob} changes nothing: recall is {best} at each of the {evaluations} values looked \
             at, from {smallest} to {cap}"
        )
    } else {
        format!(
            "{knob} met its cap of {cap} below the target: the best recall is {best}, at {value}"
        )
    }
}

/// A recall as the rule sees it.
fn recall(point: &Point, rule: Rule) -> String {
    let Point { recall, lower_bound, .. } = *point;
    match rule {
        Rule::Mean => format!("{recall:.4}"),
        Rule::LowerBound => format!("{recall:.4} (lower bound {lower_bound:.4})"),
    }
}

/// Fills in the recalls at the cell's value, and what must be known of their answers.
fn prove(mut cell: Cell, meter: &mut Meter<'_>, width: usize) -> Result<Cell, CalibrateError> {
    let (k, value) = (cell.k, cell.value);
    let tuned = meter.point(k, QuerySet::Calibration, value)?;
    cell.calibration_recall = Some(tuned.recall);
    cell.calibration_strict_recall = Some(tuned.strict_recall);
    oddities(&mut cell.notes, tuned, width);
    let proof = meter.point(k, QuerySet::HeldOut, value)?;
    cell.held_out_recall = Some(proof.recall);
    cell.held_out_strict_recall = Some(proof.strict_recall);
    cell.held_out_low = Some(proof.low);
    cell.held_out_high = Some(proof.high);
    oddities(&mut cell.notes, proof, width);
    Ok(cell)
}

/// Short and repeated answers, and what the engine said.
fn oddities(notes: &mut Vec<String>, point: &Point, width: usize) {
    let set = match point.set {
        QuerySet::Calibration => "calibration",
        QuerySet::HeldOut => "held-out",
    };
    let Point { queries, short, repeated, .. } = *point;
    if short > 0 {
        notes.push(format!("{short} of {queries} {set} queries got fewer than {width} rows"));
    }
    if repeated > 0 {
        notes.push(format!("{repeated} rows came twice in the answers to {set} queries"));
    }
    for note in &point.notes {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
}
