//! Databases without the extension.

use crate::cluster::shared;
use crate::{DIM, built, refused, spec, tables, vectors};
use vprep_core::{MatrixView, Silent};
use vprep_store::{Store, StoreError};
use vprep_store_pgvector::PgvectorStore;

#[test]
fn a_build_creates_a_missing_extension_or_says_who_must() {
    let Some(cluster) = shared() else { return };
    let data = vectors(50, DIM);
    let base = MatrixView::new(&data, DIM);
    cluster.sql("postgres", "CREATE DATABASE bare");
    cluster.sql("bare", "GRANT CREATE ON SCHEMA public TO tester");
    let url = cluster.tcp_url("tester:s3cret-p%C3%A4ssword", "bare");
    let ordinary = PgvectorStore::at(url);
    let version = ordinary.version().expect("what could be created");
    assert_eq!(version, cluster.store().version().expect("the same"));
    let dir = tempfile::tempdir().unwrap();
    let error = ordinary.build(base, &spec("bare"), dir.path(), &Silent).expect_err("no right");
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("CREATE EXTENSION vector"), "{error}");
    assert!(tables(cluster, "bare").is_empty());

    let store = cluster.database("bare");
    let dir = built(&store, base, &spec("bare"));
    assert!(store.open(dir.path(), base).is_ok());

    // Dropping it takes the columns and indexes of its types along.
    cluster.sql("bare", "DROP EXTENSION vector CASCADE");
    let error = refused(&store, dir.path(), base);
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("CREATE EXTENSION vector"), "{error}");
    cluster.sql("bare", "CREATE EXTENSION vector");
    let error = refused(&store, dir.path(), base);
    assert!(matches!(error, StoreError::NoIndex { .. }), "{error:?}");

    let set_version = |version: &str| {
        let sql = "UPDATE pg_extension SET extversion = '$v' WHERE extname = 'vector'";
        cluster.sql("bare", &sql.replace("$v", version));
    };
    set_version("0.7.4");
    let error = store.version().expect_err("too old");
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("ALTER EXTENSION vector UPDATE"), "{error}");
    set_version("0.8.0");
    assert!(store.version().expect("old enough").starts_with("0.8.0 (PostgreSQL "));
    let dir = built(&store, base, &spec("bare"));
    assert!(store.open(dir.path(), base).is_ok());
}
