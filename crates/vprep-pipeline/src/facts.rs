//! What stages find out: kept in their records, and gathered by the manifest.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use vprep_manifest::{
    EmbeddedTexts, EmbeddingFacts, FetchFacts, NormStats, SourceFile, SourceTable, ZeroRule,
};

/// Facts of `fetch`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FetchStageFacts {
    /// What the catalogue says of the source.
    pub(crate) about: Option<SourceTable>,
    /// Digest of the catalogue's entry.
    pub(crate) entry: Option<String>,
    pub(crate) fetched: FetchFacts,
}

/// Facts of `manifest`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ManifestFacts {
    /// The manifest's digest.
    pub(crate) digest: String,
    /// Digest of what the fetch found out.
    pub(crate) fetched: Option<String>,
}

/// Facts of `import`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ImportFacts {
    pub(crate) rows: u64,
    pub(crate) dim: u32,
    pub(crate) files: Vec<SourceFile>,
}

/// Facts of `embed`'s first half.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TextsFacts {
    pub(crate) rows: u64,
    pub(crate) files: Vec<SourceFile>,
}

/// Facts of `embed`'s second half.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EmbedFacts {
    /// Without the texts of either side.
    pub(crate) model: EmbeddingFacts,
    pub(crate) texts: EmbeddedTexts,
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
