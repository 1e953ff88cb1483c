//! `validate`: every check of a manifest, and exit code 4 if one fails.

use super::dataset;
use crate::cli::{Global, ValidateArgs};
use crate::error::CliError;
use crate::output::Output;
use vprep_core::Kind;
use vprep_manifest::ValidateTable;
use vprep_pipeline::validate::{Report, validate as check};
use vprep_pipeline::{Context, MANIFEST};

pub(crate) fn validate(
    args: &ValidateArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let path = match &args.path {
        Some(path) => path.clone(),
        None => dataset(global)?,
    };
    let manifest = if path.is_dir() { path.join(MANIFEST) } else { path };
    let table = ValidateTable { recheck: args.recheck, neighbors: args.neighbors.clone() };
    let report = check(&manifest, &table, context)?;
    output.result(&report, || text(&report))?;
    Ok((!report.passed).then_some(Kind::Check))
}

fn text(report: &Report) -> String {
    let mut text: String = report
        .checks
        .iter()
        .map(|check| {
            let state = if check.problem.is_none() { "ok  " } else { "FAIL" };
            format!("{state}  {check}\n")
        })
        .collect();
    let (total, failed) = (report.checks.len(), report.failures().count());
    let name = &report.name;
    text += &match failed {
        0 => format!("{name}: {total} checks passed, digest {}\n", report.digest),
        _ => format!("{name}: {failed} of {total} checks failed\n"),
    };
    text
}
