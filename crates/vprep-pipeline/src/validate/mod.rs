//! Checks a dataset against its manifest, from the files alone.

mod checks;
mod neighbors;
mod report;
mod truth;

pub(crate) use checks::splits_hold;
pub use report::{Check, Report};
pub(crate) use truth::{recheck, truth_holds};

use crate::{Context, PipelineError};
use checks::Checker;
use std::fs;
use std::path::Path;
use vprep_manifest::{Manifest, ValidateTable};

/// Makes every check that a manifest allows. `table` says how many queries, drawn by seed, are
/// searched again by the plain float64 reference, and which published neighbours (a path as seen
/// from here) the truth is compared with.
///
/// # Errors
///
/// If the manifest cannot be read, neighbours of a whole base are given for a subset, or the user
/// stops the work. A difference is no error: the
/// report holds it.
pub fn validate(
    manifest: &Path,
    table: &ValidateTable,
    context: &Context<'_>,
) -> Result<Report, PipelineError> {
    let text = fs::read_to_string(manifest).map_err(PipelineError::read(manifest))?;
    let parsed = Manifest::parse(&text).map_err(PipelineError::dataset(manifest))?;
    let dir = manifest.parent().unwrap_or(Path::new(""));
    let neighbors = table.neighbors.as_deref();
    if let (Some(path), Some(subset)) = (neighbors, &parsed.subset) {
        return Err(PipelineError::NeighborsOfParent {
            path: path.to_owned(),
            rows: subset.rows,
            parent_rows: subset.parent_rows,
        });
    }
    let mut checker = Checker::new(dir, &parsed, context.progress);
    checker.manifest();
    checker.complete()?;
    checker.files()?;
    checker.vectors()?;
    checker.tables()?;
    checker.splits();
    checker.truth(table.recheck, neighbors)?;
    checker.stores()?;
    checker.gates();
    Ok(Report::new(manifest, &parsed, checker.into_checks()))
}
