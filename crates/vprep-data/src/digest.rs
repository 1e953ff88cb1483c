//! sha256 of files and directories.

use crate::DataError;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use vprep_core::Progress;

/// Size and digest of a file's content, or of a directory's.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Bytes of the file; of all files for a directory.
    pub bytes: u64,
    /// sha256 in hexadecimal.
    pub sha256: String,
}

/// Reads a file, or every file below a directory, and returns its digest.
///
/// A directory's digest is the sha256 of one line `<sha256>  <path>` for each file below it, paths
/// relative to it with `/`, sorted: what `sha256sum` would print.
///
/// # Errors
///
/// If something cannot be read, or the user stops the work.
pub fn content(path: &Path, progress: &dyn Progress) -> Result<Content, DataError> {
    if !path.is_dir() {
        return file_content(path, progress);
    }
    let mut files = Vec::new();
    for file in files_below(path)? {
        files.push((slashed(&file), file_content(&path.join(&file), progress)?));
    }
    Ok(listing_content(files))
}

/// The digest of a directory whose files are known by path (with `/`) and content.
pub fn listing_content(mut files: Vec<(String, Content)>) -> Content {
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let mut lines = Sha256::new();
    let mut bytes = 0;
    for (path, content) in files {
        bytes += content.bytes;
        lines.update(format!("{}  {path}\n", content.sha256));
    }
    Content { bytes, sha256: hex(&lines.finalize()) }
}

/// The files below a directory, relative to it, sorted by their `/` form.
///
/// # Errors
///
/// If the directory cannot be listed, or holds something that is neither file nor directory.
pub fn files_below(dir: &Path) -> Result<Vec<PathBuf>, DataError> {
    fn walk(root: &Path, below: &Path, files: &mut Vec<PathBuf>) -> Result<(), DataError> {
        let dir = root.join(below);
        let entries = fs::read_dir(&dir).map_err(DataError::io("list", &dir))?;
        for entry in entries {
            let entry = entry.map_err(DataError::io("list", &dir))?;
            let kind = entry.file_type().map_err(DataError::io("read", entry.path()))?;
            let path = below.join(entry.file_name());
            if kind.is_dir() {
                walk(root, &path, files)?;
            } else if kind.is_file() {
                files.push(path);
            } else {
                return Err(DataError::malformed(
                    entry.path(),
                    "neither a file nor a directory; a dataset holds nothing else",
                ));
            }
        }
        Ok(())
    }
    let mut files = Vec::new();
    walk(dir, Path::new(""), &mut files)?;
    files.sort_by_key(|path| slashed(path));
    Ok(files)
}

/// A relative path with `/` between its parts.
pub fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

fn file_content(path: &Path, progress: &dyn Progress) -> Result<Content, DataError> {
    let mut file = File::open(path).map_err(DataError::io("open", path))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        progress.check()?;
        match file.read(&mut buffer).map_err(DataError::io("read", path))? {
            0 => return Ok(Content { bytes, sha256: hex(&hash.finalize()) }),
            read => {
                hash.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use vprep_core::Silent;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a parent")).expect("creates");
        File::create(path).and_then(|mut f| f.write_all(text.as_bytes())).expect("writes");
    }

    #[test]
    fn a_directory_changes_with_any_name_or_byte_below_it() {
        let dir = tempfile::tempdir().expect("a directory");
        put(&dir.path().join("a/b"), "abc");
        put(&dir.path().join("c"), "");
        let digest = |dir: &Path| content(dir, &Silent).expect("reads");
        let first = digest(dir.path());
        assert_eq!(first.bytes, 3);
        let file = digest(&dir.path().join("a/b"));
        assert!(file.sha256.starts_with("ba7816bf8f01cfea414140de5dae2223"), "sha256 of abc");
        put(&dir.path().join("a/b"), "abd");
        assert_ne!(digest(dir.path()).sha256, first.sha256);
        put(&dir.path().join("a/b"), "abc");
        assert_eq!(digest(dir.path()), first);
        fs::rename(dir.path().join("c"), dir.path().join("d")).expect("renames");
        assert_ne!(digest(dir.path()).sha256, first.sha256);
    }
}
