//! The table and its index, in LanceDB's terms.

use lancedb::{Connection, DistanceType, ObjectStoreRegistry, Session, Table};
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use vprep_core::Metric;
use vprep_store::StoreError;

/// Name of the table.
pub(crate) const TABLE: &str = "vectors";

/// Its folder in the index directory.
pub(crate) const FOLDER: &str = "vectors.lance";

/// Column of row numbers, from 0.
pub(crate) const ROW: &str = "row";

/// Column of vectors.
pub(crate) const VECTOR: &str = "vector";

/// Name of the index on [`VECTOR`].
pub(crate) const INDEX: &str = "vector_idx";

/// What Lance may keep in memory of file footers and the like, in bytes; a table of vectors has
/// little of it.
const METADATA_CACHE: usize = 64 << 20;

/// An index directory as LanceDB takes it: an absolute path in UTF-8 that ends in a slash, which is
/// never taken for a URL.
pub(crate) fn place(dir: &Path) -> Result<String, StoreError> {
    let io = |source| StoreError::Io { path: dir.to_owned(), source };
    let path = dir.canonicalize().map_err(io)?;
    match path.to_str() {
        Some(text) if !text.contains(char::is_control) => {
            Ok(format!("{}/", text.trim_end_matches('/')))
        }
        _ => {
            let needed = "LanceDB needs a path in UTF-8 without control characters";
            Err(io(Error::new(ErrorKind::InvalidInput, needed)))
        }
    }
}

/// Connects to the database at `place`. Of the index, `cache` bytes stay in memory.
pub(crate) async fn connect(place: &str, cache: usize) -> lancedb::Result<Connection> {
    let session = Session::new(cache, METADATA_CACHE, Arc::new(ObjectStoreRegistry::default()));
    lancedb::connect(place).session(Arc::new(session)).execute().await
}

/// Opens the table of the database at `place`.
pub(crate) async fn open(place: &str, cache: usize) -> lancedb::Result<Table> {
    connect(place, cache).await?.open_table(TABLE).execute().await
}

/// The distance of a metric.
pub(crate) fn distance(metric: Metric) -> DistanceType {
    match metric {
        Metric::Cosine => DistanceType::Cosine,
        Metric::Ip => DistanceType::Dot,
        Metric::L2 => DistanceType::L2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn paths_that_the_engine_would_take_for_others_are_refused() {
        let scratch = tempfile::tempdir().unwrap();
        for name in [b"new\nline".as_slice(), b"\xff"] {
            let dir = scratch.path().join(std::ffi::OsStr::from_bytes(name));
            std::fs::create_dir(&dir).unwrap();
            let error = place(&dir).unwrap_err().to_string();
            assert!(error.contains("without control characters"), "{error}");
        }
        let dir = scratch.path().join("it's \\ %20 #?");
        std::fs::create_dir(&dir).unwrap();
        assert!(place(&dir).unwrap().ends_with("/it's \\ %20 #?/"));
    }
}
