//! One session that searches.

use crate::server::Server;
use crate::session::Session;
use crate::{KNOB, MAX_EF_SEARCH, extension, names, operators};
use pgvector::Vector;
use tokio_postgres::Statement;
use vprep_core::Metric;
use vprep_store::StoreError;

const OPERATION: &str = "searching";

/// Settings of a session that searches: the planner has no reason to scan or to sort, and makes
/// one plan for all queries. The last two bound iterative scans, and are pgvector's largest number
/// of rows and 100 times `work_mem`.
const SETTINGS: &str = "SET enable_seqscan = off; SET enable_sort = off;
    SET max_parallel_workers_per_gather = 0; SET plan_cache_mode = force_generic_plan;
    SET hnsw.max_scan_tuples = 2147483647; SET hnsw.scan_mem_multiplier = 100";

/// What is searched for, beside the query.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    /// The table.
    pub(crate) table: &'a str,
    /// The metric of its index.
    pub(crate) metric: Metric,
    /// Rows asked for.
    pub(crate) limit: usize,
    /// Value of `hnsw.ef_search`.
    pub(crate) ef_search: u32,
}

impl Search<'_> {
    /// Whether the engine's cap is below the rows asked for, so that iterative scans bring the
    /// rest.
    pub(crate) fn is_iterative(&self) -> bool {
        self.limit > MAX_EF_SEARCH as usize
    }

    fn sql(&self) -> String {
        let Self { table, limit, .. } = self;
        let operator = operators::operator(self.metric);
        format!("SELECT id FROM {table} ORDER BY v {operator} $1 LIMIT {limit}")
    }
}

/// A session, what its knob is set to, and the statement it has prepared for a number of rows.
pub(crate) struct Searcher {
    session: Session,
    set: Option<(u32, bool)>,
    prepared: Option<(usize, Statement)>,
}

impl Searcher {
    /// Connects.
    pub(crate) fn connect(server: &Server) -> Result<Self, StoreError> {
        let session = extension::connect(server)?;
        session.execute("setting up the session", SETTINGS)?;
        Ok(Self { session, set: None, prepared: None })
    }

    /// The session.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// The rows that the engine returns for a query, nearest first.
    pub(crate) fn search(
        &mut self,
        search: Search<'_>,
        query: &[f32],
    ) -> Result<Vec<i64>, StoreError> {
        let statement = self.prepare(search)?;
        let query = Vector::from(query.to_vec());
        let session = &self.session;
        let failed = |e| session.failed(OPERATION, &e);
        let rows = session.run(session.client().query(&statement, &[&query])).map_err(failed)?;
        rows.iter().map(|row| row.try_get(0).map_err(failed)).collect()
    }

    /// The plan of the very statement that answers queries, line by line, if it is anything but a
    /// scan of the table's HNSW index.
    pub(crate) fn other_plan(&mut self, search: Search<'_>) -> Result<Option<String>, StoreError> {
        const OPERATION: &str = "asking for the plan";
        let statement = self.prepare(search)?;
        let session = &self.session;
        let failed = |e| session.failed(OPERATION, &e);
        let sql = "SELECT name FROM pg_prepared_statements WHERE statement = $1";
        let rows = session.query(OPERATION, sql, &[&search.sql()])?;
        let name: String = match rows.first() {
            Some(row) => row.try_get(0).map_err(failed)?,
            None => return Ok(Some("unknown".to_owned())),
        };
        // It is planned only; a vector of one value will do.
        let sql = format!("EXPLAIN (COSTS OFF) EXECUTE {name}('[1]')");
        let rows = session.query(OPERATION, &sql, &[])?;
        drop(statement);
        let lines: Vec<String> =
            rows.iter().map(|row| row.try_get(0).map_err(failed)).collect::<Result<_, _>>()?;
        let expected =
            format!("->  Index Scan using {} on {}", names::index(search.table), search.table);
        let nodes = lines.iter().filter(|line| line.trim().starts_with("->")).count();
        let used = nodes == 1 && lines.iter().any(|line| line.trim() == expected);
        Ok((!used).then(|| lines.join(" ")))
    }

    /// Sets the knob and prepares the statement, unless that is done.
    fn prepare(&mut self, search: Search<'_>) -> Result<Statement, StoreError> {
        let wanted = (search.ef_search, search.is_iterative());
        if self.set != Some(wanted) {
            let scan = if wanted.1 { "strict_order" } else { "off" };
            let sql = format!("SET {KNOB} = {}; SET hnsw.iterative_scan = {scan}", wanted.0);
            self.session.execute("setting the knob", &sql)?;
            self.set = Some(wanted);
        }
        match &self.prepared {
            Some((limit, statement)) if *limit == search.limit => Ok(statement.clone()),
            _ => {
                let sql = search.sql();
                let prepared = self.session.run(self.session.client().prepare(&sql));
                let statement = prepared.map_err(|e| self.session.failed(OPERATION, &e))?;
                self.prepared = Some((search.limit, statement.clone()));
                Ok(statement)
            }
        }
    }
}
