//! Loading and embedding, with the tiny model.

use crate::test_model::{self, put};
use crate::{Backend, EmbedError, Embedded, Embedder, Instructions, ModelOptions, Pooling, Role};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;
use vprep_core::{Failure, Kind, Silent, Task};

fn model() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    test_model::write(dir.path(), false);
    dir
}

fn load(dir: &Path, options: &ModelOptions) -> Result<Embedder, EmbedError> {
    Embedder::load(dir, options, Backend::default(), &Silent)
}

fn embed(embedder: &Embedder, texts: &[&str], role: Role) -> (Vec<f32>, Embedded) {
    let mut out = vec![0.0; texts.len() * embedder.dim()];
    let embedded = embedder.embed(texts, role, 10, &mut out, &Silent, &Silent).expect("embeds");
    (out, embedded)
}

#[test]
fn every_backend_gives_the_same_vectors() {
    let dir = model();
    let texts = ["one", "", "one twos red", "blue blue blue blue three ones : find unknown"];
    for pooling in [Pooling::Cls, Pooling::Mean] {
        let options = ModelOptions { pooling: Some(pooling), ..ModelOptions::default() };
        let run = |backend| {
            let embedder = Embedder::load(dir.path(), &options, backend, &Silent).expect("loads");
            embed(&embedder, &texts, Role::Base).0
        };
        let reference = run(Backend::Candle);
        for instructions in Instructions::available() {
            let fast = run(Backend::Cpu(instructions));
            for (fast, reference) in fast.iter().zip(&reference) {
                assert!((fast - reference).abs() < 3e-6, "{instructions:?}: {fast}, {reference}");
            }
        }
    }
}

#[cfg(not(feature = "cuda"))]
#[test]
fn a_gpu_that_is_not_built_in_is_refused_by_the_name_of_its_feature() {
    let options = ModelOptions::default();
    let error = Embedder::load(Path::new("."), &options, Backend::Cuda(0), &Silent);
    let error = error.expect_err("not built in");
    assert_eq!(error.kind(), Kind::Unreachable);
    assert!(error.to_string().contains("built without the feature cuda"), "{error}");
}

#[test]
fn tokens_truncated_and_empty_texts_are_told() {
    let dir = model();
    let embedder = test_model::load(dir.path()).expect("loads");
    let long = "one ".repeat(40);
    let (vectors, embedded) = embed(&embedder, &["ones", " \u{85}\t", &long, "red"], Role::Base);
    // The tokenizer's own truncation at 4 and padding to 8 are dropped.
    assert_eq!(embedded.tokens, [4, 2, 16, 3]);
    assert_eq!((embedded.truncated, embedded.empty), (vec![12], vec![11]));
    assert!(vectors.chunks(32).all(|vector| vprep_core::is_unit(vprep_core::norm(vector))));

    let (_, embedded) = embed(&embedder, &["ones", ""], Role::Queries);
    assert_eq!((embedded.tokens, embedded.empty), (vec![6, 4], vec![11]));
}

/// Counts texts and tokens.
#[derive(Default)]
struct Counter([AtomicU64; 2]);

impl Task for Counter {
    fn advance(&self, units: u64) {
        self.0[0].fetch_add(units, Ordering::Relaxed);
    }

    fn also(&self, units: u64, unit: &'static str) {
        assert_eq!(unit, "tokens");
        self.0[1].fetch_add(units, Ordering::Relaxed);
    }
}

#[test]
fn progress_is_told_of_texts_and_tokens() {
    let dir = model();
    let embedder = test_model::load(dir.path()).expect("loads");
    let (mut out, task) = (vec![0.0; 3 * 32], Counter::default());
    let embedded = embedder.embed(&["ones", "", "red"], Role::Base, 0, &mut out, &Silent, &task);
    let tokens: u32 = embedded.expect("embeds").tokens.iter().sum();
    let told = task.0.map(AtomicU64::into_inner);
    assert_eq!(told, [3, u64::from(tokens)]);
}

#[test]
fn a_query_is_its_prefix_and_its_text() {
    let dir = model();
    let embedder = test_model::load(dir.path()).expect("loads");
    let query = embed(&embedder, &["red"], Role::Queries).0;
    assert_eq!(query, embed(&embedder, &["find: red"], Role::Base).0);
    assert_ne!(query, embed(&embedder, &["red"], Role::Base).0);
}

#[test]
fn a_model_that_does_not_say_how_it_pools_asks_for_the_flag() {
    let dir = model();
    let error = load(dir.path(), &ModelOptions::default()).expect_err("no pooling");
    assert_eq!(error.kind(), Kind::Usage);
    assert!(error.to_string().contains("give --pooling cls or --pooling mean"), "{error}");
}

#[test]
fn the_files_of_sentence_transformers_are_followed() {
    let dir = model();
    put(
        dir.path(),
        "modules.json",
        r#"[{"path": "", "type": "sentence_transformers.models.Transformer"},
            {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]"#,
    );
    put(
        dir.path(),
        "1_Pooling/config.json",
        r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#,
    );
    put(dir.path(), "sentence_bert_config.json", r#"{"max_seq_length": 12}"#);
    put(dir.path(), "tokenizer_config.json", r#"{"model_max_length": 1e30}"#);
    put(dir.path(), "config_sentence_transformers.json", r#"{"prompts": {"query": "find: "}}"#);
    let settings = |options| load(dir.path(), &options).expect("loads").facts().settings.clone();
    let own = settings(ModelOptions::default());
    assert_eq!((own.pooling, own.max_length, own.normalize), (Pooling::Cls, 12, true));
    assert_eq!((own.query_prefix.as_str(), own.base_prefix.as_str()), ("find: ", ""));
    let asked = settings(ModelOptions {
        pooling: Some(Pooling::Mean),
        max_length: Some(16),
        query_prefix: Some(String::new()),
        normalize: Some(false),
        ..ModelOptions::default()
    });
    assert_eq!((asked.pooling, asked.max_length, asked.normalize), (Pooling::Mean, 16, false));
    assert_eq!(asked.query_prefix, "");
    // No model goes beyond its positions.
    put(dir.path(), "sentence_bert_config.json", r#"{"max_seq_length": 512}"#);
    assert_eq!(settings(ModelOptions::default()).max_length, 16);
    let options = ModelOptions { max_length: Some(17), ..ModelOptions::default() };
    let error = load(dir.path(), &options).expect_err("too long").to_string();
    assert!(error.ends_with("from 3 to 16 tokens"), "{error}");
}

#[test]
fn a_known_model_needs_no_other_files() {
    let dir = model();
    let id = Some("intfloat/e5-small-v2".to_owned());
    // Without [UNK] for every word of its prefix, this vocabulary still has room for the text.
    let options = ModelOptions { id, ..ModelOptions::default() };
    let embedder = load(dir.path(), &options).expect("loads");
    assert_eq!(embedder.facts().settings.prefix(Role::Base), "passage: ");
    assert_eq!(embedder.facts().settings.max_length, 16);
}

#[test]
fn numbers_that_are_not_finite_are_told_by_row() {
    let dir = tempfile::tempdir().expect("a directory");
    test_model::write(dir.path(), true);
    let embedder = test_model::load(dir.path()).expect("loads");
    let mut out = vec![0.0; 3 * 32];
    let texts = ["one", "two blue", "three"];
    let error = embedder
        .embed(&texts, Role::Base, 100, &mut out, &Silent, &Silent)
        .expect_err("NaN")
        .to_string();
    assert!(error.contains("for row 101;"), "{error}");
}

#[test]
fn what_is_not_a_bert_is_refused_by_name() {
    let dir = model();
    put(dir.path(), "config.json", r#"{"model_type": "roberta"}"#);
    let error = load(dir.path(), &ModelOptions::default()).expect_err("roberta").to_string();
    assert!(error.ends_with("model_type is roberta, but vprep runs only bert"), "{error}");
    std::fs::remove_file(dir.path().join("config.json")).expect("removes");
    let error = load(dir.path(), &ModelOptions::default()).expect_err("nothing").to_string();
    assert!(error.contains("the model has no config.json"), "{error}");
}

#[test]
fn damaged_weights_are_refused() {
    let dir = model();
    let options = ModelOptions { pooling: Some(Pooling::Cls), ..ModelOptions::default() };
    let path = dir.path().join("model.safetensors");
    let whole = std::fs::read(&path).expect("reads");
    put(dir.path(), "model.safetensors", &whole[..whole.len() - 4]);
    let error = load(dir.path(), &options).expect_err("cut").to_string();
    assert!(error.contains("not a safetensors file"), "{error}");
    std::fs::remove_file(&path).expect("removes");
    let error = load(dir.path(), &options).expect_err("none").to_string();
    assert!(error.contains("the model has no model.safetensors"), "{error}");
    // The same file as the only part of several.
    put(dir.path(), "model-1.safetensors", &whole);
    put(
        dir.path(),
        "model.safetensors.index.json",
        r#"{"weight_map": {"x": "model-1.safetensors"}}"#,
    );
    load(dir.path(), &options).expect("loads");
}
