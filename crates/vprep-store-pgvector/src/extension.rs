//! The extension `vector` in the database.

use crate::error::{engine, unreachable};
use crate::server::Server;
use crate::session::Session;
use vprep_store::StoreError;

const OPERATION: &str = "looking for the extension";

/// The version of an extension that is there, and of one that could be created.
const INSTALLED: &str = "SELECT extversion FROM pg_extension WHERE extname = 'vector'";
const AVAILABLE: &str = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'";

/// Makes its types and operators visible wherever it was created, and loads its library, without
/// which its settings are unknown. (`LOAD` would do too, but not every user may.)
const LOADED: &str = "SELECT set_config('search_path',
        quote_ident(current_schema()) || ', ' || quote_ident(nspname), false)
    FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector';
    SELECT '[1]'::vector";

/// The oldest version whose settings this store uses.
const OLDEST: (u32, u32) = (0, 8);

/// The version of pgvector and of the server, as `0.8.5 (PostgreSQL 18.4)`. Where the extension is
/// not created yet, that of the one which a build would create.
///
/// # Errors
///
/// If there is none, or it is too old.
pub(crate) fn version(session: &Session) -> Result<String, StoreError> {
    let first = |sql| -> Result<Option<String>, StoreError> {
        let rows = session.query(OPERATION, sql, &[])?;
        let text = rows.first().map(|row| row.try_get(0)).transpose();
        text.map_err(|e| session.failed(OPERATION, &e))
    };
    let found = match first(INSTALLED)? {
        Some(version) => Some(version),
        None => first(AVAILABLE)?,
    };
    let Some(found) = found else {
        let message = "pgvector is not installed on the server; install it (packages call it \
                       postgresql-NN-pgvector) and run `CREATE EXTENSION vector`";
        return Err(unreachable(session.place(), message));
    };
    let mut numbers = found.split('.').map(|n| n.parse().unwrap_or(0));
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < OLDEST {
        let message = format!(
            "pgvector {found} is too old, 0.8 is needed; install it and run `ALTER EXTENSION vector UPDATE`"
        );
        return Err(unreachable(session.place(), message));
    }
    let server = first("SHOW server_version")?.unwrap_or_default();
    // Packages add their own version in parentheses.
    let server = server.split(' ').next().unwrap_or_default();
    Ok(format!("{found} (PostgreSQL {server})"))
}

/// Connects to a database that has the extension.
///
/// # Errors
///
/// [`StoreError::Unreachable`] if the server cannot be used, or the database has no extension.
pub(crate) fn connect(server: &Server) -> Result<Session, StoreError> {
    let session = Session::connect(server)?;
    if session.query(OPERATION, INSTALLED, &[])?.is_empty() {
        let message = "the database has no extension `vector`; run `CREATE EXTENSION vector` in it";
        return Err(unreachable(session.place(), message));
    }
    load(&session)?;
    Ok(session)
}

/// Connects, and creates the extension if the database has none.
///
/// # Errors
///
/// As [`connect`], and if the user may not create it.
pub(crate) fn connect_or_create(server: &Server) -> Result<(Session, String), StoreError> {
    let session = Session::connect(server)?;
    let version = version(&session)?;
    if session.query(OPERATION, INSTALLED, &[])?.is_empty() {
        let created = session.run(session.client().batch_execute("CREATE EXTENSION vector"));
        // Another session may have been faster.
        if let (Err(error), true) = (created, session.query(OPERATION, INSTALLED, &[])?.is_empty())
        {
            let cause =
                error.as_db_error().map_or_else(|| error.to_string(), |e| e.message().into());
            let message = format!(
                "the database has no extension `vector`, and it cannot be created ({cause}); run `CREATE EXTENSION vector` in it as a superuser"
            );
            return Err(unreachable(session.place(), message));
        }
    }
    load(&session)?;
    Ok((session, version))
}

fn load(session: &Session) -> Result<(), StoreError> {
    let schema = session.query(OPERATION, "SELECT current_schema()::text", &[])?;
    let schema: Option<String> = schema.first().and_then(|row| row.try_get(0).ok().flatten());
    if schema.is_none() {
        return Err(engine("choosing a schema", "none of the user's search_path exists"));
    }
    session.execute("loading the extension", LOADED)
}
