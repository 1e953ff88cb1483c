//! The checksum beside the database.
//!
//! The extension does not look at what it reads of an index: of a damaged one it takes links to
//! nowhere, or nothing at all. The checksum stands between: only what DuckDB wrote is given back to
//! it.

use crate::NAME;
use crate::database::FILE;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use vprep_core::{Interrupted, Progress, Silent};
use vprep_store::StoreError;
use xxhash_rust::xxh3::Xxh3;

/// XXH3 of 128 bits over [`FILE`], in the format of `xxh128sum`.
pub(crate) const CHECKSUM: &str = "index.duckdb.xxh128";

/// Brings the database onto the disk and writes its checksum.
pub(crate) fn write(dir: &Path, progress: &dyn Progress) -> Result<(), StoreError> {
    let path = dir.join(FILE);
    let io = |source| StoreError::Io { path: path.clone(), source };
    let mut file = File::open(&path).map_err(io)?;
    file.sync_all().map_err(io)?;
    let line = format!("{}  {FILE}\n", digest(&mut file, progress).map_err(io)??);
    let path = dir.join(CHECKSUM);
    File::create(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|source| StoreError::Io { path, source })
}

/// Compares the database with its checksum.
pub(crate) fn verify(dir: &Path) -> Result<(), StoreError> {
    let no_index = |name: &str, problem: String| StoreError::NoIndex {
        store: NAME,
        path: dir.join(name),
        problem,
    };
    let unreadable = |error: std::io::Error| no_index(FILE, error.to_string());
    let expected = std::fs::read_to_string(dir.join(CHECKSUM))
        .map_err(|error| no_index(CHECKSUM, error.to_string()))?;
    let mut file = File::open(dir.join(FILE)).map_err(unreadable)?;
    let found = digest(&mut file, &Silent).map_err(unreadable)?.unwrap_or_default();
    if expected.split_whitespace().next() != Some(&found) {
        return Err(no_index(FILE, format!("damaged: its bytes differ from {CHECKSUM}")));
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
