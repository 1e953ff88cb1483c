//! The real weights of all-MiniLM-L6-v2 against reference vectors.
//!
//! `VPREP_MINILM` names the model's directory; `make test` sets it. Without it these tests say that
//! they are skipped. Golden files outside the repository are compared where they are there.

mod common;

use arrow::array::{Array, AsArray};
use arrow::datatypes::Float64Type;
use common::{compare, embed, matrix, minilm, shared, strings};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use vprep_embed::{Backend, Instructions, ModelOptions, Role};

#[test]
fn vectors_equal_those_of_pytorch() {
    let Some(dir) = minilm() else { return };
    let (texts, expected) = (strings("texts.json"), matrix("minilm.npy"));
    assert!(texts.len() >= 300, "{} texts", texts.len());
    let backends = Instructions::available().into_iter().map(Backend::Cpu);
    for backend in backends.chain([Backend::Candle]) {
        // The reference is slow, and there only to be compared with.
        let texts = if backend == Backend::Candle { &texts[..100] } else { &texts };
        let found = embed(&dir, &ModelOptions::default(), backend, texts, Role::Base);
        let worst = compare(&found, &expected[..found.len()], 384);
        println!("{backend:?}: {} texts, {worst}", texts.len());
        assert!(worst.difference <= 2e-6 && worst.cosine >= 0.999_999, "{backend:?}: {worst}");
    }
}

#[test]
fn avx512_and_avx2_give_the_same_bits() {
    let Some(dir) = minilm() else { return };
    let available = Instructions::available();
    if !available.contains(&Instructions::Avx512) || !available.contains(&Instructions::Avx2) {
        println!("skipped: this processor has not both");
        return;
    }
    let texts = strings("texts.json");
    let run = |set| embed(&dir, &ModelOptions::default(), Backend::Cpu(set), &texts, Role::Base);
    assert_eq!(run(Instructions::Avx512), run(Instructions::Avx2));
}

#[test]
fn a_text_has_the_same_vector_alone_and_in_any_batch_and_on_any_threads() {
    let Some(dir) = minilm() else { return };
    let texts = strings("texts.json");
    let embed_all = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let run = || {
            let options = ModelOptions::default();
            embed(&dir, &options, Backend::default(), &texts, Role::Base)
        };
        pool.install(run)
    };
    let whole = embed_all(1);
    assert_eq!(whole, embed_all(3));
    let embedder = common::load(&dir, &ModelOptions::default(), Backend::default());
    for row in (0..texts.len()).step_by(7) {
        let alone = common::run(&embedder, &texts[row..=row], Role::Base);
        assert_eq!(alone, whole[row * 384..][..384], "{:?}", texts[row]);
    }
    let mut reversed = texts.clone();
    reversed.reverse();
    let reversed = common::run(&embedder, &reversed, Role::Base);
    let rows: Vec<&[f32]> = reversed.chunks(384).rev().collect();
    assert_eq!(rows.concat(), whole);
}

#[test]
fn golden_pairs_of_others_are_met() {
    let Some(dir) = minilm() else { return };
    let Some(path) = shared("minilm-pairs/pairs.parquet") else { return };
    let file = File::open(path).expect("opens");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("parquet");
    let (mut texts, mut expected) = (Vec::new(), Vec::new());
    for batch in reader.build().expect("parquet") {
        let batch = batch.expect("reads");
        for column in batch.columns() {
            if let Some(column) = column.as_string_opt::<i32>() {
                texts.extend(column.iter().map(|text| text.expect("a text").to_owned()));
            } else if let Some(column) = column.as_list_opt::<i32>() {
                let values = column.values().as_primitive::<Float64Type>().values();
                assert_eq!(values.len(), column.len() * 384);
                expected.extend(values.iter().map(|&x| x as f32));
            }
        }
    }
    assert_eq!((texts.len(), expected.len()), (1310, 1310 * 384));
    let options = ModelOptions::default();
    let found = embed(&dir, &options, Backend::default(), &texts, Role::Base);
    let worst = compare(&found, &expected, 384);
    println!("{} pairs, {worst}", texts.len());
    assert!(worst.difference <= 2e-6 && worst.cosine >= 0.999_999, "{worst}");
}
