//! Names that come from a server or an archive and must stay below a directory.

use std::path::{Component, Path, PathBuf};

/// The path of `name` below a directory, or nothing if it could leave it: absolute names, `..`,
/// drive letters, and names that hide in `\` or NUL.
pub(crate) fn below(name: &str) -> Option<PathBuf> {
    if name.contains(['\\', '\0']) || name.contains("//") || name.ends_with('/') {
        return None;
    }
    let mut path = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (path.components().next().is_some()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::below;
    use std::path::Path;

    #[test]
    fn nothing_leads_out() {
        for bad in ["", ".", "/etc/passwd", "../x", "a/../../x", "a\\..\\x", "a//b", "a/", "a\0b"] {
            assert_eq!(below(bad), None, "{bad:?}");
        }
        assert_eq!(below("./a/b.tsv").as_deref(), Some(Path::new("a/b.tsv")));
        assert_eq!(below("a/..b").as_deref(), Some(Path::new("a/..b")));
    }
}
