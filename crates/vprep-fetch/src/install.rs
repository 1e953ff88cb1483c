//! Putting files in place, whole: written aside, synced, renamed.

use crate::FetchError;
use crate::digest::Hasher;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use tempfile::NamedTempFile;
use vprep_core::{Progress, Task};

/// Begins a file beside `target`, whose directory is made if need be.
pub(crate) fn aside(target: &Path) -> Result<NamedTempFile, FetchError> {
    let dir = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(FetchError::io("create", dir))?;
    tempfile::Builder::new()
        .prefix(".vprep-")
        .suffix(".tmp")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(dir)
        .map_err(FetchError::io("create", target))
}

/// Syncs a file begun with [`aside`] and moves it into place.
pub(crate) fn place(file: NamedTempFile, target: &Path) -> Result<(), FetchError> {
    file.as_file().sync_all().map_err(FetchError::io("write", target))?;
    file.persist(target).map_err(|error| FetchError::io("write", target)(error.error))?;
    let dir = target.parent().unwrap_or(Path::new("."));
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(FetchError::io("sync", dir))
}

/// Writes a small file.
pub(crate) fn write(target: &Path, text: &[u8]) -> Result<(), FetchError> {
    let mut file = aside(target)?;
    file.write_all(text).map_err(FetchError::io("write", target))?;
    place(file, target)
}

/// Makes `target` a hard link to `from`; false if they lie on different file systems.
pub(crate) fn link(from: &Path, target: &Path) -> Result<bool, FetchError> {
    let dir = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(FetchError::io("create", dir))?;
    let linked = tempfile::Builder::new()
        .prefix(".vprep-")
        .suffix(".tmp")
        .make_in(dir, |aside| fs::hard_link(from, aside));
    match linked {
        Ok(aside) => {
            // Of two names of one file, `rename` would leave the temporary one.
            let _ = fs::remove_file(target);
            aside.persist(target).map_err(|error| FetchError::io("link", target)(error.error))?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(FetchError::io("link", from)(error))
        }
        Err(_) => Ok(false),
    }
}

/// Copies a stream to `target` and returns its length and sha256.
pub(crate) fn copy(
    from: &mut dyn Read,
    source: &Path,
    target: &Path,
    progress: &dyn Progress,
    task: &dyn Task,
) -> Result<(u64, String), FetchError> {
    let mut file = aside(target)?;
    let mut hash = Hasher::sha256();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        progress.check()?;
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(FetchError::io("read", source)(error)),
        };
        file.write_all(&buffer[..read]).map_err(FetchError::io("write", target))?;
        hash.update(&buffer[..read]);
        bytes += read as u64;
        task.advance(read as u64);
    }
    place(file, target)?;
    Ok((bytes, hash.finish()))
}
