//! What the checks found.

use serde::Serialize;
use std::fmt;
use std::path::Path;
use vprep_manifest::{Manifest, SCHEMA};

/// All checks of one dataset: what `validate --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Format of this report.
    pub schema: u32,
    /// The manifest.
    pub manifest: String,
    /// Name of the dataset.
    pub name: String,
    /// Digest that the manifest states.
    pub digest: String,
    /// Whether every check passed.
    pub passed: bool,
    /// In the order in which they were made.
    pub checks: Vec<Check>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// File that was looked at, relative to the manifest.
    pub file: String,
    /// What was looked at.
    pub check: &'static str,
    /// What is wrong; none if nothing is.
    pub problem: Option<String>,
}

impl Report {
    pub(crate) fn new(path: &Path, manifest: &Manifest, checks: Vec<Check>) -> Self {
        Self {
            schema: SCHEMA,
            manifest: path.display().to_string(),
            name: manifest.name.clone(),
            digest: manifest.digest.clone(),
            passed: checks.iter().all(|check| check.problem.is_none()),
            checks,
        }
    }

    /// The checks that found something.
    pub fn failures(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.problem.is_some())
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.check)?;
        self.problem.iter().try_for_each(|problem| write!(f, ": {problem}"))
    }
}
