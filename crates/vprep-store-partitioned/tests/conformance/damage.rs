//! Files that are not what was written.

use crate::{DIM, build, vectors};
use std::fs::{File, read, read_to_string, remove_file};
use std::io::Write;
use std::path::Path;
use vprep_core::{Failure, Kind, MatrixView, Silent};
use vprep_store::{Store, StoreError};
use vprep_store_partitioned::{GraphManagerStore, PartitionedHnswStore};

const ROWS: usize = 400;
const FILES: [&str; 4] =
    ["index.json", "partitions.bin", "partitions.json", "partitions.json.xxh128"];
const STORES: [&dyn Store; 2] = [&PartitionedHnswStore::new(), &GraphManagerStore::new()];

/// Opens a damaged index, searches all of its partitions, and returns the message.
fn refused(store: &dyn Store, dir: &Path, base: MatrixView<'_>) -> String {
    let searched = store.open(dir, base).and_then(|index| {
        let largest = index.knob_range(3).map(|range| range.largest);
        index.search(base, 3, largest, &Silent)
    });
    let error = searched.map(|_| "an answer").expect_err("a damaged index must not answer");
    assert!(matches!(error, StoreError::NoIndex { .. }), "{error:?}");
    assert_eq!(error.kind(), Kind::Data);
    error.to_string()
}

fn put(path: &Path, bytes: &[u8]) {
    File::create(path).and_then(|mut file| file.write_all(bytes)).expect("a file");
}

#[test]
fn flipped_bits_cuts_and_additions_are_noticed() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for store in STORES {
        let dir = tempfile::tempdir().unwrap();
        build(store, base, &[], dir.path());
        for file in FILES {
            let path = dir.path().join(file);
            let whole = read(&path).unwrap();
            let step = if file == "partitions.bin" { 997 } else { 31 };
            // A description's change of a digit may leave a valid one of another index.
            for at in (0..whole.len()).step_by(step).filter(|_| file != "index.json") {
                let mut bytes = whole.clone();
                bytes[at] ^= 0x40;
                // The name of a file behind its checksum is for people.
                if file == "partitions.json.xxh128" && at >= 32 {
                    continue;
                }
                put(&path, &bytes);
                let message = refused(store, dir.path(), base);
                assert!(message.contains("damaged") || message.contains("UTF-8"), "{message}");
            }
            for length in [0, 1, 7, whole.len() / 2] {
                put(&path, &whole[..length]);
                assert!(refused(store, dir.path(), base).contains("vprep build --store"));
            }
            if file != "partitions.json.xxh128" {
                put(&path, &[&whole[..], b"more"].concat());
                refused(store, dir.path(), base);
            }
            put(&path, &whole);
        }
        assert!(store.open(dir.path(), base).is_ok());
    }
}

#[test]
fn missing_files_are_named() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for store in STORES {
        for file in FILES {
            let dir = tempfile::tempdir().unwrap();
            build(store, base, &[], dir.path());
            remove_file(dir.path().join(file)).unwrap();
            let message = refused(store, dir.path(), base);
            assert!(message.contains(&format!("{file}: No such file")), "{message}");
        }
    }
}

#[test]
fn facts_that_do_not_fit_are_noticed() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let changes = [
        ("\"m\": 16", "\"m\": 17"),
        ("\"m\": 16", "\"n\": 16"),
        ("\"l2\"", "\"ip\""),
        ("\"ef\": 64", "\"ef\": 65"),
        ("\"partitions\": 256", "\"partitions\": 255"),
    ];
    for store in STORES {
        for (old, new) in changes {
            let dir = tempfile::tempdir().unwrap();
            build(store, base, &[], dir.path());
            let path = dir.path().join("index.json");
            let facts = read_to_string(&path).unwrap();
            assert!(facts.contains(old), "{facts}");
            put(&path, facts.replace(old, new).as_bytes());
            refused(store, dir.path(), base);
        }
    }
}

#[test]
fn a_table_or_graphs_of_another_build_are_noticed() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for store in STORES {
        for file in ["partitions.bin", "partitions.json"] {
            let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            build(store, base, &[], dir.path());
            build(store, base, &[("m", 8)], other.path());
            put(&dir.path().join(file), &read(other.path().join(file)).unwrap());
            assert!(refused(store, dir.path(), base).contains("damaged"));
        }
    }
}

#[test]
fn each_store_opens_its_own_indexes_only() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for (of, by) in [(0, 1), (1, 0)] {
        let dir = tempfile::tempdir().unwrap();
        build(STORES[of], base, &[], dir.path());
        let message = refused(STORES[by], dir.path(), base);
        assert!(message.contains("an index of"), "{message}");
    }
}
