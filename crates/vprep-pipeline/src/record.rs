//! What is recorded of a finished stage, below `.vprep/stages`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use vprep_data::Content;
use vprep_manifest::StageRun;

/// A finished stage: the fingerprint of what went in, the digests of what came out, and what it
/// found out for the manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// Version of the stage's algorithm; a change of it makes the stage stale.
    pub(crate) algorithm: u32,
    /// Parameters, without paths.
    pub(crate) parameters: Value,
    /// Digest of each input, by its name.
    pub(crate) inputs: BTreeMap<String, Content>,
    /// Digest of each output, by its path in the dataset.
    pub(crate) outputs: BTreeMap<String, Content>,
    /// What the stage found out, in the stage's own type.
    pub(crate) facts: Value,
    /// The same in one line.
    pub(crate) summary: String,
    /// When and how long.
    pub(crate) run: StageRun,
}

/// Path of a stage's record, relative to the dataset.
pub(crate) fn path(stage: &str) -> String {
    format!(".vprep/stages/{stage}.json")
}

/// Reads a stage's record. An unreadable one counts as none: the stage runs again.
pub(crate) fn read(dir: &Path, stage: &str) -> Option<Record> {
    let text = fs::read(dir.join(path(stage))).ok()?;
    serde_json::from_slice(&text).ok()
}
