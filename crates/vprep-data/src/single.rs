//! Publishing one file by itself, for state that is not an output of a stage.

use crate::publish::{StagedFile, sync_dir};
use crate::{Content, DataError};
use std::fs;
use std::path::Path;

/// Writes the file at `target`, which appears whole or not at all: it is written beside the target
/// with `.tmp` added to its name, synced, and renamed. Only one process may write a target at a
/// time.
///
/// # Errors
///
/// Those of `write`, or if the system refuses. Then the target stands as it did before.
pub fn publish_file<E: From<DataError>>(
    target: &Path,
    write: impl FnOnce(&mut StagedFile) -> Result<(), E>,
) -> Result<Content, E> {
    let staged = target.with_added_extension("tmp");
    let mut file = StagedFile::create(&staged, target.to_owned())?;
    write(&mut file)?;
    let content = file.finish()?;
    fs::rename(&staged, target).map_err(DataError::io("write", target))?;
    sync_dir(target.parent().expect("a file lies in a directory"))?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_target_stands_until_its_successor_is_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("a.bin");
        let put = |text: &'static str, result| {
            publish_file(&target, |file| {
                file.write_all(text.as_bytes()).map_err(DataError::io("write", file.path()))?;
                result
            })
        };
        let content = put("abc", Ok(())).expect("writes");
        assert!(content.bytes == 3 && content.sha256.starts_with("ba7816bf"));
        let stop = Err(DataError::Interrupted(vprep_core::Interrupted));
        put("other", stop).expect_err("stops");
        assert_eq!(fs::read(&target).expect("reads"), b"abc");
        put("other", Ok(())).expect("writes");
        assert_eq!(fs::read(&target).expect("reads"), b"other");
    }
}
