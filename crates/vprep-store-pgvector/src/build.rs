//! Building a table and its index, in one transaction.

use crate::create_index::HnswIndex;
use crate::server::Server;
use crate::session::Session;
use crate::{
    EF_CONSTRUCTION, INFO, M, MAX_EF_CONSTRUCTION, NAME, error, extension, file, load, names,
};
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, IndexFacts, Location, StoreError};

/// The largest dimension of an HNSW index over the type `vector` (pgvector, `HNSW_MAX_DIM`).
const MAX_DIM: usize = 2000;

const REPLACING: &str = "replacing the table";

/// Builds the table of `spec.name` and writes `pgvector.json` and `index.json` into `dir`.
pub(crate) fn build(
    server: &Server,
    base: MatrixView<'_>,
    spec: &BuildSpec,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    progress.check()?;
    let (m, ef_construction) = limits(base, spec)?;
    let (session, version) = extension::connect_or_create(server)?;
    let build = names::new_build();
    let table = names::table(&spec.name);
    let unfinished = names::unfinished(&build);

    session.execute("starting the build", "BEGIN")?;
    let write = || {
        create_table(&session, &unfinished, base, progress)?;
        let index = HnswIndex { table: &unfinished, metric: spec.metric, m, ef_construction };
        index.create(&session, server, base, progress)?;
        replace(&session, &unfinished, &table, &build, progress)?;
        file::write(dir, &build)?;
        let location = Location::Collection(table.clone());
        IndexFacts::new(&INFO, version, base, spec, location).write(dir)?;
        progress.check()?;
        session.execute("publishing the table", "COMMIT")
    };
    let written = write();
    if written.is_err() {
        session.roll_back();
    }
    written
}

/// Refuses what pgvector cannot index, before anything is sent. Gives m and ef_construction.
fn limits(base: MatrixView<'_>, spec: &BuildSpec) -> Result<(u32, u32), StoreError> {
    let unsupported = |problem| Err(StoreError::Unsupported { store: NAME, problem });
    if base.rows() == 0 {
        return unsupported("the base has no rows".to_owned());
    }
    if base.dim() > MAX_DIM {
        return unsupported(format!(
            "its vectors have {} values, and pgvector's HNSW takes at most {MAX_DIM}",
            base.dim()
        ));
    }
    let parameter = |name: &str| {
        let value = spec.parameters.get(name).copied();
        value.ok_or_else(|| error::engine("setup", format!("no value for the parameter {name}")))
    };
    let (m, value) = (parameter(M)?, parameter(EF_CONSTRUCTION)?);
    // pgvector: "ef_construction must be greater than or equal to 2 * m".
    let (min, max) = (2 * m, MAX_EF_CONSTRUCTION);
    if value < min {
        let name = EF_CONSTRUCTION;
        return Err(StoreError::ParameterRange { store: NAME, name, value, min, max });
    }
    Ok((m, value))
}

/// The table with all its rows, keyed by row number. A row of the largest dimension fits a page, so
/// vectors lie in the table itself.
fn create_table(
    session: &Session,
    table: &str,
    base: MatrixView<'_>,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    session.execute(
        "creating the table",
        &format!(
            "CREATE TABLE {table} (id bigint NOT NULL, v vector({}) NOT NULL);
             ALTER TABLE {table} ALTER v SET STORAGE PLAIN, ALTER v SET STATISTICS 0",
            base.dim()
        ),
    )?;
    load::load(session, table, base, progress)?;
    let key = names::key(table);
    let sql = format!(
        "ALTER TABLE {table} ADD CONSTRAINT {key} PRIMARY KEY (id);
         ANALYZE {table}"
    );
    long(session, "numbering the rows", &sql, progress)
}

/// Puts the finished table in the place of the one it replaces.
fn replace(
    session: &Session,
    unfinished: &str,
    table: &str,
    build: &str,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    // It may have to wait for a reader of the old table.
    long(session, REPLACING, &format!("DROP TABLE IF EXISTS {table}"), progress)?;
    let rename = |kind: &str, name: fn(&str) -> String| {
        format!("ALTER {kind} {} RENAME TO {};", name(unfinished), name(table))
    };
    let sql = [
        format!("COMMENT ON TABLE {unfinished} IS '{}';", names::comment(build)),
        rename("INDEX", names::index),
        rename("INDEX", names::key),
        rename("TABLE", str::to_owned),
    ];
    session.execute(REPLACING, &sql.concat())
}

/// Runs statements that the user may interrupt.
fn long(
    session: &Session,
    operation: &'static str,
    sql: &str,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    session.execute_long(sql, progress, async || {})?.map_err(|e| session.failed(operation, &e))
}
