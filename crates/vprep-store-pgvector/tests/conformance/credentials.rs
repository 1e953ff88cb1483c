//! Getting in, and what is said of those who do not.

use crate::cluster::{PASSWORD, shared};
use crate::{DIM, built, spec, vectors};
use vprep_core::{Failure, Kind, MatrixView, Silent};
use vprep_store::{Store, StoreError};
use vprep_store_pgvector::PgvectorStore;

/// The percent-encoded form of [`PASSWORD`].
const ENCODED: &str = "s3cret-p%C3%A4ssword";

/// Whatever the store is asked ends with an error that has the place, and neither user nor
/// password. Returns its message.
fn refused(url: &str, place: &str) -> String {
    let store = PgvectorStore::at(url);
    let data = vectors(3, DIM);
    let dir = tempfile::tempdir().unwrap();
    let base = MatrixView::new(&data, DIM);
    let asked = store.version().expect_err(url);
    let built = store.build(base, &spec("refused"), dir.path(), &Silent).expect_err(url);
    for error in [&asked, &built] {
        assert!(matches!(error, StoreError::Unreachable { .. }), "{url}: {error:?}");
        assert_eq!(error.kind(), Kind::Unreachable);
        let text = format!("{error}; {error:?}; {store:?}");
        assert!(text.contains(place), "{url}: {text}");
        for secret in [PASSWORD, ENCODED, "hunter2", "tester", "nobody-known"] {
            assert!(!text.contains(secret), "{url}: {text}");
        }
    }
    assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none(), "files of a failed build");
    asked.to_string()
}

#[test]
fn a_wrong_password_user_database_or_port_is_named_and_not_repeated() {
    let Some(cluster) = shared() else { return };
    let place = cluster.tcp_place("postgres");
    for credentials in ["tester:hunter2", "nobody-known:hunter2", "tester:"] {
        let message = refused(&cluster.tcp_url(credentials, "postgres"), &place);
        assert!(message.contains("password"), "{message}");
    }
    let message = refused(&cluster.tcp_url("tester", "postgres"), &place);
    assert!(message.contains("password missing"), "{message}");
    let right = format!("tester:{ENCODED}");
    let message = refused(&cluster.tcp_url(&right, "absent"), &cluster.tcp_place("absent"));
    assert!(message.contains("CREATE DATABASE"), "{message}");
    let message = refused("postgresql://tester:hunter2@127.0.0.1:1/d", "127.0.0.1:1/d");
    assert!(message.contains("refused") && message.contains("VPREP_PGVECTOR_URL"), "{message}");
    refused("postgresql:///d?host=/nowhere/at/all&user=tester&password=hunter2", "/nowhere/at/all");
}

#[test]
fn an_ordinary_user_can_build_and_search() {
    let Some(cluster) = shared() else { return };
    // Someone else has created the extension.
    cluster.sql("postgres", "CREATE DATABASE ordinary");
    cluster.sql("ordinary", "CREATE SCHEMA elsewhere; CREATE EXTENSION vector SCHEMA elsewhere");
    cluster.sql("ordinary", "GRANT USAGE ON SCHEMA elsewhere TO tester");
    cluster.sql("ordinary", "GRANT CREATE ON SCHEMA public TO tester");
    let store = PgvectorStore::at(cluster.tcp_url(&format!("tester:{ENCODED}"), "ordinary"));
    let data = vectors(300, DIM);
    let base = MatrixView::new(&data, DIM);
    let dir = built(&store, base, &spec("ordinary"));
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for secret in [PASSWORD, ENCODED, "tester", "127.0.0.1"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    let index = store.open(dir.path(), base).expect("the index");
    let answers = index.search(base.slice(5..8), 1, Some(50), &Silent).expect("answers");
    assert_eq!((answers.rows.as_slice(), answers.notes.len()), ([5, 6, 7].as_slice(), 0));
}
