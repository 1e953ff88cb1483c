//! Reading a model's files.

use crate::EmbedError;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;
use vprep_data::{Content, DataError};

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, EmbedError> {
    Ok(fs::read(path).map_err(DataError::io("read", path))?)
}

/// A JSON file; `None` if it does not exist.
pub(crate) fn json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EmbedError> {
    if !path.exists() {
        return Ok(None);
    }
    let bytes = read(path)?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| EmbedError::Malformed {
        path: path.to_owned(),
        problem: error.to_string(),
    })
}

/// Size and sha256 of bytes.
pub(crate) fn content(bytes: &[u8]) -> Content {
    Content { bytes: bytes.len() as u64, sha256: hex(&Sha256::digest(bytes)) }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}
