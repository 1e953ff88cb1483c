//! Damaged files end in an error or in vectors, never in a panic.

use crate::Files;
use crate::parquet::{list, write};
use arrow::array::{ArrayRef, Float32Array, Int64Array, StringArray};
use proptest::prelude::*;
use std::fs;
use std::sync::Arc;
use vprep_data::read::ReadOptions;

/// A small table with an id, a text and several row groups.
fn table(files: &Files) -> Vec<u8> {
    let emb: ArrayRef = Arc::new(Float32Array::from_iter_values((0..60).map(|i| (i % 7) as f32)));
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..20));
    let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..20).map(|i| format!("t{i}"))));
    write(files, "a.parquet", &[("id", id), ("emb", list(emb, 3)), ("text", text)], 8);
    fs::read(files.path("a.parquet")).expect("reads")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn parquet(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let files = Files::new();
        let mut bytes = table(&files);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        files.write("a.parquet", &bytes);
        if let Err(error) = files.read("a.parquet", &ReadOptions::default()) {
            files.message(&error);
        }
    }
}

const CASES: u32 = 256;
