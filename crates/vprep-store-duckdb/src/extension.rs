//! Where the VSS extension lies, and loading it.

use crate::NAME;
use duckdb::Connection;
use std::path::{Path, PathBuf};
use vprep_store::StoreError;

/// The environment variable with the path of the extension, a file `vss.duckdb_extension` for the
/// version of DuckDB in use.
pub const EXTENSION: &str = "VPREP_DUCKDB_VSS";

const EXAMPLE: &str =
    "the path of vss.duckdb_extension, as in the Python package duckdb-extension-vss";

/// Loads the extension at `path`, else the one that [`EXTENSION`] names, else the one that DuckDB
/// has installed.
pub(crate) fn load(connection: &Connection, path: Option<&Path>) -> Result<(), StoreError> {
    let from_environment = || std::env::var_os(EXTENSION).filter(|value| !value.is_empty());
    match path.map(Path::to_owned).or_else(|| from_environment().map(PathBuf::from)) {
        Some(path) => load_file(connection, &path),
        // It looks among the installed ones only; a name is never fetched.
        None => connection.execute_batch("LOAD vss").map_err(|_| StoreError::NotConfigured {
            store: NAME,
            variable: EXTENSION,
            example: EXAMPLE,
        }),
    }
}

fn load_file(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let unusable = |message: String| StoreError::Unreachable {
        store: NAME,
        place: path.display().to_string(),
        message: format!("{message}; {EXTENSION} should be {EXAMPLE}"),
    };
    // A relative path could be taken for the name of an extension, or for a scheme and a host.
    let whole = std::path::absolute(path).map_err(|error| unusable(error.to_string()))?;
    let text = whole.to_str().ok_or_else(|| unusable("not a path in UTF-8".to_owned()))?;
    if !whole.is_file() {
        return Err(unusable("no such file".to_owned()));
    }
    connection
        .execute_batch(&format!("LOAD {}", quoted(text)))
        .map_err(|error| unusable(error.to_string()))
}

/// A string of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
