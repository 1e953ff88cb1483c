//! `CREATE INDEX`, with an eye on the user.

use crate::engine;
use duckdb::Connection;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;
use vprep_core::Progress;
use vprep_store::StoreError;

/// How often the user is asked.
const EVERY: Duration = Duration::from_millis(50);

/// How long the engine gets to stop by itself once it is told to.
const GRACE: Duration = Duration::from_secs(1);

/// Runs a long statement and gives the connection back. It runs on a thread of its own, because
/// the extension does not stop adding rows when it is told to: after an interruption that thread
/// is left behind with the connection.
pub(crate) fn run(
    connection: Connection,
    sql: String,
    progress: &dyn Progress,
) -> Result<Connection, StoreError> {
    let interrupt = connection.interrupt_handle();
    let (done, waiting) = sync_channel(1);
    let work = move || {
        let result = connection.execute_batch(&sql).map(|()| connection);
        // Nobody waits any more after an interruption.
        let _ = done.send(result);
    };
    let failed = |message: &dyn std::fmt::Display| engine("building the index", message);
    std::thread::Builder::new()
        .name("duckdb-build".to_owned())
        .spawn(work)
        .map_err(|error| failed(&error))?;
    loop {
        match waiting.recv_timeout(EVERY) {
            Ok(result) => return result.map_err(|error| failed(&error)),
            Err(RecvTimeoutError::Disconnected) => return Err(failed(&"its thread has ended")),
            Err(RecvTimeoutError::Timeout) => progress.check().inspect_err(|_| {
                interrupt.interrupt();
                let _ = waiting.recv_timeout(GRACE);
            })?,
        }
    }
}
