//! Databases in memory and in files, with the extension loaded.

use crate::{engine, extension};
use duckdb::{AccessMode, Config, Connection};
use std::path::{Path, PathBuf};
use vprep_store::StoreError;

/// The file of an index.
pub(crate) const FILE: &str = "index.duckdb";

/// The rewriting that turns "the k nearest of each query" into a scan before the extension, which
/// looks for the shape that it had before, gets to see it.
pub(crate) const IN_THE_WAY: &str = "top_n_window_elimination";

/// A database in memory, to ask the engine about itself.
pub(crate) fn in_memory(extension: Option<&Path>) -> Result<Connection, StoreError> {
    let failed = |error| engine("setup", &error);
    let config = settings(1).map_err(failed)?;
    let connection = Connection::open_in_memory_with_flags(config).map_err(failed)?;
    extension::load(&connection, extension)?;
    Ok(connection)
}

/// A new database in the file `dir`/[`FILE`], on `threads` threads.
pub(crate) fn create(
    dir: &Path,
    threads: usize,
    extension: Option<&Path>,
) -> Result<Connection, StoreError> {
    let failed = |error| engine("creating the database", &error);
    let config = settings(threads).map_err(failed)?;
    let connection = Connection::open_with_flags(file(dir)?, config).map_err(failed)?;
    extension::load(&connection, extension)?;
    // HNSW indexes in files are an experiment: the extension cannot replay them from a log after a
    // crash. An index that is published has no log.
    connection
        .execute_batch("SET hnsw_enable_experimental_persistence = true")
        .map_err(|error| engine("setup", &error))?;
    Ok(connection)
}

/// The database of an index, which is not changed. The outer error is one of the engine as such,
/// the inner one that of this file.
pub(crate) fn open(
    dir: &Path,
    extension: Option<&Path>,
) -> Result<Result<Connection, duckdb::Error>, StoreError> {
    let failed = |error| engine("setup", &error);
    // A statement runs on the thread that asks it; many are asked at once. Nothing is ever written
    // beside the file.
    let config = settings(1)
        .and_then(|config| config.access_mode(AccessMode::ReadOnly))
        .and_then(|config| config.with("temp_directory", ""))
        .map_err(failed)?;
    let connection = match Connection::open_with_flags(file(dir)?, config) {
        Ok(connection) => connection,
        Err(error) => return Ok(Err(error)),
    };
    extension::load(&connection, extension)?;
    connection
        .execute_batch(&format!("SET disabled_optimizers = '{IN_THE_WAY}'"))
        .map_err(failed)?;
    Ok(Ok(connection))
}

/// The versions of DuckDB and of the extension.
pub(crate) fn version(connection: &Connection) -> Result<String, StoreError> {
    const SQL: &str = "SELECT version(), extension_version FROM duckdb_extensions() \
                       WHERE extension_name = 'vss' AND loaded";
    let (duckdb, vss): (String, String) = connection
        .query_row(SQL, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(|error| engine("asking for the version", &error))?;
    Ok(format!("{} with vss {vss}", duckdb.trim_start_matches('v')))
}

fn settings(threads: usize) -> duckdb::Result<Config> {
    let threads = i64::try_from(threads).unwrap_or(i64::MAX);
    Config::default()
        .threads(threads)?
        .with("autoinstall_known_extensions", "false")?
        .with("autoload_known_extensions", "false")
}

/// The path of the database. It is absolute, since DuckDB reads a leading `name:` as the type of a
/// foreign database.
fn file(dir: &Path) -> Result<PathBuf, StoreError> {
    let path = dir.join(FILE);
    std::path::absolute(&path).map_err(|source| StoreError::Io { path, source })
}
