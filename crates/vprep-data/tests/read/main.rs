//! Reads files that the tests write themselves, whole ones and broken ones, in every format.

#![expect(clippy::disallowed_methods, reason = "files of a test, not of a dataset")]

mod binary;
mod damage;
mod hdf5;
mod lines;
mod npy;
mod parquet;

use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;
use vprep_core::{Failure, Kind};
use vprep_data::read::{Batch, ReadError, ReadOptions, VectorReader};

/// A directory for the files of one test.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        fs::write(self.path(name), bytes).expect("writes");
        self.path(name)
    }

    /// All batches of a file.
    fn read(&self, name: &str, options: &ReadOptions) -> Result<Vec<Batch>, ReadError> {
        let mut reader = VectorReader::open(&self.path(name), options)?;
        let mut batches: Vec<Batch> = Vec::new();
        while let Some(batch) = reader.next_batch()? {
            let read: usize = batches.iter().map(|batch| batch.rows).sum();
            assert_eq!(batch.first_row, read as u64);
            assert_eq!(batch.vectors.len(), batch.rows * reader.dim());
            assert_eq!(batch.columns.len(), reader.columns().len());
            batches.push(batch);
        }
        assert_eq!(batches.iter().map(|batch| batch.rows as u64).sum::<u64>(), reader.rows());
        Ok(batches)
    }

    /// All vectors of a file, and their dimension.
    fn vectors(&self, name: &str) -> (Vec<f32>, usize) {
        let batches = self.read(name, &ReadOptions::default()).expect("reads");
        let dim = batches[0].vectors.len() / batches[0].rows;
        (batches.into_iter().flat_map(|batch| batch.vectors).collect(), dim)
    }

    /// The message of the data error that reading a file ends in, without the directory.
    fn error(&self, name: &str, options: &ReadOptions) -> String {
        let error = self.read(name, options).expect_err("an error");
        assert_eq!(error.kind(), Kind::Data, "{error}");
        self.message(&error)
    }

    fn message(&self, error: &ReadError) -> String {
        let message = error.to_string();
        assert!(!message.contains('\n') && !message.ends_with('.'), "{message}");
        message.replace(&format!("{}/", self.0.path().display()), "")
    }
}

#[test]
fn what_is_no_file_of_vectors_is_refused() {
    let files = Files::new();
    let plain = ReadOptions::default();
    assert_eq!(files.error("none.npy", &plain), "none.npy: cannot open: no such file or directory");
    fs::create_dir(files.path("dir.npy")).expect("creates");
    assert_eq!(
        files.error("dir.npy", &plain),
        "dir.npy: is a directory; name its files, as in `dir.npy/*.parquet`"
    );
    files.write("a.csv", b"1,2");
    assert_eq!(
        files.error("a.csv", &plain),
        "a.csv: unknown format `.csv`; the known ones are .parquet, .npy, .fbin, .f16bin, .hbin, .u8bin, \
         .i8bin, .fvecs, .bvecs, .jsonl, .ndjson and .hdf5"
    );
    files.write("a.fbin", b"");
    let named = ReadOptions { id_column: Some("key".to_owned()), ..plain };
    let error = files.read("a.fbin", &named).expect_err("no columns");
    assert_eq!(error.kind(), Kind::Usage);
    assert_eq!(
        files.message(&error),
        "a.fbin: a file in fbin format has no columns, so there is no `key`; leave out the name \
         of the column"
    );
}
