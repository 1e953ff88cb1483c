//! Building the database.

use crate::contents::Contents;
use crate::database::{self, FILE};
use crate::{EF_CONSTRUCTION, INFO, M, NAME, batch, create, engine, metric};
use duckdb::Connection;
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, IndexFacts, Location, StoreError, checksum};

/// Values that are copied at a time, 4 MiB of them.
const VALUES: usize = 1 << 20;

/// Values in a vector at most: the largest size of DuckDB's type ARRAY.
const LARGEST_DIM: usize = 100_000;

/// Copies the base into a table, builds its index on as many threads as rayon's current pool has,
/// and closes the file.
pub(crate) fn build(
    base: MatrixView<'_>,
    spec: &BuildSpec,
    dir: &Path,
    extension: Option<&Path>,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    progress.check()?;
    if base.rows() == 0 {
        return Err(engine("building", &"the base has no rows"));
    }
    if base.dim() > LARGEST_DIM {
        let problem = format!("dim {} is above {LARGEST_DIM}", base.dim());
        return Err(StoreError::Unsupported { store: NAME, problem });
    }
    let statement = create_index(spec)?;
    let connection = database::create(dir, rayon::current_num_threads(), extension)?;
    let location = Location::Path(FILE.to_owned());
    let facts = IndexFacts::new(&INFO, database::version(&connection)?, base, spec, location);

    copy(&connection, base, progress)?;
    let task = progress.task("building duckdb", 0, "rows");
    let connection = create::run(connection, statement, progress)?;
    drop(task);
    Contents::read(&connection)
        .map_err(|error| engine("checking the index", &error))?
        .check(&facts, dir)?;
    progress.check()?;
    close(connection, dir)?;
    checksum::write(&dir.join(FILE), progress)?;
    facts.write(dir)
}

/// The statement that builds the index.
fn create_index(spec: &BuildSpec) -> Result<String, StoreError> {
    let parameter = |name: &str| {
        let value = spec.parameters.get(name).copied();
        value.ok_or_else(|| engine("setup", &format!("no value for the parameter {name}")))
    };
    let (m, ef_construction) = (parameter(M)?, parameter(EF_CONSTRUCTION)?);
    let (m0, metric) = (2 * m, metric::of_index(spec.metric));
    Ok(format!(
        "CREATE INDEX base_vector ON base USING HNSW (vector) \
         WITH (metric = '{metric}', M = {m}, M0 = {m0}, ef_construction = {ef_construction})"
    ))
}

/// Copies the base in one transaction. The rows get the ids 0, 1, … in their order.
fn copy(
    connection: &Connection,
    base: MatrixView<'_>,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    let failed = |error| engine("copying rows", &error);
    let dim = base.dim();
    let table =
        format!("CREATE TABLE base (\"row\" BIGINT NOT NULL, vector FLOAT[{dim}] NOT NULL)");
    connection.execute_batch(&format!("BEGIN; {table}")).map_err(failed)?;
    let task = progress.task("copying rows to duckdb", base.rows() as u64, "rows");
    let mut appender = connection.appender("base").map_err(failed)?;
    let step = (VALUES / dim).max(1);
    for first in (0..base.rows()).step_by(step) {
        progress.check()?;
        let part = base.slice(first..(first + step).min(base.rows()));
        batch::append(&mut appender, part, first)?;
        task.advance(part.rows() as u64);
    }
    appender.flush().map_err(failed)?;
    drop(appender);
    connection.execute_batch("COMMIT").map_err(failed)
}

/// Brings everything into the one file.
fn close(connection: Connection, dir: &Path) -> Result<(), StoreError> {
    let failed = |error| engine("closing the database", &error);
    connection.execute_batch("CHECKPOINT").map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    // The log, which the extension could not replay, and what did not fit into memory.
    for left in ["wal", "tmp"] {
        let path = dir.join(format!("{FILE}.{left}"));
        if path.exists() {
            return Err(engine("closing the database", &format!("{} is left", path.display())));
        }
    }
    Ok(())
}
