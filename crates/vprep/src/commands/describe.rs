//! `stores` and `inspect`: what there is.

use crate::cli::InspectArgs;
use crate::error::CliError;
use crate::output::Output;
use crate::table;
use serde::Serialize;
use std::collections::BTreeMap;
use vprep_core::Kind;
use vprep_manifest::SCHEMA;
use vprep_pipeline::inspect::{Inspection, inspect_dataset, inspect_file};
use vprep_pipeline::{Context, DATASET_TOML, stores as known};

/// What `stores --json` prints.
#[derive(Serialize)]
struct StoresReport {
    schema: u32,
    stores: Vec<StoreReport>,
}

#[derive(Serialize)]
struct StoreReport {
    name: &'static str,
    engine: &'static str,
    version: String,
    available: bool,
    knob: Option<&'static str>,
    /// Default of each build parameter.
    parameters: BTreeMap<&'static str, u32>,
}

pub(crate) fn stores(output: &Output) -> Result<Option<Kind>, CliError> {
    let describe = |store: Box<dyn vprep_store::Store>| {
        let info = store.info();
        StoreReport {
            name: info.name,
            engine: info.engine,
            version: info.version.clone(),
            available: true,
            knob: info.knob,
            parameters: info.parameters.iter().map(|p| (p.name, p.default)).collect(),
        }
    };
    let report =
        StoresReport { schema: SCHEMA, stores: known::all().into_iter().map(describe).collect() };
    output.result(&report, || {
        let row = |store: &StoreReport| {
            let parameters: Vec<_> =
                store.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            vec![
                store.name.to_owned(),
                format!("{} {}", store.engine, store.version),
                "built in".to_owned(),
                store.knob.unwrap_or("none (exact)").to_owned(),
                parameters.join(" "),
            ]
        };
        let header = ["store", "engine", "state", "knob", "build parameters"];
        table::plain(&header, &[], report.stores.iter().map(row).collect())
    })?;
    Ok(None)
}

pub(crate) fn inspect(
    args: &InspectArgs,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let path = &args.path;
    let inspection = if path.join(DATASET_TOML).exists() {
        inspect_dataset(path, context)?
    } else if path.is_file() || !path.exists() {
        inspect_file(path, args.vector_column.clone(), context)?
    } else {
        return Err(CliError::NotInspectable(path.clone()));
    };
    output.result(&inspection, || text(&inspection))?;
    Ok(None)
}

fn text(inspection: &Inspection) -> String {
    let mut text = String::new();
    for set in &inspection.sets {
        text += &format!("{}\n", set.file);
        let mut line = |name: &str, value: String| text += &format!("  {name:<12} {value}\n");
        line("rows", set.rows.to_string());
        line("dim", set.dim.to_string());
        line("ids", set.ids.clone());
        if !set.columns.is_empty() {
            line("columns", set.columns.join(", "));
        }
        let norms = &set.norms;
        let unit = if set.unit_length { " (unit length)" } else { "" };
        line(
            "norms",
            format!("{:.6} to {:.6}, mean {:.6}{unit}", norms.min, norms.max, norms.mean),
        );
        line("zero rows", norms.zero.to_string());
        line("non-finite", set.non_finite_rows.to_string());
        line("duplicates", set.duplicate_rows.to_string());
    }
    if let Some(truth) = &inspection.truth {
        text += &format!("{}\n", truth.file);
        let mut line = |name: &str, value: String| text += &format!("  {name:<12} {value}\n");
        line("queries", truth.queries.to_string());
        line("tied at k", truth.tied.to_string());
        if let (Some(min), Some(median)) = (truth.min_gap, truth.median_gap) {
            line("gap behind k", format!("{min:.3e} at least, median {median:.3e}"));
        }
    }
    for note in &inspection.notes {
        text += &format!("note: {note}\n");
    }
    text
}
