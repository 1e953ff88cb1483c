//! Files that are not what was written.

use crate::{build, vectors};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use vprep_core::{Failure, Kind, MatrixView};
use vprep_store::{Store, StoreError};
use vprep_store_hnsw::HnswStore;

const ROWS: usize = 200;

/// Opens a damaged index and returns the message.
fn refused(dir: &Path, base: MatrixView<'_>) -> String {
    let error = HnswStore::new().open(dir, base).err().expect("a damaged index must not open");
    assert!(matches!(error, StoreError::NoIndex { .. }), "{error:?}");
    assert_eq!(error.kind(), Kind::Data);
    error.to_string()
}

#[test]
fn flipped_bits_cuts_and_additions_are_noticed() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, 12);
    let dir = tempfile::tempdir().unwrap();
    build(base, dir.path());
    let path = dir.path().join("index.usearch");
    let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut whole = Vec::new();
    file.read_to_end(&mut whole).unwrap();

    let put = |file: &mut File, at: usize, byte: u8| {
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(&[byte]).unwrap();
    };
    // The matrix size, the vectors, the header behind them, the graph's header, levels and links.
    let header = 8 + ROWS * 12 * 4;
    for at in (0..12).chain(header..header + 120).chain((0..whole.len()).step_by(997)) {
        put(&mut file, at, whole[at] ^ 0x40);
        let message = refused(dir.path(), base);
        assert!(message.contains("damaged"), "{message}");
        put(&mut file, at, whole[at]);
    }
    assert!(HnswStore::new().open(dir.path(), base).is_ok());

    for length in [0, 1, 7, 8, header, header + 64, whole.len() - 1] {
        file.set_len(length as u64).unwrap();
        assert!(refused(dir.path(), base).contains("vprep build --store hnsw"));
        file.set_len(0).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(&whole).unwrap();
    }
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b"more").unwrap();
    refused(dir.path(), base);
}

#[test]
fn missing_files_are_named() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, 12);
    for name in ["index.usearch", "index.usearch.xxh128", "index.json"] {
        let dir = tempfile::tempdir().unwrap();
        build(base, dir.path());
        std::fs::remove_file(dir.path().join(name)).unwrap();
        let message = refused(dir.path(), base);
        assert!(message.contains(&format!("{name}: No such file")), "{message}");
    }
}

#[test]
fn facts_that_do_not_fit_the_file_are_noticed() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, 12);
    for (old, new) in [("\"m\": 16", "\"m\": 17"), ("\"l2\"", "\"ip\"")] {
        let dir = tempfile::tempdir().unwrap();
        build(base, dir.path());
        let path = dir.path().join("index.json");
        let facts = std::fs::read_to_string(&path).unwrap();
        assert!(facts.contains(old), "{facts}");
        File::create(&path).unwrap().write_all(facts.replace(old, new).as_bytes()).unwrap();
        assert!(refused(dir.path(), base).contains("differ from index.json"));
    }
}
