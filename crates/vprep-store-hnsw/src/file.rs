//! `index.usearch` and its checksum.
//!
//! usearch follows the links of a loaded graph without checking them, so only what it wrote is
//! given back to it.

use crate::{NAME, engine};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use vprep_core::Progress;
use vprep_store::{StoreError, checksum};

/// The graph with its vectors, as usearch writes it.
pub(crate) const INDEX: &str = "index.usearch";

/// Writes the index and its checksum, both on the disk when this returns.
pub(crate) fn save(
    index: &usearch::Index,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    progress.check()?;
    let path = dir.join(INDEX);
    let io = |source| StoreError::Io { path: path.clone(), source };
    let name = path.to_str().ok_or_else(|| io(not_utf8()))?;
    index.save(name).map_err(|error| failed(&path, &error))?;

    // usearch does not look at the result of closing the file, where a full disk shows.
    let written = path.metadata().map_err(io)?.len();
    let expected = index.serialized_length() as u64;
    if written != expected {
        return Err(failed(&path, &format!("{written} bytes written, {expected} expected")));
    }
    checksum::write(&path, progress)
}

/// Why an index could not be written. usearch does not say; where a few more bytes cannot be
/// written either, the system does.
fn failed(path: &Path, error: &dyn std::fmt::Display) -> StoreError {
    let probe = path.with_extension("probe");
    let written = File::create(&probe).and_then(|mut file| {
        file.write_all(&[1; 1 << 16])?;
        file.sync_all()
    });
    // Best effort: the directory is a temporary one.
    let _ = std::fs::remove_file(&probe);
    match written {
        Err(source) => StoreError::Io { path: path.to_owned(), source },
        Ok(()) => engine(NAME, "writing the index", &error),
    }
}

/// Reads an index that is byte for byte the one saved.
pub(crate) fn load(index: &usearch::Index, dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(INDEX);
    checksum::verify(NAME, &path)?;
    let damaged =
        |problem: String| StoreError::NoIndex { store: NAME, path: path.clone(), problem };
    let name = path.to_str().ok_or_else(|| damaged(not_utf8().to_string()))?;
    index.load(name).map_err(|error| damaged(error.to_string()))
}

/// usearch takes paths as UTF-8.
fn not_utf8() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidInput, "usearch needs a path in UTF-8")
}
