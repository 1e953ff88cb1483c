//! An extension that is not there, or not the right one.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use vprep_core::{Failure, Kind};
use vprep_store::{Store, StoreError};
use vprep_store_duckdb::{DuckdbStore, EXTENSION};

/// Asks for the version with the extension at `path` and returns the message.
fn refused(path: &Path) -> String {
    let error = DuckdbStore::with_extension(path.to_owned()).version().expect_err("no extension");
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert_eq!(error.kind(), Kind::Unreachable);
    let message = error.to_string();
    assert!(message.contains(EXTENSION), "{message}");
    message
}

/// The extension in use; none where it is the installed one.
fn extension() -> Option<Vec<u8>> {
    let path = PathBuf::from(std::env::var_os(EXTENSION)?);
    Some(std::fs::read(path).expect("the extension"))
}

#[test]
fn a_missing_extension_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("it's; DROP.duckdb_extension");
    let message = refused(&path);
    assert!(message.contains("no such file") && message.contains("it's; DROP"), "{message}");
    refused(dir.path());
    // Not the name of an extension, and nothing to be fetched.
    assert!(refused(Path::new("httpfs")).contains("no such file"));
    assert!(refused(Path::new("http://localhost/vss")).contains("no such file"));
}

#[test]
fn a_file_that_is_no_extension_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("vss.duckdb_extension");
    for bytes in [&b""[..], b"no extension", &[0; 4_096]] {
        File::create(&path).unwrap().write_all(bytes).unwrap();
        refused(&path);
    }
}

#[test]
fn a_damaged_extension_and_one_of_another_version_are_refused() {
    let Some(whole) = extension() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("vss.duckdb_extension");
    let put = |bytes: &[u8]| File::create(&path).unwrap().write_all(bytes).unwrap();

    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    put(&damaged);
    refused(&path);

    // The version stands in the last 512 bytes.
    let mut other = whole;
    let end = other.len() - 512;
    let at = other[end..].windows(6).position(|part| part == b"v1.5.5").expect("a version");
    other[end + at..][..6].copy_from_slice(b"v1.4.0");
    put(&other);
    let message = refused(&path);
    assert!(message.contains("v1.4.0"), "{message}");
}

#[test]
fn a_path_with_quotes_works() {
    let Some(whole) = extension() else { return };
    let dir = tempfile::tempdir().unwrap();
    let hostile = dir.path().join("it's \"x\"; -- 数据 %20");
    std::fs::create_dir(&hostile).unwrap();
    let path = hostile.join("vss.duckdb_extension");
    File::create(&path).unwrap().write_all(&whole).unwrap();
    DuckdbStore::with_extension(path).version().expect("the same extension");
}

#[test]
fn without_any_extension_the_variable_is_named() {
    const MARK: &str = "VPREP_TEST_WITHOUT_EXTENSION";
    if std::env::var_os(MARK).is_none() {
        // This test again, in a process with another environment.
        let home = tempfile::tempdir().unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "extension::without_any_extension_the_variable_is_named"])
            .env_remove(EXTENSION)
            .env("HOME", home.path())
            .env(MARK, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "something was installed");
        return;
    }
    let error = DuckdbStore::new().version().expect_err("no extension");
    assert!(matches!(error, StoreError::NotConfigured { variable: EXTENSION, .. }), "{error:?}");
    assert_eq!(error.kind(), Kind::Unreachable);
}
