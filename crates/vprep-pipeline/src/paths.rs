//! Paths of source files, as seen from the dataset.
//!
//! Links are followed before paths are compared: `dataset/../x` is what the system makes of it,
//! wherever `dataset` points to.

use crate::PipelineError;
use std::fs;
use std::path::{Path, PathBuf};

/// `path`, which exists, as seen from `dir`, which need not.
pub(crate) fn relative(path: &Path, dir: &Path) -> Result<PathBuf, PipelineError> {
    let path = fs::canonicalize(path).map_err(PipelineError::read(path))?;
    let dir = real(dir)?;
    let relative = pathdiff::diff_paths(&path, dir).unwrap_or_else(|| path.clone());
    match relative.to_str() {
        Some(_) => Ok(relative),
        None => Err(PipelineError::Usage(format!(
            "{}: a name that is not UTF-8 cannot stand in dataset.toml; rename it",
            path.display()
        ))),
    }
}

/// An absolute path without links, whose last parts may not exist yet.
fn real(path: &Path) -> Result<PathBuf, PipelineError> {
    let absolute = std::path::absolute(path).map_err(PipelineError::read(path))?;
    for there in absolute.ancestors() {
        if let Ok(real) = fs::canonicalize(there) {
            let rest = absolute.strip_prefix(there).expect("an ancestor is a prefix");
            return Ok(real.join(rest));
        }
    }
    Ok(absolute)
}

/// A path that exists, for people: as seen from here, where that is shorter.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    let Ok(real) = fs::canonicalize(path) else { return path.to_owned() };
    let here = std::env::current_dir().and_then(fs::canonicalize);
    let seen = here.ok().and_then(|here| pathdiff::diff_paths(&real, here));
    seen.filter(|seen| seen.as_os_str().len() < real.as_os_str().len()).unwrap_or(real)
}
