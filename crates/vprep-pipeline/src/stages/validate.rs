//! `validate` as a stage: a recipe that ends with it fails if a check does.

use super::Outcome;
use crate::PipelineError;
use crate::dataset::MANIFEST;
use crate::run::Stage;
use crate::validate::validate;
use vprep_manifest::ValidateTable;

pub(crate) fn run(table: &ValidateTable, stage: &mut Stage<'_>) -> Result<Outcome, PipelineError> {
    let path = stage.dir.join(MANIFEST);
    let neighbors = table.neighbors.as_ref().map(|neighbors| stage.dir.join(neighbors));
    let table = ValidateTable { neighbors, ..table.clone() };
    let report = validate(&path, &table, stage.context)?;
    let total = report.checks.len();
    let mut failures = report.failures();
    match failures.next() {
        None => Ok(Outcome::new(&total, format!("{total} checks passed"))),
        Some(first) => Err(PipelineError::ChecksFailed {
            first: first.to_string(),
            failed: 1 + failures.count(),
            total,
            path,
        }),
    }
}
