//! Checksums beside files that an engine reads without checking them.
//!
//! Engines follow the offsets and links of a loaded index wherever they lead, and any file that
//! they find in its folder, so a damaged index would be read out of bounds. The checksums stand
//! between: only what the engine wrote, all of it and nothing else, is given back to it. They are
//! XXH3 hashes of 128 bits in the format of `xxh128sum`, a line for each file, in a file of the
//! index's name with `.xxh128` behind it.

use crate::StoreError;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use vprep_core::{Interrupted, Progress, Silent};
use xxhash_rust::xxh3::Xxh3;

/// Writes the checksums of the file, or of all files in the folder, at `path`. The files and their
/// checksums are on the disk when this returns.
///
/// # Errors
///
/// If a file cannot be read or written, or the user stops the work.
pub fn write(path: &Path, progress: &dyn Progress) -> Result<(), StoreError> {
    let mut lines = String::new();
    for name in list(path).map_err(io_error(path))? {
        let path = path.with_file_name(&name);
        let mut file = File::open(&path).map_err(io_error(&path))?;
        file.sync_all().map_err(io_error(&path))?;
        let digest = digest(&mut file, progress).map_err(io_error(&path))??;
        lines += &format!("{digest}  {name}\n");
    }
    let path = beside(path);
    File::create(&path)
        .and_then(|mut file| file.write_all(lines.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(io_error(&path))
}

/// Compares the file or folder at `path`, of an index of `store`, with its checksums. Gives the
/// bytes of all its files.
///
/// # Errors
///
/// [`StoreError::NoIndex`] if a file is missing, unreadable, of no checksum or not of its own.
pub fn verify(store: &'static str, path: &Path) -> Result<u64, StoreError> {
    let no_index =
        |path: &Path, problem| StoreError::NoIndex { store, path: path.to_owned(), problem };
    let sums = beside(path);
    let lines = std::fs::read_to_string(&sums).map_err(|e| no_index(&sums, e.to_string()))?;
    let expected: Vec<_> = lines.lines().filter_map(|line| line.split_once("  ")).collect();
    let mut bytes = 0;
    for &(checksum, name) in &expected {
        let path = path.with_file_name(name);
        let read = File::open(&path)
            .and_then(|mut file| Ok((file.metadata()?.len(), digest(&mut file, &Silent)?)));
        let (size, found) = read.map_err(|error| no_index(&path, error.to_string()))?;
        if found? != checksum {
            let problem = format!("damaged: its bytes differ from {}", file_name(&sums));
            return Err(no_index(&path, problem));
        }
        bytes += size;
    }
    let found = list(path).map_err(|error| no_index(path, error.to_string()))?;
    let foreign = found.iter().find(|&name| expected.iter().all(|(_, known)| known != name));
    match foreign {
        Some(name) => {
            let problem = format!("damaged: {name} is not in {}", file_name(&sums));
            Err(no_index(path, problem))
        }
        None => Ok(bytes),
    }
}

/// The names, from the folder of `path` on, of the file at `path` or of all files in the folder
/// there, sorted.
///
/// # Errors
///
/// If a folder cannot be read.
pub fn list(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut waiting = vec![file_name(path)];
    while let Some(name) = waiting.pop() {
        let path = path.with_file_name(&name);
        if !path.is_dir() {
            names.push(name);
            continue;
        }
        for entry in std::fs::read_dir(path)? {
            // A name that is not UTF-8 is none of an engine's and has no checksum.
            waiting.push(format!("{name}/{}", entry?.file_name().to_string_lossy()));
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { path: path.clone(), source }
}

/// Where the checksums of a file or folder lie.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".xxh128");
    name.into()
}

/// The last part of a path.
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The checksum of a file, in hexadecimal.
fn digest(file: &mut File, progress: &dyn Progress) -> io::Result<Result<String, Interrupted>> {
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

    #[test]
    fn a_folder_is_all_of_its_files_and_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("shard");
        std::fs::create_dir_all(folder.join("a/b")).unwrap();
        for (name, text) in [("z", "abc"), ("a/b/c", "")] {
            File::create(folder.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
        }
        write(&folder, &Silent).unwrap();
        let lines = std::fs::read_to_string(scratch.path().join("shard.xxh128")).unwrap();
        let expected = "99aa06d3014798d86001c324468d497f  shard/a/b/c\n\
                        06b05ab6733a618578af5f94892f3950  shard/z\n";
        assert_eq!(lines, expected);
        assert_eq!(verify("s", &folder).unwrap(), 3);

        let other = folder.join("a/other");
        File::create(&other).unwrap();
        let error = verify("s", &folder).unwrap_err().to_string();
        assert!(error.contains("shard/a/other is not in shard.xxh128"), "{error}");
        std::fs::remove_file(other).unwrap();
        std::fs::remove_file(folder.join("a/b/c")).unwrap();
        let error = verify("s", &folder).unwrap_err().to_string();
        assert!(error.contains("shard/a/b/c"), "{error}");
    }
}
