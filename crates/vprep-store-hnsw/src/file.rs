//! `index.usearch` and its checksum.
//!
//! usearch follows the links of a loaded graph without checking them, so a damaged file would be
//! read out of bounds. The checksum stands between: only what usearch wrote is given back to it.

use crate::{NAME, engine};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use vprep_core::{Interrupted, Progress, Silent};
use vprep_store::StoreError;
use xxhash_rust::xxh3::Xxh3;

/// The graph with its vectors, as usearch writes it.
pub(crate) const INDEX: &str = "index.usearch";

/// XXH3 of 128 bits over [`INDEX`], in the format of `xxh128sum`.
pub(crate) const CHECKSUM: &str = "index.usearch.xxh128";

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

    let mut file = File::open(&path).map_err(io)?;
    file.sync_all().map_err(io)?;
    // usearch does not look at the result of closing the file, where a full disk shows.
    let (length, expected) = (file.metadata().map_err(io)?.len(), index.serialized_length() as u64);
    if length != expected {
        return Err(failed(&path, &format!("{length} bytes written, {expected} expected")));
    }
    let line = format!("{}  {INDEX}\n", digest(&mut file, progress).map_err(io)??);

    let path = dir.join(CHECKSUM);
    File::create(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|source| StoreError::Io { path, source })
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
    verify(dir)?;
    let path = dir.join(INDEX);
    let damaged =
        |problem: String| StoreError::NoIndex { store: NAME, path: path.clone(), problem };
    let name = path.to_str().ok_or_else(|| damaged(not_utf8().to_string()))?;
    index.load(name).map_err(|error| damaged(error.to_string()))
}

/// Compares the index with its checksum.
fn verify(dir: &Path) -> Result<(), StoreError> {
    let no_index = |name: &str, problem: String| StoreError::NoIndex {
        store: NAME,
        path: dir.join(name),
        problem,
    };
    let unreadable = |error: std::io::Error| no_index(INDEX, error.to_string());
    let expected = std::fs::read_to_string(dir.join(CHECKSUM))
        .map_err(|error| no_index(CHECKSUM, error.to_string()))?;
    let mut file = File::open(dir.join(INDEX)).map_err(unreadable)?;
    let found = digest(&mut file, &Silent).map_err(unreadable)?.unwrap_or_default();
    if expected.split_whitespace().next() != Some(&found) {
        return Err(no_index(INDEX, format!("damaged: its bytes differ from {CHECKSUM}")));
    }
    Ok(())
}

/// The checksum of a file, in hexadecimal.
fn digest(
    file: &mut File,
    progress: &dyn Progress,
) -> std::io::Result<Result<String, Interrupted>> {
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        if let Err(interrupted) = progress.check() {
            return Ok(Err(interrupted));
        }
        match file.read(&mut buffer)? {
            0 => return Ok(Ok(format!("{:032x}", hasher.digest128()))),
            length => hasher.update(&buffer[..length]),
        }
    }
}

/// usearch takes paths as UTF-8.
fn not_utf8() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidInput, "usearch needs a path in UTF-8")
}
