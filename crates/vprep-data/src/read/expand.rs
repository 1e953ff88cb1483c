//! Files from the paths and patterns that a user gives.

use super::{Problem, ReadError};
use glob::{MatchOptions, Pattern};
use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The files that `patterns` name, relative ones below `relative_to`.
///
/// A pattern may be the path of a file, or hold `*`, `?`, `[a-z]` and, for any directories, `**`;
/// hidden files match only if it writes their dot. The files are in the order of their names and
/// then of their paths, numbers by value (`part-2` before `part-10`), each one once.
///
/// # Errors
///
/// If a pattern is malformed or matches no file, or a file is missing.
pub fn expand(patterns: &[PathBuf], relative_to: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let mut files = Vec::new();
    for pattern in patterns {
        let path = relative_to.join(pattern);
        let found = matches(pattern, &path, relative_to);
        files.extend(found.map_err(|problem| ReadError::new(path, problem))?);
    }
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(identity(file)));
    files.sort_by(|a, b| {
        alphanumeric_sort::compare_os_str(name(a), name(b))
            .then_with(|| alphanumeric_sort::compare_path(a, b))
            .then_with(|| a.cmp(b))
    });
    Ok(files)
}

/// The files that one pattern names. `path` is the pattern below `relative_to`.
fn matches(pattern: &Path, path: &Path, relative_to: &Path) -> Result<Vec<PathBuf>, Problem> {
    // A name with brackets is no pattern if there is such a file.
    let missing = match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(Problem::Directory { path: path.to_owned() }),
        Ok(_) => return Ok(vec![path.to_owned()]),
        Err(error) => error,
    };
    let text = pattern.to_str().filter(|text| text.contains(['*', '?', '[']));
    let (Some(text), Some(root)) = (text, relative_to.to_str()) else {
        return Err(Problem::io("open")(missing));
    };
    let text = if pattern.is_absolute() {
        text.to_owned()
    } else {
        let root = Path::new(&Pattern::escape(root)).join(text);
        root.to_str().expect("made of two strings").to_owned()
    };
    let options = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        // `is_hidden` sees to dots: with this, the library never matches one.
        require_literal_leading_dot: false,
    };
    let mut files = Vec::new();
    let found = glob::glob_with(&text, options);
    for file in found.map_err(|error| Problem::Pattern { reason: error.msg })? {
        let file = file.map_err(|error| Problem::io("list")(error.into()))?;
        if file.is_file() && !is_hidden(&file, path) {
            files.push(file);
        }
    }
    if files.is_empty() { Err(Problem::NoMatch) } else { Ok(files) }
}

/// Whether a file lies below a dot that its pattern does not write.
fn is_hidden(file: &Path, pattern: &Path) -> bool {
    let parts = |path: &Path| {
        let parts = path.components().filter(|part| *part != Component::CurDir);
        parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let (file, pattern) = (parts(file), parts(pattern));
    let plain = file.iter().zip(&pattern).take_while(|(a, b)| a == b).count();
    let dots = |parts: &[String]| parts.iter().any(|part| part.starts_with('.'));
    dots(&file[plain..]) && !dots(&pattern[plain..])
}

fn name(path: &Path) -> &std::ffi::OsStr {
    path.file_name().unwrap_or(path.as_os_str())
}

/// One value for every spelling of a path. Links stay apart: two shards may be the same blob of a
/// cache.
fn identity(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match fs::canonicalize(parent.unwrap_or(Path::new("."))) {
        Ok(parent) => parent.join(name(path)),
        Err(_) => path.to_owned(),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "files of a test, not of a dataset")]
mod tests {
    use super::*;

    fn directory(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().expect("below")).expect("creates");
            fs::write(path, "").expect("writes");
        }
        dir
    }

    /// What is found, below the directory.
    fn found(dir: &Path, patterns: &[&str]) -> Vec<String> {
        let patterns: Vec<_> = patterns.iter().map(PathBuf::from).collect();
        let files = expand(&patterns, dir).expect("finds");
        let below = |file: &PathBuf| file.strip_prefix(dir).expect("below").display().to_string();
        files.iter().map(below).collect()
    }

    #[test]
    fn numbers_count_across_all_files_and_each_file_once() {
        let dir = directory(&["a/part-10.npy", "a/part-2.npy", "b/part-3.npy", "b/part-2.npy"]);
        let all = found(dir.path(), &["b/*.npy", "a/part-10.npy", "a/*.npy", "a/../a/part-2.npy"]);
        assert_eq!(all, ["a/part-2.npy", "b/part-2.npy", "b/part-3.npy", "a/part-10.npy"]);
        assert_eq!(found(dir.path(), &["**/part-10.npy"]), ["a/part-10.npy"]);
        assert_eq!(found(dir.path(), &["?/part-[3-9].npy"]), ["b/part-3.npy"]);
    }

    #[test]
    fn hidden_files_and_directories_do_not_match() {
        let dir = directory(&["x.npy", ".x.npy", ".cache/x.npy", ".cache/.y.npy", "sub/y.npy"]);
        assert_eq!(found(dir.path(), &["*"]), ["x.npy"]);
        assert_eq!(found(dir.path(), &["**/*.npy"]), ["x.npy", "sub/y.npy"]);
        assert_eq!(found(dir.path(), &[".*"]), [".x.npy"]);
        assert_eq!(found(dir.path(), &[".cache/*"]), [".cache/x.npy"]);
        assert_eq!(found(&dir.path().join(".cache/.."), &["./*.npy"]), ["x.npy"]);
    }

    #[test]
    fn brackets_in_names_are_taken_as_they_are() {
        let dir = directory(&["set [1]/a[0].npy", "set [1]/a[1].npy"]);
        assert_eq!(found(dir.path(), &["set [1]/a[0].npy"]), ["set [1]/a[0].npy"]);
        let inner = dir.path().join("set [1]");
        assert_eq!(found(&inner, &["*.npy"]), ["a[0].npy", "a[1].npy"]);
        assert_eq!(expand(&[inner.join("a[[]1].npy")], dir.path()).expect_err("none").path, {
            inner.join("a[[]1].npy")
        });
    }

    #[test]
    fn what_is_not_there_is_named() {
        let dir = directory(&["sub/y.npy"]);
        let error = |pattern: &str| {
            let error = expand(&[PathBuf::from(pattern)], dir.path()).expect_err("nothing");
            let prefix = format!("{}/", dir.path().display());
            error.to_string().replace(&prefix, "")
        };
        assert_eq!(error("x.npy"), "x.npy: cannot open: no such file or directory");
        assert_eq!(error("*.npy"), "*.npy: matches no file");
        assert_eq!(error("s*"), "s*: matches no file");
        assert_eq!(error("sub"), "sub: is a directory; name its files, as in `sub/*.parquet`");
        assert_eq!(
            error("a**"),
            "a**: is not a valid pattern: recursive wildcards must form a single path component"
        );
    }
}
