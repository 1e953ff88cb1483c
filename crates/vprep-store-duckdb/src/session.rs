//! A connection that answers one batch of queries after another.

use crate::{KNOB, batch, engine, metric};
use duckdb::Connection;
use vprep_core::{MatrixView, Metric};
use vprep_store::StoreError;

/// The extension's operator for a lateral join that its index answers.
const OPERATOR: &str = "HNSW_INDEX_JOIN";

/// A connection with its own knob and its own table of queries.
pub(crate) struct Session {
    connection: Connection,
    /// The knob as it is set; 0 before the first search.
    knob: u32,
    /// The k whose plan has been looked at, and whether it uses the index.
    plan: Option<(usize, bool)>,
}

/// The rows found for a batch of queries.
pub(crate) struct Found {
    /// Pairs of the query's place in the batch and a row id, in any order.
    pub(crate) pairs: Vec<(i64, i64)>,
    /// Whether the index has answered, and not a scan.
    pub(crate) by_index: bool,
}

impl Session {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, knob: 0, plan: None }
    }

    /// Finds `k` rows for each query.
    pub(crate) fn search(
        &mut self,
        queries: MatrixView<'_>,
        metric: Metric,
        k: usize,
        knob: u32,
    ) -> Result<Found, StoreError> {
        if self.knob != knob {
            self.execute(&format!("SET SESSION {KNOB} = {knob}"))?;
            self.knob = knob;
        }
        self.put(queries)?;
        let distance = metric::function(metric);
        let sql = format!(
            "SELECT asked.number, near.found FROM temp.asked, LATERAL \
             (SELECT rowid AS found FROM base ORDER BY {distance}(base.vector, asked.vector) \
             LIMIT {k}) AS near"
        );
        let by_index = match self.plan {
            Some((planned, by_index)) if planned == k => by_index,
            _ => self.uses_index(&sql)?,
        };
        self.plan = Some((k, by_index));
        let failed = |error| engine("searching", &error);
        let mut statement = self.connection.prepare(&sql).map_err(failed)?;
        let pairs = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .and_then(Iterator::collect)
            .map_err(failed)?;
        Ok(Found { pairs, by_index })
    }

    /// Makes these the queries.
    fn put(&self, queries: MatrixView<'_>) -> Result<(), StoreError> {
        let failed = |error| engine("copying queries", &error);
        // A new table each time: rows that are deleted would still be there to be skipped.
        self.execute(&format!(
            "CREATE OR REPLACE TEMP TABLE asked (number BIGINT, vector FLOAT[{}])",
            queries.dim()
        ))?;
        let mut appender =
            self.connection.appender_to_catalog_and_db("asked", "temp", "main").map_err(failed)?;
        batch::append(&mut appender, queries, 0)?;
        appender.flush().map_err(failed)
    }

    /// Whether the engine plans to answer from the index.
    fn uses_index(&self, sql: &str) -> Result<bool, StoreError> {
        self.connection
            .query_row(&format!("EXPLAIN {sql}"), [], |row| row.get::<_, String>(1))
            .map(|plan| plan.contains(OPERATOR))
            .map_err(|error| engine("asking for the plan", &error))
    }

    fn execute(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|error| engine("searching", &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database;

    #[test]
    fn a_scan_is_told_from_the_index() {
        let connection = database::in_memory(None).expect("DuckDB with its extension");
        connection
            .execute_batch(
                "CREATE TABLE base (\"row\" BIGINT, vector FLOAT[2]); \
                 INSERT INTO base SELECT i, [i, 1]::FLOAT[2] FROM range(100) AS r (i); \
                 CREATE INDEX base_vector ON base USING HNSW (vector)",
            )
            .expect("a table");
        let search = || {
            let mut session = Session::new(connection.try_clone().expect("a connection"));
            let mut found = session
                .search(MatrixView::new(&[7.2, 1.0, 0.0, 1.0], 2), Metric::L2, 2, 50)
                .expect("an answer");
            found.pairs.sort_unstable();
            (found.by_index, found.pairs)
        };
        connection.execute_batch("SET disabled_optimizers = 'extension'").expect("a setting");
        let nearest = vec![(0, 7), (0, 8), (1, 0), (1, 1)];
        assert_eq!(search(), (false, nearest.clone()));
        let setting = format!("SET disabled_optimizers = '{}'", database::IN_THE_WAY);
        connection.execute_batch(&setting).expect("a setting");
        assert_eq!(search(), (true, nearest));
    }
}
