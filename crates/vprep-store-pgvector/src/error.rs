//! What PostgreSQL says, as errors of a store.
//!
//! The server's messages about logging in name the user, so they are put in other words.

use crate::{NAME, URL};
use std::error::Error as _;
use tokio_postgres::Error;
use vprep_store::StoreError;

/// An error of connecting to the server at `place`.
pub(crate) fn connecting(place: &str, error: &Error) -> StoreError {
    let message = match error.as_db_error() {
        None => format!("{}; see that the server runs and that {URL} is right", chain(error)),
        Some(db) => match db.code().code() {
            "28P01" => format!("the server refuses the user or the password; check them in {URL}"),
            "28000" => "the server does not let this user in, or not from here, or not without \
                        TLS, which this store does not speak; see the server's pg_hba.conf"
                .to_owned(),
            "3D000" => "there is no such database; create it with `CREATE DATABASE`".to_owned(),
            "53300" => "the server has no connection left; raise its max_connections, or use \
                        fewer threads"
                .to_owned(),
            "57P03" => "the server is starting or stopping; try again in a moment".to_owned(),
            _ => db.message().to_owned(),
        },
    };
    unreachable(place, message)
}

/// An error of something asked of the server at `place`: [`StoreError::Unreachable`] where the
/// connection is lost, else [`StoreError::Engine`].
pub(crate) fn failed(place: &str, operation: &'static str, error: &Error) -> StoreError {
    let Some(db) = error.as_db_error() else {
        let lost = error.is_closed() || error.source().is_some_and(|e| e.is::<std::io::Error>());
        return if lost {
            broken(place, operation, &chain(error))
        } else {
            engine(operation, chain(error))
        };
    };
    let code = db.code().code();
    // Class 08: connection exceptions; 57P0x: the server or its administrator ends the session.
    if code.starts_with("08") || code.starts_with("57P") {
        return broken(place, operation, db.message());
    }
    let more = [db.detail(), db.hint()].into_iter().flatten();
    engine(operation, more.fold(db.message().to_owned(), |text, next| format!("{text}; {next}")))
}

fn broken(place: &str, operation: &str, cause: &str) -> StoreError {
    let message = format!(
        "the connection broke while {operation} ({cause}); see that the server runs, and try again"
    );
    unreachable(place, message)
}

/// [`StoreError::Unreachable`].
pub(crate) fn unreachable(place: &str, message: impl Into<String>) -> StoreError {
    StoreError::Unreachable { store: NAME, place: place.to_owned(), message: message.into() }
}

/// [`StoreError::Engine`].
pub(crate) fn engine(operation: &'static str, message: impl Into<String>) -> StoreError {
    StoreError::Engine { store: NAME, operation, message: message.into() }
}

/// An error and what caused it, on one line.
fn chain(error: &Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}
