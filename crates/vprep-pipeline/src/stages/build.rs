//! `build`: a store's index of the base.

use super::{Outcome, grouped};
use crate::dataset::{Side, index_dir};
use crate::facts::BuildFacts;
use crate::run::Stage;
use crate::{PipelineError, base_of_index, matrix, stores};
use vprep_data::MappedNpy;
use vprep_manifest::{BuildTable, Recipe};
use vprep_store::{BuildSpec, resolve_parameters};

/// Fills in the build parameters of every store that a recipe names, and puts targets and k in
/// order, so that a recipe that says the same has the same fingerprint.
///
/// # Errors
///
/// If a store or a parameter is not known, or a value is out of range.
pub(crate) fn resolve(mut recipe: Recipe) -> Result<Recipe, PipelineError> {
    for (name, table) in &mut recipe.build {
        *table = resolve_parameters(stores::find(name)?.info(), table)?;
    }
    if let Some(table) = &mut recipe.calibrate {
        for name in &table.store {
            stores::find(name)?;
        }
        table.store.sort();
        table.store.dedup();
        table.k.sort_unstable();
        table.k.dedup();
        table.target.sort_by(f64::total_cmp);
        table.target.dedup();
    }
    Ok(recipe)
}

pub(crate) fn run(
    name: &str,
    table: &BuildTable,
    stage: &mut Stage<'_>,
) -> Result<Outcome, PipelineError> {
    let progress = stage.context.progress;
    let store = stores::find(name)?;
    let info = store.info();
    let base = MappedNpy::<f32>::open(&stage.dir.join(Side::Base.vectors()))?;
    let unit_length = matrix::norms(base.blocks(), progress)?.unit;
    let sha256 = &stage.inputs[Side::Base.vectors()].sha256;
    let spec = BuildSpec {
        // A server tells datasets of one name apart by their base.
        name: format!("vprep {} {}", stage.recipe.name, &sha256[..12]),
        metric: stage.recipe.metric,
        unit_length,
        parameters: table.clone(),
    };
    let version = store.version()?;
    let dir = stage.outputs.create_dir(&index_dir(name))?;
    store.build(base.view(), &spec, &dir, progress)?;
    base_of_index::write(&dir, sha256)?;
    let facts = BuildFacts {
        engine: info.engine.to_owned(),
        version,
        knob: info.knob.map(str::to_owned),
        parameters: spec.parameters,
    };
    let parameters: Vec<_> =
        facts.parameters.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let parameters =
        if parameters.is_empty() { String::new() } else { format!(", {}", parameters.join(", ")) };
    let summary = format!(
        "{} {} over {} vectors{parameters}",
        info.engine,
        facts.version,
        grouped(base.rows() as u64)
    );
    Ok(Outcome::new(&facts, summary))
}
