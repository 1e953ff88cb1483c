//! Files of this machine.

use crate::plan::Patterns;
use crate::record::Record;
use crate::{FetchError, FetchedFile, Options, Verified, digest, install, record};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use vprep_core::{Progress, Task};

/// Installs a file, or the files below a directory. Each is hashed first: a file that is already
/// in place is not copied again.
pub(crate) fn fetch(
    from: &Path,
    options: &Options,
    record: &mut Record,
    progress: &dyn Progress,
) -> Result<Vec<FetchedFile>, FetchError> {
    let mut files = Vec::new();
    let meta = fs::metadata(from).map_err(FetchError::io("read", from))?;
    if meta.is_dir() {
        walk(from, Path::new(""), &mut files)?;
        files.sort();
    } else {
        let name =
            from.file_name().and_then(|name| name.to_str()).ok_or_else(|| FetchError::Source {
                text: from.display().to_string(),
                problem: "it has no file name".to_owned(),
            })?;
        files.push((name.to_owned(), from.to_owned()));
    }
    let listed = files.len();
    let patterns = Patterns::new(&options.include)?;
    files.retain(|(name, _)| patterns.select(name));
    if files.is_empty() {
        return Err(patterns.nothing(&from.display().to_string(), listed));
    }
    let total = files.iter().filter_map(|(_, path)| fs::metadata(path).ok()).map(|m| m.len()).sum();
    let task = progress.task("fetch", total, "B");
    let install =
        |(name, path): (String, PathBuf)| one(&name, &path, options, record, progress, &*task);
    files.into_iter().map(install).collect()
}

fn one(
    name: &str,
    from: &Path,
    options: &Options,
    record: &mut Record,
    progress: &dyn Progress,
    task: &dyn Task,
) -> Result<FetchedFile, FetchError> {
    let content = digest::content(from, None, progress)?;
    task.advance(content.bytes);
    let identity = format!("sha256:{}", content.sha256);
    if let Some(file) = record.installed(name, &identity, progress)? {
        return Ok(file);
    }
    let target = options.into.join(name);
    let installed = record::Installed {
        identity,
        bytes: content.bytes,
        sha256: content.sha256,
        url: from.display().to_string(),
        verified: Verified::Local,
    };
    record.put(name, installed.clone())?;
    let same = |a: &Path, b: &Path| matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if same(from, &target) || options.link && install::link(from, &target)? {
        return Ok(installed.fetched(name));
    }
    let mut file = File::open(from).map_err(FetchError::io("open", from))?;
    let silent = vprep_core::Silent;
    let (bytes, sha256) = install::copy(&mut file, from, &target, progress, &silent)?;
    if sha256 != installed.sha256 {
        return Err(FetchError::Digest {
            url: installed.url,
            algorithm: "sha256",
            expected: installed.sha256,
            found: sha256,
        });
    }
    debug_assert_eq!(bytes, installed.bytes);
    Ok(installed.fetched(name))
}

fn walk(root: &Path, below: &Path, files: &mut Vec<(String, PathBuf)>) -> Result<(), FetchError> {
    let dir = root.join(below);
    for entry in fs::read_dir(&dir).map_err(FetchError::io("list", &dir))? {
        let entry = entry.map_err(FetchError::io("list", &dir))?;
        let path = below.join(entry.file_name());
        let meta = fs::metadata(entry.path()).map_err(FetchError::io("read", entry.path()))?;
        if entry.file_name().to_string_lossy().starts_with(".vprep") {
            continue;
        }
        if meta.is_dir() && !entry.path().is_symlink() {
            walk(root, &path, files)?;
        } else if meta.is_file()
            && let Some(name) = path.to_str()
        {
            files.push((name.to_owned(), root.join(&path)));
        }
    }
    Ok(())
}
