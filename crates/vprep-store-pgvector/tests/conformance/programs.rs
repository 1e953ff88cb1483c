//! The programs of a server, where the user that runs them can read them.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

/// The user and group `nobody`, as which servers run where the tests run as root: PostgreSQL
/// refuses root.
pub(crate) const NOBODY: u32 = 65534;

/// Whether root owns a file that this process made.
pub(crate) fn is_root(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.uid() == 0)
}

/// The programs where another user can read them: linked, or copied, into `dir`, together with the
/// libraries that a wheel keeps two directories above.
pub(crate) fn readable(programs: &Path, dir: &Path) -> PathBuf {
    let package = programs.parent().unwrap();
    let (package_name, name) = (package.file_name().unwrap(), programs.file_name().unwrap());
    let mut libraries = package_name.to_owned();
    libraries.push(".libs");
    let site = dir.join("programs");
    for directory in [&site, &site.join(package_name)] {
        make_directory(directory);
    }
    let from = package.with_file_name(&libraries);
    if from.is_dir() {
        link_all(&from, &site.join(&libraries));
    }
    let to = site.join(package_name).join(name);
    make_directory(&to);
    for part in ["bin", "lib", "share"] {
        link_all(&programs.join(part), &to.join(part));
    }
    to
}

fn make_directory(path: &Path) {
    std::fs::create_dir(path).unwrap();
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

fn link_all(from: &Path, to: &Path) {
    make_directory(to);
    for entry in std::fs::read_dir(from).unwrap() {
        let (entry, to) = (entry.as_ref().unwrap(), to.join(entry.as_ref().unwrap().file_name()));
        if entry.file_type().unwrap().is_dir() {
            link_all(&entry.path(), &to);
        } else if std::fs::hard_link(entry.path(), &to).is_err() {
            std::fs::copy(entry.path(), &to).unwrap();
        }
    }
}
