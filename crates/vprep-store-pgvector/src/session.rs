//! A connection, used from sync code.

use crate::error;
use crate::server::Server;
use std::pin::pin;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, NoTls, Row};
use vprep_core::{Interrupted, Progress};
use vprep_store::StoreError;

/// How often a long statement looks whether the user asked to stop.
const POLL: Duration = Duration::from_millis(100);

/// How long a cancelled statement may take to end.
const GRACE: Duration = Duration::from_secs(10);

/// Settings of every session, set where the server knows them: no time limits from the server's or
/// the user's own settings, and statements that end when vprep is gone.
const SETTINGS: &str = "SELECT set_config(name, value, false) FROM pg_settings JOIN (VALUES
    ('statement_timeout', '0'), ('lock_timeout', '0'), ('transaction_timeout', '0'),
    ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0'),
    ('client_connection_check_interval', '1s'), ('jit', 'off')) AS wanted (name, value)
    USING (name)";

/// A connection with the thread-less runtime that drives it.
pub(crate) struct Session {
    client: Client,
    runtime: Runtime,
    place: String,
}

impl Session {
    /// Connects.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreachable`], which says what to do.
    pub(crate) fn connect(server: &Server) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| error::engine("starting the runtime", e.to_string()))?;
        let client =
            runtime.block_on(connect(server)).map_err(|e| error::connecting(server.place(), &e))?;
        let session = Self { client, runtime, place: server.place().to_owned() };
        session.query("setting up the session", SETTINGS, &[])?;
        Ok(session)
    }

    /// A second connection, driven by the same runtime.
    pub(crate) fn companion(&self, server: &Server) -> Result<Client, StoreError> {
        self.runtime.block_on(connect(server)).map_err(|e| error::connecting(server.place(), &e))
    }

    /// The connection, for futures that [`run`](Self::run) then drives.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Host, port and database.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// What an error of the server is for a store.
    pub(crate) fn failed(&self, operation: &'static str, error: &Error) -> StoreError {
        error::failed(&self.place, operation, error)
    }

    /// Drives a future to its end.
    pub(crate) fn run<T, E>(&self, future: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        self.runtime.block_on(future)
    }

    /// Runs statements that return nothing.
    pub(crate) fn execute(&self, operation: &'static str, sql: &str) -> Result<(), StoreError> {
        self.run(self.client.batch_execute(sql)).map_err(|e| self.failed(operation, &e))
    }

    /// Runs one statement and returns its rows.
    pub(crate) fn query(
        &self,
        operation: &'static str,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        self.run(self.client.query(sql, parameters)).map_err(|e| self.failed(operation, &e))
    }

    /// Runs statements that may take long. `tick` is called every now and then; when the user asks
    /// to stop, the statement is cancelled on the server.
    pub(crate) fn execute_long(
        &self,
        sql: &str,
        progress: &dyn Progress,
        mut tick: impl AsyncFnMut(),
    ) -> Result<Result<(), Error>, Interrupted> {
        self.runtime.block_on(async {
            let mut statement = pin!(self.client.batch_execute(sql));
            loop {
                if let Ok(ended) = timeout(POLL, statement.as_mut()).await {
                    return Ok(ended);
                }
                if let Err(interrupted) = progress.check() {
                    // Best effort: if it does not get through, the server ends the statement when
                    // it finds the connection closed.
                    let _ = timeout(GRACE, self.client.cancel_token().cancel_query(NoTls)).await;
                    let _ = timeout(GRACE, statement).await;
                    return Err(interrupted);
                }
                tick().await;
            }
        })
    }

    /// Ends a transaction and all that was done in it. Where this does not get through, the server
    /// does it when it finds the connection closed.
    pub(crate) fn roll_back(&self) {
        let _ = self
            .runtime
            .block_on(async { timeout(GRACE, self.client.batch_execute("ROLLBACK")).await });
    }
}

/// Connects on the current runtime, which drives the connection from then on.
async fn connect(server: &Server) -> Result<Client, Error> {
    let (client, connection) = server.config().connect(NoTls).await?;
    // Its end shows in the next use of the client.
    tokio::spawn(connection);
    Ok(client)
}
