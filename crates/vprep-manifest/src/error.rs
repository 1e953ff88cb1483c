//! What can be wrong with a file of this crate's types.

use vprep_core::{Failure, Kind};

/// A recipe, manifest, calibration or split that cannot be used. The caller adds the path.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The text is not TOML, or a key is unknown, missing or of the wrong type.
    #[error("line {line}: {message}")]
    Toml {
        /// Line of the fault, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// A value is outside its range.
    #[error("{key} = {value} is out of range; it must be {allowed}")]
    Range {
        /// The key with its table, as in `truth.k`.
        key: &'static str,
        /// The value found.
        value: String,
        /// The allowed values in words.
        allowed: &'static str,
    },
    /// Two tables that exclude each other, or one that needs another.
    #[error("{0}")]
    Tables(&'static str),
    /// The text is not JSON, or a key is unknown, missing or of the wrong type.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// The schema number is one that this version does not know.
    #[error("schema {found} is not known to this version, which reads schema {known}")]
    Schema {
        /// The number in the file.
        found: u32,
        /// The number this version reads.
        known: u32,
    },
}

impl Failure for FormatError {
    fn kind(&self) -> Kind {
        match self {
            Self::Toml { .. } | Self::Range { .. } | Self::Tables(_) => Kind::Usage,
            Self::Json(_) | Self::Schema { .. } => Kind::Data,
        }
    }
}

/// Fails unless `found` is the schema this version reads.
pub(crate) fn check_schema(found: u32) -> Result<(), FormatError> {
    let known = crate::SCHEMA;
    if found == known { Ok(()) } else { Err(FormatError::Schema { found, known }) }
}
