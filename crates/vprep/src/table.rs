//! Tables for people.

use comfy_table::{CellAlignment, Table, presets};
use vprep_manifest::Cell;

/// A table with a header, columns two spaces apart, no borders. Columns named in `right` hold
/// numbers.
pub(crate) fn plain(header: &[&str], right: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header.to_vec()).add_rows(rows);
    for (i, name) in header.iter().enumerate() {
        let column = table.column_mut(i).expect("a column for each header");
        column.set_padding((0, 2));
        if right.contains(name) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

/// The results of calibrations, with what must be known of them below.
pub(crate) fn calibration(cells: &[Cell]) -> String {
    let recall = |recall: Option<f64>| recall.map_or_else(|| "-".into(), |r| format!("{r:.4}"));
    let row = |cell: &Cell| {
        let interval = match (cell.held_out_low, cell.held_out_high) {
            (Some(low), Some(high)) => format!("{low:.4}-{high:.4}"),
            _ => "-".to_owned(),
        };
        vec![
            cell.store.clone(),
            cell.k.to_string(),
            cell.target.to_string(),
            cell.value.map_or_else(|| "-".to_owned(), |value| value.to_string()),
            recall(cell.calibration_recall),
            recall(cell.value_below_recall),
            recall(cell.held_out_recall),
            interval,
            cell.evaluations.to_string(),
            if cell.reached { "yes" } else { "NO" }.to_owned(),
        ]
    };
    let header = [
        "store",
        "k",
        "target",
        "value",
        "recall",
        "below",
        "held-out",
        "95% interval",
        "evals",
        "reached",
    ];
    let right = ["k", "target", "value", "recall", "below", "held-out", "evals"];
    let mut text = plain(&header, &right, cells.iter().map(row).collect());
    let mut knobs: Vec<_> = cells
        .iter()
        .map(|cell| (&cell.store, cell.knob.as_deref().unwrap_or("none, it is exact")))
        .collect();
    knobs.dedup();
    for (store, knob) in knobs {
        text += &format!("{store}: knob {knob}\n");
    }
    for cell in cells {
        for note in &cell.notes {
            text += &format!("{} k={} target={}: {note}\n", cell.store, cell.k, cell.target);
        }
    }
    text
}
