//! HDF5 as this library's writer and the reader see it; `tests/test_hdf5.py` has h5py's files.

use crate::Files;
use proptest::prelude::*;
use rust_hdf5::{H5File, H5Type};
use std::fs;
use vprep_core::Metric;
use vprep_data::read::{Hdf5Truth, Part, ReadOptions};
use vprep_data::write::{AnnBenchmarksWriter, AnnDistance, AnnShape};

fn named(dataset: &str) -> ReadOptions {
    ReadOptions { vector_column: Some(dataset.to_owned()), ..Default::default() }
}

fn queries() -> ReadOptions {
    ReadOptions { part: Part::Queries, ..Default::default() }
}

/// A file with one dataset; in compressed chunks of that many rows if there are any.
fn one<T: H5Type>(files: &Files, name: &str, shape: &[usize], chunk: Option<usize>, data: &[T]) {
    let file = H5File::create(files.path("a.hdf5")).expect("creates");
    let mut dataset = file.new_dataset::<T>().shape(shape);
    if let Some(rows) = chunk {
        dataset = dataset.chunk(&[rows, shape[1]]).shuffle_deflate(6);
    }
    let dataset = dataset.create(name).expect("creates");
    dataset.write_slice(&vec![0; shape.len()], shape, data).expect("writes");
    file.close().expect("closes");
}

/// An ann-benchmarks file, and its bytes: 5 x 3, 2 queries, k = 2.
fn ann(files: &Files) -> Vec<u8> {
    let path = files.path("ann.hdf5");
    let shape = AnnShape { rows: 5, queries: 2, dim: 3, k: 2 };
    let mut writer =
        AnnBenchmarksWriter::create(&path, shape, AnnDistance::Euclidean).expect("creates");
    let values: Vec<f32> = (0..15).map(|i| i as f32).collect();
    writer.truth(&[1, 0], &[1.0, 4.0]).expect("writes");
    writer.train(&values[..6]).expect("writes");
    writer.train(&values[6..]).expect("writes");
    writer.test(&values[3..9]).expect("writes");
    writer.truth(&[2, 4], &[0.0, 6.25]).expect("writes");
    writer.finish().expect("finishes");
    fs::read(path).expect("reads")
}

#[test]
fn what_the_writer_wrote_is_read() {
    let files = Files::new();
    let bytes = ann(&files);
    assert!(bytes == ann(&files), "same content, same bytes");
    let vectors = |options| {
        let batches = files.read("ann.hdf5", &options).expect("reads");
        batches.into_iter().flat_map(|batch| batch.vectors).collect::<Vec<_>>()
    };
    assert_eq!(vectors(ReadOptions::default()), (0..15).map(|i| i as f32).collect::<Vec<_>>());
    assert_eq!(vectors(queries()), [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(vectors(named("/test")), vectors(queries()));

    let mut truth = Hdf5Truth::open(&files.path("ann.hdf5")).expect("opens");
    assert_eq!((truth.queries(), truth.k()), (2, 2));
    assert!(truth.distance() == Some("euclidean") && truth.has_distances());
    let batch = truth.next_batch().expect("reads").expect("a batch");
    assert_eq!(batch.ids, [1, 0, 2, 4]);
    assert_eq!(batch.distances.expect("distances"), [1.0, 2.0, 0.0, 2.5]);
    assert!(truth.next_batch().expect("reads").is_none());
}

#[test]
fn a_truth_without_distances_is_ids_and_others_must_fit() {
    let files = Files::new();
    let truth = |distances: Option<usize>| {
        let file = H5File::create(files.path("a.hdf5")).expect("creates");
        let ids = file.new_dataset::<i64>().shape([2, 2]).create("neighbors").expect("creates");
        ids.write_slice(&[0, 0], &[2, 2], &[3i64, 1, 0, -1]).expect("writes");
        if let Some(k) = distances {
            file.new_dataset::<f64>().shape([2, k]).create("distances").expect("creates");
        }
        file.close().expect("closes");
        Hdf5Truth::open(&files.path("a.hdf5"))
    };
    let mut ids = truth(None).expect("opens");
    assert!(ids.distance().is_none() && !ids.has_distances());
    let batch = ids.next_batch().expect("reads").expect("a batch");
    assert!(batch.ids == [3, 1, 0, -1] && batch.distances.is_none());
    drop(ids);
    let error = truth(Some(3)).err().expect("another shape");
    assert_eq!(
        files.message(&error),
        "a.hdf5: dataset `distances` is 2 x 3, but `neighbors` is 2 x 2"
    );
}

#[test]
fn a_score_becomes_the_distance_of_that_name() {
    assert_eq!(AnnDistance::of(Metric::Ip), None);
    let angular = AnnDistance::of(Metric::Cosine).expect("angular");
    assert_eq!(angular.name(), "angular");
    let scores = [-1.0, 0.0, 0.5, 1.0, 1.000_000_1];
    assert_eq!(scores.map(|score| angular.from_score(score)), [2.0, 1.0, 0.5, 0.0, 0.0]);
}

#[test]
fn every_type_of_vectors_is_read_from_any_layout() {
    let files = Files::new();
    let count = 700 * 3;
    for chunk in [None, Some(64)] {
        let expect = |value: fn(usize) -> f32| {
            let (vectors, dim) = files.vectors("a.hdf5");
            assert!(dim == 3 && vectors.iter().copied().eq((0..count).map(value)));
        };
        let shape = [700, 3];
        one(
            &files,
            "train",
            &shape,
            chunk,
            &(0..count).map(|i| i as f32 / 8.0).collect::<Vec<_>>(),
        );
        expect(|i| i as f32 / 8.0);
        one(
            &files,
            "train",
            &shape,
            chunk,
            &(0..count).map(|i| i as f64 / 3.0).collect::<Vec<_>>(),
        );
        expect(|i| (i as f64 / 3.0) as f32);
        one(&files, "train", &shape, chunk, &(0..count).map(|i| i as u8).collect::<Vec<_>>());
        expect(|i| f32::from(i as u8));
        one(&files, "train", &shape, chunk, &(0..count).map(|i| i as i8).collect::<Vec<_>>());
        expect(|i| f32::from(i as i8));
    }
}

#[test]
fn a_batch_may_end_anywhere_in_the_chunks() {
    let files = Files::new();
    let values: Vec<f32> = (0..20_000).map(|i| i as f32).collect();
    for rows in [None, Some(1), Some(3_000), Some(8_192), Some(20_000)] {
        one(&files, "train", &[20_000, 1], rows, &values);
        assert!(files.vectors("a.hdf5") == (values.clone(), 1), "chunks of {rows:?} rows");
    }
}

#[test]
fn what_holds_no_vectors_is_refused() {
    let files = Files::new();
    let plain = ReadOptions::default();
    files.write("a.h5", &[0; 600]);
    assert_eq!(files.error("a.h5", &plain), "a.h5: is not an hdf5 file: it has no HDF5 signature");
    one(&files, "emb", &[2, 2], None, &[1.0f32, 2.0, 3.0, 4.0]);
    let error = files.error("a.hdf5", &queries());
    assert_eq!(
        error,
        "a.hdf5: has no dataset `test`; its datasets are emb (f32, 2 x 2): choose one with \
         --vector-column"
    );
    assert_eq!(files.read("a.hdf5", &named("emb")).expect("reads")[0].rows, 2);
    one(&files, "train", &[4], None, &[1.0f32, 2.0, 3.0, 4.0]);
    assert_eq!(
        files.error("a.hdf5", &plain),
        "a.hdf5: dataset `train` has the shape (4,); two dimensions are read, rows x values"
    );
    one(&files, "train", &[2, 2], None, &[1i32, 2, 3, 4]);
    assert_eq!(
        files.error("a.hdf5", &plain),
        "a.hdf5: dataset `train` is of type i32, not vectors of float16, float32, float64, int8 \
         or uint8"
    );
    one(&files, "train", &[2, 2], None, &[1.0, 2.0, 3.0, 1e39]);
    assert_eq!(
        files.error("a.hdf5", &plain),
        "a.hdf5: row 1: a value is beyond the range of float32 (3.4e38)"
    );
    let error = Hdf5Truth::open(&files.path("a.hdf5")).err().expect("no truth");
    assert!(files.message(&error).contains("has no dataset `neighbors`"), "{error}");
}

#[test]
fn what_leads_out_of_the_file_is_not_followed() {
    let files = Files::new();
    ann(&files);
    let file = H5File::create(files.path("link.hdf5")).expect("creates");
    file.create_external_link("train", "ann.hdf5", "/train").expect("links");
    file.close().expect("closes");
    let said = "dataset `train` points out of the file, and only what is in it is read";
    let plain = ReadOptions::default();
    assert_eq!(files.error("link.hdf5", &plain), format!("link.hdf5: {said}"));

    files.write("raw", &[0; 24]);
    let file = H5File::create(files.path("raw.hdf5")).expect("creates");
    let dataset = file.new_dataset::<f32>().shape([2, 3]).external(&[("raw", 0, 24)]);
    dataset.create("train").expect("creates");
    file.close().expect("closes");
    assert_eq!(files.error("raw.hdf5", &plain), format!("raw.hdf5: {said}"));
}

#[test]
fn sizes_that_the_file_cannot_hold_are_refused() {
    let files = Files::new();
    let file = H5File::create(files.path("a.hdf5")).expect("creates");
    let dataset = file.new_dataset::<f32>().shape([1 << 24, 768]).chunk(&[1 << 16, 768]);
    dataset.shuffle_deflate(4).create("train").expect("creates");
    let dataset = file.new_dataset::<f32>().shape([1 << 20, 1 << 12]).chunk(&[1 << 14, 1 << 12]);
    dataset.create("test").expect("creates");
    let dataset = file.new_dataset::<u8>().shape([2, 3]).max_shape(&[None, None]);
    dataset.chunk(&[300, 1 << 20]).create("chunk").expect("creates");
    file.close().expect("closes");
    let error = files.error("a.hdf5", &ReadOptions::default());
    assert!(error.contains("dataset `train` declares 16777216 x 768 values, more"), "{error}");
    let error = files.error("a.hdf5", &queries());
    assert!(error.contains("dataset `test` declares 1048576 x 4096 values, more"), "{error}");
    let error = files.error("a.hdf5", &named("chunk"));
    assert!(error.contains("in chunks of (300, 1048576); the most is 256 MiB"), "{error}");
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_whole() {
    let files = Files::new();
    let bytes = ann(&files);
    let whole = files.vectors("ann.hdf5");
    for length in 0..bytes.len() {
        files.write("cut.hdf5", &bytes[..length]);
        match files.read("cut.hdf5", &ReadOptions::default()) {
            Ok(batches) => assert!(batches[0].vectors == whole.0, "cut at {length}"),
            Err(error) => drop(files.message(&error)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damage(
        compressed: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let files = Files::new();
        let values: Vec<f32> = (0..60).map(|i| i as f32).collect();
        one(&files, "train", &[20, 3], compressed.then_some(8), &values);
        let mut bytes = fs::read(files.path("a.hdf5")).expect("reads");
        if !compressed {
            bytes = ann(&files);
        }
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let path = files.write("a.hdf5", &bytes);
        if let Err(error) = files.read("a.hdf5", &ReadOptions::default()) {
            files.message(&error);
        }
        match Hdf5Truth::open(&path) {
            Ok(mut truth) => while let Ok(Some(_)) = truth.next_batch() {},
            Err(error) => drop(files.message(&error)),
        }
    }
}
