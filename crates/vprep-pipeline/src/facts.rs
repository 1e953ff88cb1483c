//! What stages find out: kept in their records, and gathered by the manifest.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use vprep_manifest::{NormStats, SourceFile, ZeroRule};

/// Facts of `import`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ImportFacts {
    pub(crate) rows: u64,
    pub(crate) dim: u32,
    pub(crate) files: Vec<SourceFile>,
}

/// Facts of `normalize`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NormalizeFacts {
    pub(crate) zero: ZeroRule,
    pub(crate) norms: NormStats,
    pub(crate) dropped: u64,
}

/// Facts of `build`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BuildFacts {
    pub(crate) engine: String,
    pub(crate) version: String,
    pub(crate) knob: Option<String>,
    pub(crate) parameters: BTreeMap<String, u32>,
}
