//! Clearing parts that dead processes left.

use super::{LOG, SUFFIX, log_of};
use std::fs::{self, File};
use std::path::Path;

/// Removes parts in `dir` that no process has, if `orphan` says so of their name or they are older
/// than two weeks, and journals without a part.
pub(crate) fn sweep(dir: &Path, orphan: &dyn Fn(&str) -> bool) {
    const OLD: std::time::Duration = std::time::Duration::from_secs(14 * 24 * 3600);
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if let Some(part) = name.strip_suffix(LOG).filter(|name| name.ends_with(SUFFIX)) {
            if !dir.join(part).exists() {
                let _ = fs::remove_file(&path);
            }
            continue;
        }
        if !name.ends_with(SUFFIX) {
            continue;
        }
        let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
        if (orphan(&name) || age.is_some_and(|age| age > OLD))
            && File::open(&path).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = fs::remove_file(log_of(&path));
            let _ = fs::remove_file(&path);
        }
    }
}
