//! The engine in process.

use crate::{DIM, build, found_themselves, spec, vectors};
use rayon::ThreadPoolBuilder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use vprep_core::{Failure, Kind, MatrixView, Silent};
use vprep_store::conformance::stopping;
use vprep_store::{Store, StoreError};
use vprep_store_qdrant::EdgeStore;

/// Every file under a directory with its bytes.
pub(crate) fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn the_store_conforms() {
    let scratch = tempfile::tempdir().unwrap();
    vprep_store::conformance::check(&EdgeStore::new(), scratch.path());
}

#[test]
fn the_version_is_that_of_the_linked_engine() {
    let lock = include_str!("../../../../Cargo.lock");
    let (_, rest) = lock.split_once("name = \"qdrant-edge\"\nversion = \"").unwrap();
    let version = rest.split('"').next().unwrap();
    assert_eq!(EdgeStore::new().version().unwrap(), version);
}

/// What the engine wrote beside the graph, and the size of the links.
fn graph(dir: &Path) -> (serde_json::Value, usize) {
    let files = files(dir);
    let named = |start: &str| {
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let mut found = files.iter().filter(|(path, _)| name(path).starts_with(start));
        let (_, bytes) = found.next().unwrap_or_else(|| panic!("no {start} in {:?}", files.keys()));
        assert!(found.next().is_none(), "one segment has a graph");
        bytes
    };
    (serde_json::from_slice(named("hnsw_config")).unwrap(), named("links").len())
}

#[test]
fn parameters_reach_the_engine() {
    let data = vectors(2_000);
    let base = MatrixView::new(&data, DIM);
    let store = EdgeStore::new();
    let mut sizes = Vec::new();
    for (m, ef) in [(4, 20), (24, 90)] {
        let dir = tempfile::tempdir().unwrap();
        let spec = spec(&store, "tests", &[("m", m), ("ef-construction", ef)]);
        store.build(base, &spec, dir.path(), &Silent).unwrap();
        let (config, links) = graph(dir.path());
        assert_eq!((&config["m"], &config["m0"]), (&m.into(), &(2 * m).into()), "{config}");
        assert_eq!(config["ef_construct"], ef, "{config}");
        assert_eq!(config["full_scan_threshold"], 0, "{config}");
        assert_eq!(config["indexed_vector_count"], 2_000, "{config}");
        sizes.push(links);
    }
    assert!(2 * sizes[1] > 3 * sizes[0], "bytes of links at m = 4 and 24: {sizes:?}");
}

#[test]
fn the_graph_answers_and_a_scan_says_so() {
    let data = vectors(6_000);
    let base = MatrixView::new(&data, DIM);
    let store = EdgeStore::new();
    let dir = tempfile::tempdir().unwrap();
    let thin = spec(&store, "tests", &[("m", 2), ("ef-construction", 4)]);
    store.build(base, &thin, dir.path(), &Silent).unwrap();
    // A scan would find every row whatever the knob.
    let (few, many) = (
        found_themselves(&store, dir.path(), base, 1),
        found_themselves(&store, dir.path(), base, 600),
    );
    assert!(few < 450 && few < many, "{few} and {many} of 500 rows find themselves");
    let search = |dir: &Path, base| {
        let index = store.open(dir, base).unwrap();
        index.search(base.slice(0..1), 1, Some(1), &Silent).unwrap().notes
    };
    assert!(search(dir.path(), base).is_empty());

    // 21 vectors of 48 bytes are less than 1 KiB, 22 are not.
    for (rows, notes) in [(21, 1), (22, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let base = base.slice(0..rows);
        build(&store, base, dir.path());
        let found = search(dir.path(), base);
        assert_eq!(found.len(), notes, "{rows} rows: {found:?}");
        assert!(found.iter().all(|note| note.contains("a scan answered")), "{found:?}");
    }
}

#[test]
fn an_index_is_not_changed_by_its_use() {
    let data = vectors(3_000);
    let base = MatrixView::new(&data, DIM);
    let store = EdgeStore::new();
    let dir = tempfile::tempdir().unwrap();
    build(&store, base, dir.path());
    let before = files(dir.path());
    assert!(before.keys().all(|path| !path.to_string_lossy().contains("/wal/")));
    {
        let first = store.open(dir.path(), base).unwrap();
        let second = store.open(dir.path(), base).unwrap();
        let search = |index: &dyn vprep_store::Index| {
            index.search(base.slice(0..50), 10, Some(64), &Silent).unwrap()
        };
        assert_eq!(search(first.as_ref()), search(second.as_ref()));
        assert!(before == files(dir.path()), "changed while it was open");
    }
    assert!(before == files(dir.path()), "changed when it was closed");
}

#[test]
fn a_pool_of_any_size_builds_and_searches() {
    let data = vectors(2_000);
    let base = MatrixView::new(&data, DIM);
    let store = EdgeStore::new();
    for threads in [1, 3, 16] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let dir = tempfile::tempdir().unwrap();
        pool.install(|| build(&store, base, dir.path()));
        let found = pool.install(|| found_themselves(&store, dir.path(), base, 200));
        assert!(found >= 495, "{found} of 500 rows find themselves with {threads} threads");
    }
}

#[test]
fn what_the_engine_cannot_hold_is_refused() {
    let store = EdgeStore::new();
    let wide = vec![0.5; 65_537];
    for base in [MatrixView::new(&[], DIM), MatrixView::new(&wide, wide.len())] {
        let dir = tempfile::tempdir().unwrap();
        let spec = spec(&store, "tests", &[]);
        let error = store.build(base, &spec, dir.path(), &Silent).unwrap_err();
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error}");
        assert_eq!(error.kind(), Kind::Data);
        assert!(files(dir.path()).is_empty());
    }
}

#[test]
fn a_directory_that_is_gone_is_an_error() {
    let data = vectors(30);
    let store = EdgeStore::new();
    let dir = tempfile::tempdir().unwrap();
    let absent = dir.path().join("absent");
    let spec = spec(&store, "tests", &[]);
    let error = store.build(MatrixView::new(&data, DIM), &spec, &absent, &Silent).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
}

#[test]
fn building_and_searching_stop_in_the_middle() {
    let data = vectors(40_000);
    let base = MatrixView::new(&data, DIM);
    let (store, scratch) = (EdgeStore::new(), tempfile::tempdir().unwrap());
    // One question before, one for each batch of 4 MiB, and then some while the graph is built.
    let spec = spec(&store, "tests", &[("ef-construction", 400)]);
    stopping(&store, scratch.path(), base, &spec, &[1, 4]);
}
