//! `CREATE INDEX`: memory, parallel workers, progress and interruption.

use crate::error::engine;
use crate::server::Server;
use crate::session::Session;
use crate::{memory, names, operators};
use std::time::{Duration, Instant};
use tokio_postgres::{Client, Error};
use vprep_core::{MatrixView, Metric, Progress, Task, norm};
use vprep_store::StoreError;

const OPERATION: &str = "creating the index";

/// How often the server is asked how far it is.
const LOOK: Duration = Duration::from_millis(500);

/// An index to create.
pub(crate) struct HnswIndex<'a> {
    pub(crate) table: &'a str,
    pub(crate) metric: Metric,
    pub(crate) m: u32,
    pub(crate) ef_construction: u32,
}

impl HnswIndex<'_> {
    /// Creates it in the current transaction, with as many processes as rayon's current pool has
    /// threads; if the server has no shared memory for that (containers often have 64 MB), with
    /// one.
    pub(crate) fn create(
        &self,
        session: &Session,
        server: &Server,
        base: MatrixView<'_>,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        let processes = rayon::current_num_threads();
        let shape = (base.rows(), base.dim(), self.m);
        let memory = memory::maintenance_kb(session, server, shape, processes)?;
        // The process of the session builds too. PostgreSQL accepts at most 1024.
        let workers = (processes - 1).min(1024);
        session.execute(
            OPERATION,
            &format!(
                "SET LOCAL maintenance_work_mem = '{memory}kB';
                 SET LOCAL max_parallel_maintenance_workers = {workers};
                 SAVEPOINT alone"
            ),
        )?;
        match self.attempt(session, server, base, progress)? {
            Err(error) if workers > 0 && is_shortage(&error) => {
                session.execute(
                    OPERATION,
                    "ROLLBACK TO SAVEPOINT alone;
                     SET LOCAL max_parallel_maintenance_workers = 0",
                )?;
                self.attempt(session, server, base, progress)?
            }
            ended => ended,
        }
        .map_err(|e| session.failed(OPERATION, &e))?;
        self.check_rows(session, base)
    }

    fn attempt(
        &self,
        session: &Session,
        server: &Server,
        base: MatrixView<'_>,
        progress: &dyn Progress,
    ) -> Result<Result<(), Error>, StoreError> {
        let Self { table, m, ef_construction, .. } = self;
        let sql = format!(
            "CREATE INDEX {} ON {table} USING hnsw (v {}) WITH (m = {m}, ef_construction = {ef_construction})",
            names::index(table),
            operators::class(self.metric)
        );
        let task = progress.task("building pgvector", base.rows() as u64, "rows");
        let mut watcher = Watcher::new(session, server, task)?;
        Ok(session.execute_long(&sql, progress, async || watcher.look().await)?)
    }

    /// Compares the number of rows that PostgreSQL counted into the index with the base.
    fn check_rows(&self, session: &Session, base: MatrixView<'_>) -> Result<(), StoreError> {
        let sql = "SELECT reltuples::float8 FROM pg_class WHERE oid = to_regclass($1)";
        let rows = session.query(OPERATION, sql, &[&names::index(self.table)])?;
        let found: f64 = match rows.first() {
            Some(row) => row.try_get(0).map_err(|e| session.failed(OPERATION, &e))?,
            None => 0.0,
        };
        // pgvector leaves zero vectors out of a cosine index.
        let left_out = match self.metric {
            Metric::Cosine => base.iter().filter(|row| norm(row) == 0.0).count(),
            Metric::Ip | Metric::L2 => 0,
        };
        let expected = (base.rows() - left_out) as f64;
        // PostgreSQL keeps the number as f32.
        if (found - expected).abs() > expected * f64::from(f32::EPSILON) {
            return Err(engine(OPERATION, format!("{found} rows are in it, not {expected}")));
        }
        Ok(())
    }
}

/// Class 53: the server is out of memory, of disk or of room in `/dev/shm`.
fn is_shortage(error: &Error) -> bool {
    error.code().is_some_and(|code| code.code().starts_with("53"))
}

/// Asks over a second connection how far the first one is.
struct Watcher {
    client: Client,
    pid: i32,
    task: Box<dyn Task>,
    done: u64,
    next: Instant,
}

impl Watcher {
    fn new(session: &Session, server: &Server, task: Box<dyn Task>) -> Result<Self, StoreError> {
        let rows = session.query(OPERATION, "SELECT pg_backend_pid()", &[])?;
        let pid = rows.first().and_then(|row| row.try_get(0).ok()).unwrap_or_default();
        let client = session.companion(server)?;
        Ok(Self { client, pid, task, done: 0, next: Instant::now() + LOOK })
    }

    /// Tells the task, if it is time again. What fails here fails in the statement itself too.
    async fn look(&mut self) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + LOOK;
        let sql = "SELECT tuples_done FROM pg_stat_progress_create_index WHERE pid = $1";
        let row = self.client.query_opt(sql, &[&self.pid]).await;
        let done: Option<i64> = row.ok().flatten().and_then(|row| row.try_get(0).ok());
        let done = done.and_then(|done| u64::try_from(done).ok()).unwrap_or_default();
        self.task.advance(done.saturating_sub(self.done));
        self.done = self.done.max(done);
    }
}
