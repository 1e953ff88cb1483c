//! Files that are not what was written, and tables that are not what they should be.

use crate::{DIM, build, spec, table, vectors, wait};
use futures_util::TryStreamExt;
use lancedb::index::Index;
use lancedb::index::vector::{IvfFlatIndexBuilder, IvfHnswFlatIndexBuilder};
use lancedb::query::{ExecutableQuery, QueryBase};
use lancedb::{DistanceType, Table};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use vprep_core::{Failure, Kind, MatrixView, Metric, Silent};
use vprep_store::{Store, StoreError, checksum};
use vprep_store_lancedb::LanceDbStore;

const ROWS: usize = 300;

/// Opens a damaged index and returns the message.
fn refused(dir: &Path, base: MatrixView<'_>) -> String {
    let error = LanceDbStore::new().open(dir, base).err().expect("a damaged index must not open");
    assert!(matches!(error, StoreError::NoIndex { .. }), "{error:?}");
    assert_eq!(error.kind(), Kind::Data);
    error.to_string()
}

/// Every file below a directory, sorted.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let mut all: Vec<_> = entries.flat_map(below).collect();
    all.sort();
    all
}

/// Writes the checksums again, so that only what lies behind them can notice a difference.
fn seal(dir: &Path) {
    checksum::write(&dir.join("vectors.lance"), &Silent).expect("writes");
}

#[test]
fn damage_to_any_file_is_noticed() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(base, dir.path());
    let all = files(&dir.path().join("vectors.lance"));
    assert!(all.len() >= 5, "data, index, graph, manifest and transaction: {all:?}");
    for path in &all {
        let name = path.strip_prefix(dir.path()).unwrap().to_str().unwrap();
        let whole = std::fs::read(path).unwrap();
        let mut file = OpenOptions::new().write(true).open(path).unwrap();
        let mut put = |bytes: &[u8]| {
            file.set_len(0).unwrap();
            file.seek(SeekFrom::Start(0)).unwrap();
            file.write_all(bytes).unwrap();
        };
        for at in [0, whole.len() / 2, whole.len() - 1] {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x40;
            put(&flipped);
            let message = refused(dir.path(), base);
            assert!(message.contains("differ from vectors.lance.xxh128"), "{message}");
        }
        put(&whole[..whole.len() - 1]);
        refused(dir.path(), base);
        put(&[]);
        assert!(refused(dir.path(), base).contains("vprep build --store lancedb"));
        put(&whole);

        let away = dir.path().join("away");
        std::fs::rename(path, &away).unwrap();
        let message = refused(dir.path(), base);
        assert!(message.contains(&format!("{name}: No such file")), "{message}");
        std::fs::rename(&away, path).unwrap();
    }
    let foreign = dir.path().join("vectors.lance/_versions/9.manifest");
    File::create(&foreign).unwrap();
    let message = refused(dir.path(), base);
    assert!(message.contains("9.manifest is not in vectors.lance.xxh128"), "{message}");
    std::fs::remove_file(foreign).unwrap();
    assert!(LanceDbStore::new().open(dir.path(), base).is_ok());
}

#[test]
fn missing_files_are_named() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(base, dir.path());
    for name in ["vectors.lance.xxh128", "index.json"] {
        let away = dir.path().join("away");
        std::fs::rename(dir.path().join(name), &away).unwrap();
        let message = refused(dir.path(), base);
        assert!(message.contains(&format!("{name}: No such file")), "{message}");
        std::fs::rename(&away, dir.path().join(name)).unwrap();
    }
}

#[test]
fn facts_that_do_not_fit_the_index_are_noticed() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(base, dir.path());
    let path = dir.path().join("index.json");
    let facts = std::fs::read_to_string(&path).unwrap();
    for (old, new) in
        [("\"m\": 16", "\"m\": 17"), ("\"l2\"", "\"ip\""), ("ruction\": 128", "ruction\": 129")]
    {
        assert!(facts.contains(old), "{facts}");
        File::create(&path).unwrap().write_all(facts.replace(old, new).as_bytes()).unwrap();
        let message = refused(dir.path(), base);
        assert!(message.contains("differ from index.json"), "{message}");
    }
}

/// Changes a table by `change`, seals it, and returns the message of opening it.
fn changed<F: Future<Output = ()>>(change: impl FnOnce(Table) -> F) -> String {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().expect("a directory");
    build(base, dir.path());
    wait(async { change(table(dir.path()).await).await });
    assert!(refused(dir.path(), base).contains("damaged"));
    seal(dir.path());
    refused(dir.path(), base)
}

#[test]
fn a_dropped_index_is_noticed() {
    let message = changed(|table| async move { table.drop_index("vector_idx").await.unwrap() });
    assert!(message.contains("the table has 0 indexes"), "{message}");
}

#[test]
fn rows_that_are_not_indexed_or_not_there_are_noticed() {
    let message = changed(|table| async move {
        table.delete("row = 299").await.unwrap();
    });
    assert!(message.contains("the table holds 299 rows, not 300"), "{message}");
    let message = changed(|table| async move {
        let last = table.query().only_if("row = 299").execute().await.unwrap();
        let last: Vec<_> = last.try_collect().await.unwrap();
        table.delete("row = 299").await.unwrap();
        table.add(last).execute().await.unwrap();
    });
    assert!(message.contains("rows are indexed"), "{message}");
}

#[test]
fn another_index_is_noticed() {
    let message = changed(|table| async move {
        let index = Index::IvfFlat(IvfFlatIndexBuilder::default().num_partitions(1));
        let name = "vector_idx".to_owned();
        table.create_index(&["vector"], index).name(name).execute().await.unwrap();
    });
    assert!(message.contains("IVF_FLAT, not IVF_HNSW_FLAT"), "{message}");
    let message = changed(|table| async move {
        let index = IvfHnswFlatIndexBuilder::default().num_partitions(1).num_edges(16);
        let index = index.ef_construction(128).distance_type(DistanceType::Cosine);
        let index = table.create_index(&["vector"], Index::IvfHnswFlat(index));
        index.name("vector_idx".to_owned()).execute().await.unwrap();
    });
    assert!(message.contains("differ from index.json"), "{message}");
}

#[test]
fn opening_and_searching_change_no_file() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    LanceDbStore::new().build(base, &spec(Metric::Ip, &[]), dir.path(), &Silent).unwrap();
    let state = || -> BTreeMap<_, _> {
        let state = |path: PathBuf| {
            let modified = path.metadata().unwrap().modified().unwrap();
            let bytes = std::fs::read(&path).unwrap();
            (path, (modified, bytes))
        };
        files(dir.path()).into_iter().map(state).collect()
    };
    let before = state();
    let index = LanceDbStore::new().open(dir.path(), base).unwrap();
    index.search(base, 10, Some(20), &Silent).unwrap();
    drop(index);
    assert!(before == state());
}
