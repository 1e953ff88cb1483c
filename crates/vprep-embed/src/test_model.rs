//! A tiny model for unit tests: two layers, 32 values, a vocabulary of a few words.

use crate::{Backend, EmbedError, Embedder, ModelOptions, Pooling};
use safetensors::tensor::{Dtype, TensorView, serialize};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use vprep_core::Silent;
use vprep_core::sample::mix;

const WORDS: [&str; 12] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "one", "two", "three", "##s", "red", "blue", "find", ":"];

/// A file of the model.
pub(crate) fn put(dir: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("creates");
    File::create(path).and_then(|mut file| file.write_all(text.as_ref())).expect("writes");
}

/// Writes a model without any file of sentence-transformers. `poison` makes the embedding of the
/// word `blue` NaN.
pub(crate) fn write(dir: &Path, poison: bool) {
    let (hidden, inner) = (32, 48);
    let mut tensors: Vec<(String, Vec<usize>)> = Vec::new();
    let mut add = |name: String, shape: &[usize]| tensors.push((name, shape.to_vec()));
    for (name, rows) in [("word", WORDS.len()), ("position", 16), ("token_type", 2)] {
        add(format!("embeddings.{name}_embeddings.weight"), &[rows, hidden]);
    }
    add("embeddings.LayerNorm.weight".into(), &[hidden]);
    add("embeddings.LayerNorm.bias".into(), &[hidden]);
    for layer in (0..2).map(|i| format!("encoder.layer.{i}")) {
        for (name, outputs, inputs) in [
            ("attention.self.query", hidden, hidden),
            ("attention.self.key", hidden, hidden),
            ("attention.self.value", hidden, hidden),
            ("attention.output.dense", hidden, hidden),
            ("intermediate.dense", inner, hidden),
            ("output.dense", hidden, inner),
        ] {
            add(format!("{layer}.{name}.weight"), &[outputs, inputs]);
            add(format!("{layer}.{name}.bias"), &[outputs]);
        }
        for part in ["attention.output", "output"] {
            add(format!("{layer}.{part}.LayerNorm.weight"), &[hidden]);
            add(format!("{layer}.{part}.LayerNorm.bias"), &[hidden]);
        }
    }
    let mut seed = 0;
    let tensors: Vec<_> = tensors
        .into_iter()
        .map(|(name, shape)| {
            let mut values: Vec<f32> = Vec::new();
            for i in 0..shape.iter().product() {
                seed += 1;
                let unit = (mix(seed) >> 40) as f32 / (1 << 24) as f32 - 0.5;
                let blue = name.contains("word") && i / hidden == 9;
                values.push(if poison && blue { f32::NAN } else { unit });
            }
            (name, shape, values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
        })
        .collect();
    let views = tensors.iter().map(|(name, shape, bytes)| {
        (name, TensorView::new(Dtype::F32, shape.clone(), bytes).expect("a tensor"))
    });
    put(dir, "model.safetensors", serialize(views, None).expect("serialises"));
    let config = serde_json::json!({
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": hidden, "intermediate_size": inner,
        "layer_norm_eps": 1e-12, "max_position_embeddings": 16, "num_attention_heads": 2,
        "num_hidden_layers": 2, "type_vocab_size": 2, "vocab_size": WORDS.len(),
    });
    put(dir, "config.json", config.to_string());
    let vocabulary: serde_json::Map<String, serde_json::Value> =
        WORDS.iter().zip(0..).map(|(&word, id)| (word.to_owned(), id.into())).collect();
    let special =
        |id: &str, number: u32| serde_json::json!({"id": id, "ids": [number], "tokens": [id]});
    let piece = |name: &str, id: &str| serde_json::json!({name: {"id": id, "type_id": 0}});
    let tokenizer = serde_json::json!({
        "version": "1.0",
        "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing",
            "single": [piece("SpecialToken", "[CLS]"), piece("Sequence", "A"), piece("SpecialToken", "[SEP]")],
            "pair": [piece("Sequence", "A"), piece("Sequence", "B")],
            "special_tokens": {"[CLS]": special("[CLS]", 2), "[SEP]": special("[SEP]", 3)}},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary},
    });
    put(dir, "tokenizer.json", tokenizer.to_string());
}

/// Loads it with mean pooling and a query prefix.
pub(crate) fn load(dir: &Path) -> Result<Embedder, EmbedError> {
    let options = ModelOptions {
        pooling: Some(Pooling::Mean),
        query_prefix: Some("find: ".to_owned()),
        normalize: Some(true),
        ..ModelOptions::default()
    };
    Embedder::load(dir, &options, Backend::default(), &Silent)
}
