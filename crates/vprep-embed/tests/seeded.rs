//! A BERT of the exact shape of bge-small-en-v1.5 with seeded weights, made here and in PyTorch by
//! the same rule (`reference/make.py`).

mod common;

use common::{compare, load, matrix, minilm, run, strings};
use safetensors::tensor::{Dtype, TensorView, serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use vprep_core::sample::mix;
use vprep_embed::{Backend, DEFAULT_MODEL, Instructions, ModelOptions, Role};

const CONFIG: &str = r#"{
    "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": 384,
    "intermediate_size": 1536, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
    "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0,
    "position_embedding_type": "absolute", "type_vocab_size": 2, "vocab_size": 30522
}"#;

/// Names and shapes, sorted.
fn shapes() -> BTreeMap<String, Vec<usize>> {
    let mut shapes = BTreeMap::new();
    let mut add = |name: String, shape: &[usize]| shapes.insert(name, shape.to_vec());
    for (name, rows) in [("word", 30522), ("position", 512), ("token_type", 2)] {
        add(format!("embeddings.{name}_embeddings.weight"), &[rows, 384]);
    }
    let mut norms = vec!["embeddings".to_owned()];
    for layer in (0..12).map(|i| format!("encoder.layer.{i}")) {
        for (name, outputs, inputs) in [
            ("attention.self.query", 384, 384),
            ("attention.self.key", 384, 384),
            ("attention.self.value", 384, 384),
            ("attention.output.dense", 384, 384),
            ("intermediate.dense", 1536, 384),
            ("output.dense", 384, 1536),
        ] {
            add(format!("{layer}.{name}.weight"), &[outputs, inputs]);
            add(format!("{layer}.{name}.bias"), &[outputs]);
        }
        norms.extend([format!("{layer}.attention.output"), format!("{layer}.output")]);
    }
    for name in norms {
        add(format!("{name}.LayerNorm.weight"), &[384]);
        add(format!("{name}.LayerNorm.bias"), &[384]);
    }
    shapes
}

fn values(name: &str, seed: u64, count: usize) -> Vec<f32> {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let unit = |i: u64| (mix(seed.wrapping_add(STEP.wrapping_mul(i))) >> 40) as f32 / 16_777_216.0;
    (0..count as u64)
        .map(|i| unit(i) - 0.5)
        .map(|x| match name {
            _ if name.ends_with("LayerNorm.weight") => x + 1.0,
            _ if name.starts_with("embeddings.") => x,
            _ => x * 0.25,
        })
        .collect()
}

/// Writes the model's directory, with the tokenizer of all-MiniLM-L6-v2: it has the same words.
fn write_model(dir: &Path, minilm: &Path) {
    let tensors: BTreeMap<String, (Vec<usize>, Vec<u8>)> = shapes()
        .into_iter()
        .zip(0u64..)
        .map(|((name, shape), seed)| {
            let values = values(&name, seed << 32, shape.iter().product());
            (name, (shape, values.iter().flat_map(|x| x.to_le_bytes()).collect()))
        })
        .collect();
    let views = tensors.iter().map(|(name, (shape, bytes))| {
        (name, TensorView::new(Dtype::F32, shape.clone(), bytes).expect("a tensor"))
    });
    let weights = serialize(views, None).expect("serialises");
    let put = |name: &str, bytes: &[u8]| {
        File::create(dir.join(name)).and_then(|mut file| file.write_all(bytes)).expect("writes");
    };
    put("model.safetensors", &weights);
    put("config.json", CONFIG.as_bytes());
    put("tokenizer.json", &fs::read(minilm.join("tokenizer.json")).expect("reads"));
}

#[test]
fn the_shape_of_bge_small_agrees_with_pytorch_at_every_length() {
    let Some(minilm) = minilm() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    write_model(dir.path(), &minilm);
    let id = Some(DEFAULT_MODEL.to_owned());
    let options = ModelOptions { id, ..ModelOptions::default() };
    let (texts, expected) = (strings("seeded.json"), matrix("seeded.npy"));
    for instructions in Instructions::available() {
        let embedder = load(dir.path(), &options, Backend::Cpu(instructions));
        let found = run(&embedder, &texts, Role::Base);
        let worst = compare(&found, &expected, 384);
        println!("{instructions:?}: {} texts, {worst}", texts.len());
        assert!(worst.difference <= 1e-5, "{instructions:?}: {worst}");
    }

    let embedder = load(dir.path(), &options, Backend::default());
    let prefix = embedder.facts().settings.query_prefix.clone();
    assert_eq!(prefix, "Represent this sentence for searching relevant passages: ");
    let text = ["how tall is a giraffe".to_owned()];
    let query = run(&embedder, &text, Role::Queries);
    let passage = run(&embedder, &text, Role::Base);
    let spelled = run(&embedder, &[format!("{prefix}{}", text[0])], Role::Base);
    assert_eq!(query, spelled);
    assert_ne!(query, passage);
}
