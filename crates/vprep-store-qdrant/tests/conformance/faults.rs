//! Servers that are not there or are none.

use crate::{DIM, spec, vectors};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};
use vprep_core::{Failure, Kind, MatrixView, Silent};
use vprep_store::{IndexFacts, Location, Store, StoreError};
use vprep_store_qdrant::QdrantStore;

const KEY: &str = "hunter2";

/// Uses the server in every way, and expects each to fail as unreachable within ten seconds.
fn unreachable(url: &str, expected: &str) {
    let store = QdrantStore::new(url, Some(KEY));
    let data = vectors(100);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(&store, "tests", &[]);

    let refused = |what: &str, started: Instant, error: StoreError| {
        assert!(matches!(error, StoreError::Unreachable { .. }), "{what}: {error:?}");
        assert_eq!(error.kind(), Kind::Unreachable);
        let message = error.to_string();
        assert!(message.contains(expected), "{what}: {message}");
        assert!(!format!("{message}{error:?}{store:?}").contains(KEY), "{what}: {message}");
        assert!(started.elapsed() < Duration::from_secs(10), "{what}: {:?}", started.elapsed());
    };
    let started = Instant::now();
    refused("version", started, store.version().unwrap_err());
    let started = Instant::now();
    refused("build", started, store.build(base, &spec, dir.path(), &Silent).unwrap_err());
    assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none(), "a file of a failed build");
    facts(&store, base, Location::Collection("vprep".to_owned()), dir.path());
    let started = Instant::now();
    refused("open", started, store.open(dir.path(), base).err().expect("unreachable"));
}

fn facts(store: &QdrantStore, base: MatrixView<'_>, location: Location, dir: &Path) {
    let spec = spec(store, "tests", &[]);
    let facts = IndexFacts::new(store.info(), "1.20.0".to_owned(), base, &spec, location);
    facts.write(dir).unwrap();
}

#[test]
fn a_refused_connection_is_unreachable() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    unreachable(&format!("http://127.0.0.1:{port}"), "connection refused");
}

#[test]
fn a_host_that_does_not_exist_is_unreachable() {
    unreachable("http://no-such-host.invalid:6334", "no connection");
}

#[test]
fn silence_is_unreachable_after_a_while() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    unreachable(&format!("http://{}", listener.local_addr().unwrap()), "no answer in 5 s");
}

#[test]
fn a_refused_connection_over_tls_is_unreachable() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    unreachable(&format!("https://127.0.0.1:{port}"), "connection refused");
}

#[test]
fn a_wrong_url_is_refused() {
    unreachable("localhost:6334", "not a URL such as http://localhost:6334");
    unreachable("http://user:hunter2@localhost:6334", "must not hold credentials");
}

#[test]
fn an_index_that_names_no_collection_is_refused() {
    let store = QdrantStore::new("http://127.0.0.1:1", None);
    let data = vectors(10);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    facts(&store, base, Location::Path("shard".to_owned()), dir.path());
    let error = store.open(dir.path(), base).err().expect("no collection");
    assert!(matches!(error, StoreError::NoIndex { .. }), "{error}");
}
