//! Files that are not what was written.

use crate::{DIM, build, connect, vectors};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use vprep_core::{Failure, Kind, MatrixView};
use vprep_store::{Store, StoreError};
use vprep_store_duckdb::DuckdbStore;
use xxhash_rust::xxh3::xxh3_128;

const ROWS: usize = 200;

/// Opens a damaged index and returns the error, one of the data.
fn refused(dir: &Path, base: MatrixView<'_>) -> StoreError {
    let error = DuckdbStore::new().open(dir, base).err().expect("a damaged index must not open");
    assert_eq!(error.kind(), Kind::Data);
    error
}

/// The same for one that cannot be used at all.
fn unusable(dir: &Path, base: MatrixView<'_>) -> String {
    let error = refused(dir, base);
    assert!(matches!(error, StoreError::NoIndex { .. }), "{error:?}");
    error.to_string()
}

/// Makes the checksum fit again, as if the file had been published so.
fn sign(dir: &Path) {
    let sum = xxh3_128(&std::fs::read(dir.join("index.duckdb")).expect("a database"));
    let mut file = File::create(dir.join("index.duckdb.xxh128")).expect("a file");
    file.write_all(format!("{sum:032x}  index.duckdb\n").as_bytes()).expect("a checksum");
}

#[test]
fn flipped_bits_cuts_and_additions_are_noticed() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(base, dir.path());
    let path = dir.path().join("index.duckdb");
    let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut whole = Vec::new();
    file.read_to_end(&mut whole).unwrap();

    let put = |file: &mut File, at: usize, byte: u8| {
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(&[byte]).unwrap();
    };
    for at in (0..whole.len()).step_by(9_973) {
        put(&mut file, at, whole[at] ^ 0x40);
        let message = unusable(dir.path(), base);
        assert!(message.contains("damaged"), "{message}");
        put(&mut file, at, whole[at]);
    }
    assert!(DuckdbStore::new().open(dir.path(), base).is_ok());

    for length in [0, 1, 4_096, 12_288, whole.len() - 1] {
        file.set_len(length as u64).unwrap();
        assert!(unusable(dir.path(), base).contains("vprep build --store duckdb"));
        file.set_len(0).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(&whole).unwrap();
    }
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b"more").unwrap();
    unusable(dir.path(), base);
}

#[test]
fn what_is_no_database_is_refused() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(base, dir.path());
    let path = dir.path().join("index.duckdb");
    for bytes in [&b"no database"[..], &[0; 20_000]] {
        File::create(&path).unwrap().write_all(bytes).unwrap();
        sign(dir.path());
        unusable(dir.path(), base);
    }
}

#[test]
fn missing_files_are_named() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for name in ["index.duckdb", "index.duckdb.xxh128", "index.json"] {
        let dir = tempfile::tempdir().unwrap();
        build(base, dir.path());
        std::fs::remove_file(dir.path().join(name)).unwrap();
        let message = unusable(dir.path(), base);
        assert!(message.contains(&format!("{name}: No such file")), "{message}");
    }
}

#[test]
fn a_changed_database_is_noticed() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for (change, expected) in [
        ("DROP INDEX base_vector", "has no HNSW index"),
        ("DROP TABLE base", "base does not exist"),
        ("DELETE FROM base WHERE \"row\" >= 150", "holds 150 rows in its table"),
        ("UPDATE base SET \"row\" = 7 WHERE \"row\" = 8", "order of their numbers"),
        (
            "DROP INDEX base_vector; SET hnsw_enable_experimental_persistence = true; \
             CREATE INDEX base_vector ON base USING HNSW (vector) WITH (metric = 'cosine')",
            "differ from index.json",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        build(base, dir.path());
        let connection = connect(dir.path());
        connection.execute_batch(&format!("{change}; CHECKPOINT")).unwrap();
        connection.close().unwrap();
        assert!(unusable(dir.path(), base).contains("damaged"));
        sign(dir.path());
        let message = refused(dir.path(), base).to_string();
        assert!(message.contains(expected), "{change}: {message}");
    }
}

#[test]
fn facts_that_do_not_fit_the_file_are_noticed() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for (old, new) in [("\"m\": 16", "\"m\": 17"), ("\"l2\"", "\"ip\"")] {
        let dir = tempfile::tempdir().unwrap();
        build(base, dir.path());
        let path = dir.path().join("index.json");
        let facts = std::fs::read_to_string(&path).unwrap();
        assert!(facts.contains(old), "{facts}");
        File::create(&path).unwrap().write_all(facts.replace(old, new).as_bytes()).unwrap();
        assert!(unusable(dir.path(), base).contains("differ from index.json"));
    }
}
