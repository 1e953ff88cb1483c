//! A real server, where `VPREP_QDRANT_URL` names one.

use crate::{DIM, build, found_themselves, spec, vectors};
use qdrant_client::Qdrant;
use std::path::Path;
use vprep_core::{Failure, Kind, MatrixView, Silent};
use vprep_store::conformance::StopAfter;
use vprep_store::{Location, Store, StoreError};
use vprep_store_qdrant::QdrantStore;

/// The server of the environment, if there is one.
fn server() -> Option<QdrantStore> {
    if std::env::var_os("VPREP_QDRANT_URL").is_some() {
        return Some(QdrantStore::from_env());
    }
    println!("skipped: VPREP_QDRANT_URL is not set");
    None
}

/// A client beside the store's.
struct Beside(tokio::runtime::Runtime, Qdrant);

impl Beside {
    fn new() -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        let client = Qdrant::from_url(&variable("VPREP_QDRANT_URL").unwrap())
            .api_key(variable("VPREP_QDRANT_API_KEY").or(variable("QDRANT_API_KEY")))
            .skip_compatibility_check()
            .build()
            .unwrap();
        Self(tokio::runtime::Runtime::new().unwrap(), client)
    }

    /// The collections whose names hold `part`.
    fn collections(&self, part: &str) -> Vec<String> {
        let list = self.0.block_on(self.1.list_collections()).unwrap().collections;
        list.into_iter().map(|c| c.name).filter(|name| name.contains(part)).collect()
    }

    fn delete(&self, name: &str) {
        self.0.block_on(self.1.delete_collection(name)).unwrap();
    }
}

fn collection(store: &QdrantStore, dir: &Path, base: MatrixView<'_>) -> String {
    match &store.open(dir, base).unwrap().facts().location {
        Location::Collection(name) => name.clone(),
        Location::Path(path) => panic!("a path: {path}"),
    }
}

#[test]
fn the_store_conforms() {
    let Some(store) = server() else { return };
    let scratch = tempfile::tempdir().unwrap();
    vprep_store::conformance::check(&store, scratch.path());
}

#[test]
fn parameters_reach_the_server_and_the_graph_answers() {
    let Some(store) = server() else { return };
    let data = vectors(6_000);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    let thin = spec(&store, "thin", &[("m", 2), ("ef-construction", 4)]);
    store.build(base, &thin, dir.path(), &Silent).unwrap();
    let name = collection(&store, dir.path(), base);
    let beside = Beside::new();
    let info = beside.0.block_on(beside.1.collection_info(&name)).unwrap().result.unwrap();
    let hnsw = info.config.unwrap().hnsw_config.unwrap();
    assert_eq!((hnsw.m, hnsw.ef_construct), (Some(2), Some(4)));
    assert_eq!(info.indexed_vectors_count, Some(6_000));
    // A scan would find every row whatever the knob.
    let (few, many) = (
        found_themselves(&store, dir.path(), base, 1),
        found_themselves(&store, dir.path(), base, 600),
    );
    assert!(few < 450 && few < many, "{few} and {many} of 500 rows find themselves");
    beside.delete(&name);
}

#[test]
fn a_build_replaces_the_one_before_when_it_has_succeeded() {
    let Some(store) = server() else { return };
    let data = vectors(3_000);
    let base = MatrixView::new(&data, DIM);
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let name = "replaced \"it's\"/../数据";
    let spec = spec(&store, name, &[]);
    store.build(base, &spec, first.path(), &Silent).unwrap();
    let old = collection(&store, first.path(), base);
    let alias = &old[..old.len() - 33];
    let beside = Beside::new();

    for questions in [1, 3, 6] {
        let stop = StopAfter::new(questions);
        let error = store.build(base, &spec, second.path(), &stop).unwrap_err();
        assert!(matches!(error, StoreError::Interrupted(_)), "{error}");
        assert_eq!(
            beside.collections(alias),
            std::slice::from_ref(&old),
            "after {questions} questions"
        );
        assert_eq!(collection(&store, first.path(), base), old);
    }
    store.build(base, &spec, second.path(), &Silent).unwrap();
    let new = collection(&store, second.path(), base);
    assert_eq!(beside.collections(alias), std::slice::from_ref(&new));
    let aliased = beside.0.block_on(beside.1.collection_info(alias)).unwrap().result.unwrap();
    assert_eq!(aliased.points_count, Some(3_000));
    let error = store.open(first.path(), base).err().expect("it was replaced");
    assert!(matches!(error, StoreError::NoIndex { .. }), "{error}");
    beside.delete(&new);
}

#[test]
fn a_collection_that_is_gone_or_another_is_no_index() {
    let Some(store) = server() else { return };
    let data = vectors(1_000);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(&store, base, dir.path());
    let index = store.open(dir.path(), base).unwrap();
    let path = dir.path().join("index.json");
    let facts = std::fs::read_to_string(&path).unwrap();
    let write = |text: &str| {
        use std::io::Write;
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    };
    for (old, new) in [("\"m\": 16", "\"m\": 17"), ("\"l2\"", "\"ip\"")] {
        write(&facts.replace(old, new));
        let error = store.open(dir.path(), base).err().expect("another index");
        assert!(error.to_string().contains("differ from index.json"), "{error}");
    }
    write(&facts);

    Beside::new().delete(&collection(&store, dir.path(), base));
    let searched = index.search(base.slice(0..3), 5, Some(9), &Silent).map(|_| "an answer");
    let opened = store.open(dir.path(), base).map(|_| "an index");
    for error in [searched.unwrap_err(), opened.unwrap_err()] {
        assert!(matches!(error, StoreError::NoIndex { .. }), "{error}");
        assert_eq!(error.kind(), Kind::Data);
    }
}
