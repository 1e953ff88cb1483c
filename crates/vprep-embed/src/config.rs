//! `config.json` of a BERT model.

use crate::{EmbedError, files};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use vprep_data::Content;

const FILE: &str = "config.json";

/// The shape of a BERT model, as Hugging Face's `transformers` writes it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Config {
    pub(crate) vocab_size: usize,
    pub(crate) hidden_size: usize,
    pub(crate) num_hidden_layers: usize,
    pub(crate) num_attention_heads: usize,
    pub(crate) intermediate_size: usize,
    pub(crate) hidden_act: String,
    pub(crate) max_position_embeddings: usize,
    pub(crate) type_vocab_size: usize,
    pub(crate) layer_norm_eps: f64,
    position_embedding_type: Option<String>,
    #[serde(skip)]
    path: PathBuf,
    #[serde(skip, default = "nothing")]
    pub(crate) content: Content,
}

fn nothing() -> Content {
    Content { bytes: 0, sha256: String::new() }
}

impl Config {
    /// Reads and checks the configuration of the model in `dir`.
    pub(crate) fn read(dir: &Path) -> Result<Self, EmbedError> {
        let path = dir.join(FILE);
        let missing = || EmbedError::Missing {
            dir: dir.to_owned(),
            file: FILE,
            hint: "give the directory that holds the model's files",
        };
        // The type comes first: the config of another architecture lacks keys of BERT's.
        let any: serde_json::Value = files::json(&path)?.ok_or_else(missing)?;
        let content = files::content(&files::read(&path)?);
        let architecture =
            any.get("model_type").and_then(|value| value.as_str()).map(str::to_owned);
        let wrong = |key, found: &str, expected: &str| EmbedError::Architecture {
            path: path.clone(),
            key,
            found: found.to_owned(),
            expected: expected.to_owned(),
        };
        if let Some(found) = architecture.filter(|found| found != "bert") {
            return Err(wrong("model_type", &found, "bert"));
        }
        let mut config: Self = serde_json::from_value(any).map_err(|error| {
            EmbedError::Malformed { path: path.clone(), problem: error.to_string() }
        })?;
        config.path.clone_from(&path);
        config.content = content;
        if config.hidden_act != "gelu" {
            return Err(wrong("hidden_act", &config.hidden_act, "gelu"));
        }
        if let Some(found) = config.position_embedding_type.as_ref().filter(|p| *p != "absolute") {
            return Err(wrong("position_embedding_type", found, "absolute"));
        }
        let sizes = [
            ("vocab_size", config.vocab_size),
            ("hidden_size", config.hidden_size),
            ("num_hidden_layers", config.num_hidden_layers),
            ("num_attention_heads", config.num_attention_heads),
            ("intermediate_size", config.intermediate_size),
            ("type_vocab_size", config.type_vocab_size),
        ];
        if let Some((key, _)) = sizes.into_iter().find(|&(_, size)| size == 0) {
            return Err(wrong(key, "0", "models with at least 1"));
        }
        if config.max_position_embeddings < 3 {
            let found = config.max_position_embeddings.to_string();
            return Err(wrong("max_position_embeddings", &found, "models with at least 3"));
        }
        if !config.hidden_size.is_multiple_of(config.num_attention_heads) {
            let expected = format!("multiples of {} heads", config.num_attention_heads);
            return Err(wrong("hidden_size", &config.hidden_size.to_string(), &expected));
        }
        Ok(config)
    }

    /// Fails if a size is not a multiple of what the fast kernels take at once.
    pub(crate) fn check_multiples(&self, of: usize) -> Result<(), EmbedError> {
        let head = self.hidden_size / self.num_attention_heads;
        let sizes = [
            ("hidden_size / num_attention_heads", head),
            ("intermediate_size", self.intermediate_size),
        ];
        match sizes.into_iter().find(|(_, size)| !size.is_multiple_of(of)) {
            None => Ok(()),
            Some((key, size)) => Err(EmbedError::Architecture {
                path: self.path.clone(),
                key,
                found: size.to_string(),
                expected: format!("multiples of {of} on its fast path; use the candle backend"),
            }),
        }
    }
}
