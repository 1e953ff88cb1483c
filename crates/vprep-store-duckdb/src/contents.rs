//! What a database holds, and whether that is what `index.json` says.

use crate::database::FILE;
use crate::{M, NAME, metric};
use duckdb::{Connection, OptionalExt};
use std::path::Path;
use vprep_store::{IndexFacts, StoreError};

/// A table and its index, as the engine sees them.
#[derive(Debug)]
pub(crate) struct Contents {
    /// Rows of the table.
    rows: i64,
    /// Rows whose number is not their place in the table.
    out_of_place: i64,
    /// The index; none if there is none.
    hnsw: Option<Hnsw>,
}

/// An HNSW index, as the extension describes it.
#[derive(Debug)]
struct Hnsw {
    metric: String,
    dim: i64,
    rows: i64,
    /// M times rows; none where the graph has a single layer.
    links: Option<i64>,
}

impl Contents {
    /// Asks the engine. This loads the index into memory.
    pub(crate) fn read(connection: &Connection) -> duckdb::Result<Self> {
        const TABLE: &str = "SELECT count(*)::BIGINT, \
                             count(*) FILTER (\"row\" IS DISTINCT FROM rowid)::BIGINT FROM base";
        // `max_edges` of the bottom layer counts M links a row, not M0.
        const INDEX: &str = "SELECT metric, dimensions::BIGINT, count::BIGINT, \
                             levels_stats[1].max_edges::BIGINT FROM pragma_hnsw_index_info() \
                             WHERE table_name = 'base' AND index_name = 'base_vector'";
        let (rows, out_of_place) =
            connection.query_row(TABLE, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let hnsw = connection
            .query_row(INDEX, [], |row| {
                Ok(Hnsw {
                    metric: row.get(0)?,
                    dim: row.get(1)?,
                    rows: row.get(2)?,
                    links: row.get(3)?,
                })
            })
            .optional()?;
        Ok(Self { rows, out_of_place, hnsw })
    }

    /// Compares with the facts of the index in `dir`.
    pub(crate) fn check(&self, facts: &IndexFacts, dir: &Path) -> Result<(), StoreError> {
        let no_index = |problem: &str| StoreError::NoIndex {
            store: NAME,
            path: dir.join(FILE),
            problem: problem.to_owned(),
        };
        let hnsw = self.hnsw.as_ref().ok_or_else(|| no_index("it has no HNSW index"))?;
        let rows = facts.rows as i64;
        for (found, what) in [(self.rows, "its table"), (hnsw.rows, "its HNSW index")] {
            if found != rows {
                return Err(StoreError::WrongIndex {
                    store: NAME,
                    path: dir.join(FILE),
                    found: format!("{found} rows in {what}"),
                    expected: format!("{rows} rows"),
                });
            }
        }
        if self.out_of_place != 0 {
            return Err(no_index("its rows are not in the order of their numbers"));
        }
        let m = i64::from(facts.parameters.get(M).copied().unwrap_or_default());
        let agrees = hnsw.metric == metric::of_index(facts.metric)
            && hnsw.dim == i64::from(facts.dim)
            && hnsw.links.is_none_or(|links| links == m * rows);
        if agrees { Ok(()) } else { Err(no_index("dim, metric or m differ from index.json")) }
    }
}
