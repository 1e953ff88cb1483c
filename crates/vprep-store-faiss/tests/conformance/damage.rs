//! Files that are not what was written.

use crate::{DIM, build, vectors};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use vprep_core::{Failure, Kind, MatrixView};
use vprep_store::{Store, StoreError};
use vprep_store_faiss::FaissStore;

const ROWS: usize = 200;

fn put(path: &Path, bytes: &[u8]) {
    File::create(path).and_then(|mut file| file.write_all(bytes)).expect("a file");
}

/// Opens a damaged index and returns the message.
fn refused(store: FaissStore, dir: &Path, base: MatrixView<'_>) -> String {
    let error = store.open(dir, base).err().expect("a damaged index must not open");
    assert!(matches!(error, StoreError::NoIndex { .. }), "{error:?}");
    assert_eq!(error.kind(), Kind::Data);
    error.to_string()
}

#[test]
fn flipped_bits_cuts_and_additions_are_noticed() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for store in FaissStore::ALL {
        let dir = tempfile::tempdir().unwrap();
        build(store, base, &[], dir.path());
        let path = dir.path().join("index.faiss");
        let whole = std::fs::read(&path).unwrap();
        for at in (0..64).chain((0..whole.len()).step_by(97)) {
            let mut changed = whole.clone();
            changed[at] ^= 0x40;
            put(&path, &changed);
            assert!(refused(store, dir.path(), base).contains("damaged"));
        }
        for length in [0, 1, 7, whole.len() / 2, whole.len() - 1] {
            put(&path, &whole[..length]);
            let message = refused(store, dir.path(), base);
            assert!(message.contains(&format!("vprep build --store {}", store.info().name)));
        }
        put(&path, &[&whole[..], b"more"].concat());
        refused(store, dir.path(), base);
        put(&path, &whole);
        assert!(store.open(dir.path(), base).is_ok());
    }
}

#[test]
fn missing_and_emptied_files_are_named() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for store in FaissStore::ALL {
        let dir = tempfile::tempdir().unwrap();
        build(store, base, &[], dir.path());
        for name in ["index.faiss", "index.faiss.xxh128", "faiss.json", "index.json"] {
            let path = dir.path().join(name);
            let whole = std::fs::read(&path).unwrap();
            put(&path, b"");
            let message = refused(store, dir.path(), base);
            assert!(message.contains(name), "{message}");
            std::fs::remove_file(&path).unwrap();
            let message = refused(store, dir.path(), base);
            assert!(message.contains(&format!("{name}: No such file")), "{message}");
            put(&path, &whole);
        }
    }
}

#[test]
fn facts_that_do_not_fit_the_index_are_noticed() {
    let edits = [
        (FaissStore::FLAT, "\"l2\"", "\"ip\""),
        (FaissStore::FLAT, "\"l2\"", "\"cosine\""),
        (FaissStore::HNSW, "\"m\": 16", "\"m\": 17"),
        (FaissStore::HNSW, "\"ef-construction\": 128", "\"ef-construction\": 129"),
        (FaissStore::IVF, "\"nlist\": 0", "\"nlist\": 9"),
        (FaissStore::PQ, "\"pq-m\": 0", "\"pq-m\": 6"),
        (FaissStore::PQ, "\"pq-m\": 0", "\"pq-m\": 5"),
        (FaissStore::PQ, "\"nbits\": 8", "\"nbits\": 7"),
    ];
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for (store, old, new) in edits {
        let dir = tempfile::tempdir().unwrap();
        build(store, base, &[], dir.path());
        let path = dir.path().join("index.json");
        let facts = std::fs::read_to_string(&path).unwrap();
        assert!(facts.contains(old), "{facts}");
        put(&path, facts.replace(old, new).as_bytes());
        let message = refused(store, dir.path(), base);
        assert!(message.contains("faiss.json: not the plan"), "{message}");
    }
}

#[test]
fn an_index_of_another_kind_is_noticed() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for (store, other) in FaissStore::ALL.into_iter().flat_map(|s| FaissStore::ALL.map(|o| (s, o)))
    {
        if store == other {
            continue;
        }
        let (dir, foreign) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        build(store, base, &[], dir.path());
        build(other, base, &[], foreign.path());
        // Everything of the other store: told by name.
        let message = refused(store, foreign.path(), base);
        assert!(message.contains(&format!("an index of `{}`", other.info().name)), "{message}");
        // Its index with a checksum that fits, under the facts of this one.
        for name in ["index.faiss", "index.faiss.xxh128"] {
            std::fs::copy(foreign.path().join(name), dir.path().join(name)).unwrap();
        }
        let message = refused(store, dir.path(), base);
        assert!(message.contains("differ from index.json"), "{message}");
    }
}
