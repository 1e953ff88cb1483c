//! A checksum beside a file that an engine reads without checking it.
//!
//! Engines follow the offsets and links of a loaded index wherever they lead, so a damaged file
//! would be read out of bounds. The checksum stands between: only what the engine wrote is given
//! back to it. It is the XXH3 hash of 128 bits in the format of `xxh128sum`, in a file of the same
//! name with `.xxh128` behind it.

use crate::StoreError;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use vprep_core::{Interrupted, Progress, Silent};
use xxhash_rust::xxh3::Xxh3;

/// Writes the checksum of the file at `path`; both are on the disk when this returns.
///
/// # Errors
///
/// If a file cannot be read or written, or the user stops the work.
pub fn write(path: &Path, progress: &dyn Progress) -> Result<(), StoreError> {
    let io = |source| StoreError::Io { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(io)?;
    file.sync_all().map_err(io)?;
    let digest = digest(&mut file, progress).map_err(io)??;
    let line = format!("{digest}  {}\n", file_name(path));
    let path = beside(path);
    File::create(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|source| StoreError::Io { path, source })
}

/// Compares the file at `path`, of an index of `store`, with its checksum.
///
/// # Errors
///
/// [`StoreError::NoIndex`] if either is missing or unreadable, or they differ.
pub fn verify(store: &'static str, path: &Path) -> Result<(), StoreError> {
    let no_index =
        |path: &Path, problem| StoreError::NoIndex { store, path: path.to_owned(), problem };
    let sum = beside(path);
    let unreadable = |error: std::io::Error| no_index(path, error.to_string());
    let expected =
        std::fs::read_to_string(&sum).map_err(|error| no_index(&sum, error.to_string()))?;
    let mut file = File::open(path).map_err(unreadable)?;
    let found = digest(&mut file, &Silent).map_err(unreadable)??;
    if expected.split_whitespace().next() != Some(&found) {
        let problem = format!("damaged: its bytes differ from {}", file_name(&sum));
        return Err(no_index(path, problem));
    }
    Ok(())
}

/// Where the checksum of a file lies.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".xxh128");
    name.into()
}

/// The last part of a path, to be read by people.
fn file_name(path: &Path) -> std::borrow::Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of three bytes with its checksum.
    fn written() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index.bin");
        File::create(&path).unwrap().write_all(b"abc").unwrap();
        write(&path, &Silent).unwrap();
        (dir, path)
    }

    #[test]
    fn the_line_is_that_of_xxh128sum() {
        let (dir, path) = written();
        let line = std::fs::read_to_string(dir.path().join("index.bin.xxh128")).unwrap();
        assert_eq!(line, "06b05ab6733a618578af5f94892f3950  index.bin\n");
        verify("s", &path).unwrap();
    }

    #[test]
    fn a_changed_file_and_missing_ones_are_no_index() {
        let (dir, path) = written();
        File::create(&path).unwrap().write_all(b"abd").unwrap();
        let error = verify("s", &path).unwrap_err().to_string();
        assert!(error.contains("differ from index.bin.xxh128"), "{error}");
        for name in ["index.bin", "index.bin.xxh128"] {
            std::fs::remove_file(dir.path().join(name)).unwrap();
            let error = verify("s", &path).unwrap_err();
            assert!(matches!(error, StoreError::NoIndex { .. }), "{error}");
        }
    }
}
