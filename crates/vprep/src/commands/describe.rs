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
use vprep_pipeline::stores::{self as known, Known};
use vprep_pipeline::{Context, DATASET_TOML};
use vprep_store::StoreError;

/// What `stores --json` prints.
#[derive(Serialize)]
struct StoresReport {
    schema: u32,
    stores: Vec<StoreReport>,
}

#[derive(Serialize)]
struct StoreReport {
    name: &'static str,
    /// The feature that it is compiled in with; none for those that always are.
    feature: Option<&'static str>,
    state: State,
    /// Whether it can be used as it is.
    available: bool,
    /// What keeps it from being used, and how to mend it.
    problem: Option<String>,
    /// Known only of stores that are compiled in, as are the next three.
    engine: Option<&'static str>,
    /// Known only of stores that can be used.
    version: Option<String>,
    knob: Option<&'static str>,
    /// Default of each build parameter.
    parameters: BTreeMap<&'static str, u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Ready,
    CompiledOut,
    NotConfigured,
    Unreachable,
}

impl State {
    const fn words(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::CompiledOut => "compiled out",
            Self::NotConfigured => "not set up",
            Self::Unreachable => "unreachable",
        }
    }
}

/// Asks a store how it is.
fn describe(known: &Known) -> StoreReport {
    let info = known.store.as_ref().map(|store| store.info());
    let (state, version, problem) = match (&known.store, known.feature) {
        (None, feature) => {
            let feature = feature.unwrap_or_default();
            let problem = format!("build vprep with `--features {feature}`");
            (State::CompiledOut, None, Some(problem))
        }
        (Some(store), _) => match store.version() {
            Ok(version) => (State::Ready, Some(version), None),
            Err(error @ StoreError::NotConfigured { .. }) => {
                (State::NotConfigured, None, Some(error.to_string()))
            }
            Err(error) => (State::Unreachable, None, Some(error.to_string())),
        },
    };
    StoreReport {
        name: known.name,
        feature: known.feature,
        state,
        available: state == State::Ready,
        problem,
        engine: info.map(|info| info.engine),
        version,
        knob: info.and_then(|info| info.knob),
        parameters: info
            .map(|info| info.parameters.iter().map(|p| (p.name, p.default)).collect())
            .unwrap_or_default(),
    }
}

pub(crate) fn stores(output: &Output) -> Result<Option<Kind>, CliError> {
    let report =
        StoresReport { schema: SCHEMA, stores: known::all().iter().map(describe).collect() };
    output.result(&report, || {
        let row = |store: &StoreReport| {
            let parameters: Vec<_> =
                store.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let (engine, version) = (store.engine.unwrap_or("-"), store.version.as_deref());
            let knob = match (store.engine, store.knob) {
                (_, Some(knob)) => knob,
                (Some(_), None) => "none (exact)",
                (None, None) => "-",
            };
            vec![
                store.name.to_owned(),
                format!("{engine} {}", version.unwrap_or_default()).trim_end().to_owned(),
                store.state.words().to_owned(),
                knob.to_owned(),
                parameters.join(" "),
            ]
        };
        let header = ["store", "engine", "state", "knob", "build parameters"];
        let mut text = table::plain(&header, &[], report.stores.iter().map(row).collect());
        for store in &report.stores {
            if let Some(problem) = &store.problem {
                text += &format!("{}: {problem}\n", store.name);
            }
        }
        text
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
        let groups = match set.duplicate_groups {
            0 => String::new(),
            n => format!(" in {n} groups, the largest of {} rows", set.largest_group),
        };
        line("duplicates", format!("{}{groups}", set.duplicate_rows));
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
