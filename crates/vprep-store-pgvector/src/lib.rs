//! The store `pgvector`: an HNSW index of a [PostgreSQL](https://www.postgresql.org) server with
//! [pgvector](https://github.com/pgvector/pgvector) 0.8 or newer. Its knob is `hnsw.ef_search`, the
//! number of candidates that a search keeps, at most 1000.
//!
//! The server is named by the environment variable `VPREP_PGVECTOR_URL`, such as
//! `postgresql://user:password@host:5432/database`; for a Unix socket
//! `postgresql:///database?host=/run/postgresql&user=me`. A password may come from `PGPASSWORD`
//! instead. The connection is plain: a URL that demands TLS (`sslmode=require` and stronger) is
//! refused. A connection pooler between must pool sessions, not transactions.
//!
//! A dataset is one table `vprep_<name>_<hash>` of row numbers (`id bigint`) and vectors
//! (`v vector(dim)`), with the indexes `…_pkey` and `…_hnsw`, and its comment holds a build id. The
//! index directory holds that id in `pgvector.json`, and `index.json`; neither says where the
//! server is. Everything is built in one transaction, the last act of which is to put the new table
//! in the place of the old one, so a build that fails, is interrupted or killed leaves the old
//! table as it was and nothing of its own. (Where the server itself is killed, PostgreSQL does not
//! remove the files of unfinished transactions; they are no tables any more, but take up space.)
//!
//! pgvector draws the levels of its graph from a random number generator that cannot be seeded, and
//! inserts in parallel, so two builds of the same base differ. Scores are computed from the base in
//! f64. pgvector leaves zero vectors out of a cosine index; such a row never comes back.
//!
//! Above k = 1000 the engine's cap leaves one knob value, 1000, and iterative scans bring the rest,
//! which the notes of the answers say. Everywhere else iterative scans are off: without a filter a
//! search of `ef_search >= k` candidates returns k rows, and the knob keeps its plain meaning.
//!
//! ```no_run
//! use std::collections::BTreeMap;
//! use vprep_core::{MatrixView, Metric, Silent};
//! use vprep_store::{BuildSpec, Store, resolve_parameters};
//! use vprep_store_pgvector::PgvectorStore;
//!
//! let rows = [1.0, 0.0, 0.6, 0.8, 0.0, 1.0];
//! let base = MatrixView::new(&rows, 2);
//! let store = PgvectorStore::from_env();
//! let parameters = resolve_parameters(store.info(), &BTreeMap::new())?;
//! let spec = BuildSpec { name: "example".into(), metric: Metric::Cosine, unit_length: true, parameters };
//! let dir = tempfile::tempdir()?;
//! store.build(base, &spec, dir.path(), &Silent)?;
//!
//! let index = store.open(dir.path(), base)?;
//! let answers = index.search(MatrixView::new(&[0.0, 1.0], 2), 2, Some(3), &Silent)?;
//! assert_eq!(answers.rows, [2, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod create_index;
mod error;
mod extension;
mod file;
mod index;
mod load;
mod memory;
mod names;
mod operators;
mod searcher;
mod server;
mod session;
mod verify;

use server::Server;
use session::Session;
use std::fmt;
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, Index, KnobRange, Parameter, Store, StoreError, StoreInfo};

const NAME: &str = "pgvector";
const KNOB: &str = "hnsw.ef_search";
const M: &str = "m";
const EF_CONSTRUCTION: &str = "ef-construction";
const URL: &str = "VPREP_PGVECTOR_URL";

/// The largest `hnsw.ef_search` (pgvector, `HNSW_MAX_EF_SEARCH`).
const MAX_EF_SEARCH: u32 = 1000;

/// The largest `ef_construction` (pgvector, `HNSW_MAX_EF_CONSTRUCTION`).
const MAX_EF_CONSTRUCTION: u32 = 1000;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: M,
        default: 16,
        min: 2,
        max: 100,
        help: "links of a row in each upper layer; the bottom layer has twice as many",
    },
    Parameter {
        name: EF_CONSTRUCTION,
        default: 128,
        min: 4,
        max: MAX_EF_CONSTRUCTION,
        help: "candidates kept while a row looks for its links; at least twice m",
    },
];

static INFO: StoreInfo =
    StoreInfo { name: NAME, engine: "pgvector", knob: Some(KNOB), parameters: PARAMETERS };

/// PostgreSQL with pgvector.
#[derive(Clone)]
pub struct PgvectorStore {
    url: Option<String>,
    password: Option<String>,
}

impl PgvectorStore {
    /// The server that `VPREP_PGVECTOR_URL` names. Without it every use of the store ends with
    /// [`StoreError::NotConfigured`].
    pub fn from_env() -> Self {
        let read = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self { url: read(URL), password: read("PGPASSWORD") }
    }

    /// The server at a URL of the form that `VPREP_PGVECTOR_URL` has.
    pub fn at(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), password: None }
    }

    fn server(&self) -> Result<Server, StoreError> {
        Server::new(self.url.as_deref(), self.password.as_deref())
    }
}

/// Says where the server is, and nothing of user and password.
impl fmt::Debug for PgvectorStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.server().map_or_else(|_| "nowhere".to_owned(), |s| s.place().to_owned());
        f.debug_tuple("PgvectorStore").field(&place).finish()
    }
}

impl Store for PgvectorStore {
    fn info(&self) -> &StoreInfo {
        &INFO
    }

    fn version(&self) -> Result<String, StoreError> {
        extension::version(&Session::connect(&self.server()?)?)
    }

    fn build(
        &self,
        base: MatrixView<'_>,
        spec: &BuildSpec,
        dir: &Path,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        build::build(&self.server()?, base, spec, dir, progress)
    }

    fn open<'a>(
        &self,
        dir: &Path,
        base: MatrixView<'a>,
    ) -> Result<Box<dyn Index + 'a>, StoreError> {
        Ok(Box::new(index::PgvectorIndex::open(self.server()?, dir, base)?))
    }
}

/// pgvector returns at most as many rows as a search has candidates, so the smallest value is k;
/// with as many candidates as rows nothing is left to find.
fn knob_range(k: usize, rows: usize) -> KnobRange {
    let largest = u32::try_from(rows).unwrap_or(u32::MAX).clamp(1, MAX_EF_SEARCH);
    let smallest = u32::try_from(k).unwrap_or(u32::MAX).clamp(1, largest);
    KnobRange { smallest, largest, step: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knob_goes_from_k_to_the_cap() {
        let range = |k, rows| {
            let KnobRange { smallest, largest, .. } = knob_range(k, rows);
            (smallest, largest)
        };
        assert_eq!(range(10, 100_000), (10, 1000));
        assert_eq!(range(0, 0), (1, 1));
        assert_eq!(range(10, 37), (10, 37));
        assert_eq!(range(100, 37), (37, 37));
        assert_eq!(range(5_000, 100_000), (1000, 1000));
    }

    #[test]
    fn without_a_url_the_store_is_not_configured() {
        let store = PgvectorStore { url: None, password: None };
        let error = store.version().expect_err("no URL");
        assert!(matches!(error, StoreError::NotConfigured { variable: URL, .. }), "{error:?}");
    }
}
