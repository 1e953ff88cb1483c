//! Files of a shard that are not what was written.

use crate::edge::files;
use crate::{DIM, build, vectors};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use vprep_core::{Failure, Kind, MatrixView};
use vprep_store::{Store, StoreError};
use vprep_store_qdrant::EdgeStore;

/// Opens a damaged index and returns the message.
fn refused(dir: &Path, base: MatrixView<'_>) -> String {
    let error = EdgeStore::new().open(dir, base).err().expect("a damaged index must not open");
    assert!(matches!(error, StoreError::NoIndex { .. }), "{error:?}");
    assert_eq!(error.kind(), Kind::Data);
    let message = error.to_string();
    assert!(message.contains("vprep build --store qdrant-edge"), "{message}");
    message
}

fn put(path: &Path, bytes: &[u8]) {
    File::create(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn damage_to_each_file_is_noticed() {
    let data = vectors(500);
    let base = MatrixView::new(&data, DIM);
    let store = EdgeStore::new();
    let dir = tempfile::tempdir().unwrap();
    build(&store, base, dir.path());
    let whole = files(dir.path());
    assert!(whole.len() > 10, "{:?}", whole.keys());
    let shard = dir.path().join("shard");
    for (path, bytes) in &whole {
        // A bit in the middle, wherever that is; the text of index.json is not under a checksum.
        if path.starts_with(&shard) && !bytes.is_empty() {
            let middle = bytes.len() / 2;
            let mut file = OpenOptions::new().write(true).open(path).unwrap();
            for byte in [bytes[middle] ^ 0x40, bytes[middle]] {
                file.seek(SeekFrom::Start(middle as u64)).unwrap();
                file.write_all(&[byte]).unwrap();
                if byte != bytes[middle] {
                    let message = refused(dir.path(), base);
                    assert!(message.contains("its bytes differ from shard.xxh128"), "{message}");
                }
            }
        }
        if !bytes.is_empty() {
            put(path, &bytes[..bytes.len() / 2]);
            refused(dir.path(), base);
        }
        std::fs::remove_file(path).unwrap();
        let message = refused(dir.path(), base);
        assert!(message.contains("No such file"), "{message}");
        put(path, bytes);
    }
    assert!(store.open(dir.path(), base).is_ok(), "all is as it was");

    put(&shard.join("more"), b"more");
    assert!(refused(dir.path(), base).contains("shard/more is not in shard.xxh128"));
}

#[test]
fn facts_that_do_not_fit_the_shard_are_noticed() {
    let data = vectors(500);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(&EdgeStore::new(), base, dir.path());
    let path = dir.path().join("index.json");
    let facts = std::fs::read_to_string(&path).unwrap();
    for (old, new) in [
        ("\"m\": 16", "\"m\": 17"),
        ("\"ef-construction\": 128", "\"ef-construction\": 129"),
        ("\"m\": 16", "\"n\": 16"),
        ("\"l2\"", "\"ip\""),
    ] {
        assert!(facts.contains(old), "{facts}");
        put(&path, facts.replace(old, new).as_bytes());
        assert!(refused(dir.path(), base).contains("differ from index.json"));
    }
    // Another shard, checksums and all.
    let other = tempfile::tempdir().unwrap();
    build(&EdgeStore::new(), base.slice(0..400), other.path());
    put(&other.path().join("index.json"), facts.as_bytes());
    assert!(refused(other.path(), base).contains("400 rows, but index.json says 500"));
}
