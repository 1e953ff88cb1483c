//! What becomes of a text before and after the model: prefix, length, pooling, norm.

use crate::config::Config;
use crate::known::known;
use crate::{EmbedError, files};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// How the vectors of a text's tokens become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// That of the first token, `[CLS]`.
    Cls,
    /// The mean over all tokens, `[CLS]` and `[SEP]` included.
    Mean,
}

/// What texts are for: models may put different prefixes before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// What is searched.
    Base,
    /// What is searched for.
    Queries,
}

impl Role {
    /// The name in flags and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Queries => "queries",
        }
    }
}

/// What the user says about a model. `None` leaves it to `models.toml` and the model's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// Hub id, by which `models.toml` is searched.
    pub id: Option<String>,
    /// How tokens become one vector.
    pub pooling: Option<Pooling>,
    /// Tokens of a text that are used.
    pub max_length: Option<usize>,
    /// Put before every query.
    pub query_prefix: Option<String>,
    /// Put before every text of the base.
    pub base_prefix: Option<String>,
    /// Whether vectors are brought to length 1.
    pub normalize: Option<bool>,
}

/// What holds for a model, every default filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// How tokens become one vector.
    pub pooling: Pooling,
    /// Tokens of a text that are used, `[CLS]` and `[SEP]` included.
    pub max_length: usize,
    /// Put before every query.
    pub query_prefix: String,
    /// Put before every text of the base.
    pub base_prefix: String,
    /// Whether vectors are brought to length 1.
    pub normalize: bool,
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    class: String,
}

#[derive(Default, Deserialize)]
struct Length {
    max_seq_length: Option<usize>,
    /// 1e30 where nobody set it.
    model_max_length: Option<f64>,
}

#[derive(Default, Deserialize)]
struct Prompts {
    #[serde(default)]
    prompts: BTreeMap<String, String>,
}

impl Settings {
    /// Settles each setting by the options, else `models.toml`, else the model's files.
    pub(crate) fn resolve(
        dir: &Path,
        config: &Config,
        options: &ModelOptions,
    ) -> Result<Self, EmbedError> {
        let known = options.id.as_deref().and_then(known);
        let modules: Option<Vec<Module>> = files::json(&dir.join("modules.json"))?;
        let modules = Modules::read(dir, modules.unwrap_or_default())?;
        let pooling = match (options.pooling, known) {
            (Some(pooling), _) => pooling,
            (None, Some(known)) => known.pooling,
            (None, None) => modules.pooling(dir)?,
        };
        let limit = config.max_position_embeddings;
        if let Some(asked) = options.max_length.filter(|asked| !(3..=limit).contains(asked)) {
            return Err(EmbedError::MaxLength { asked, limit });
        }
        let max_length = match options.max_length.or(known.map(|known| known.max_length)) {
            Some(length) => length,
            None => own_length(dir)?.unwrap_or(limit),
        };
        let prompts: Prompts =
            files::json(&dir.join("config_sentence_transformers.json"))?.unwrap_or_default();
        let prompt = |names: &[&str]| {
            let found = names.iter().find_map(|&name| prompts.prompts.get(name));
            found.cloned().unwrap_or_default()
        };
        Ok(Self {
            pooling,
            max_length: max_length.clamp(3, limit),
            query_prefix: (options.query_prefix.clone())
                .or_else(|| known.map(|known| known.query_prefix.clone()))
                .unwrap_or_else(|| prompt(&["query"])),
            base_prefix: (options.base_prefix.clone())
                .or_else(|| known.map(|known| known.base_prefix.clone()))
                .unwrap_or_else(|| prompt(&["document", "passage"])),
            normalize: (options.normalize)
                .or_else(|| known.map(|known| known.normalize))
                .unwrap_or(modules.normalize),
        })
    }

    /// What is put before a text of this role.
    pub fn prefix(&self, role: Role) -> &str {
        match role {
            Role::Base => &self.base_prefix,
            Role::Queries => &self.query_prefix,
        }
    }
}

/// The maximum length that the model's own files give, the smaller one where both do.
fn own_length(dir: &Path) -> Result<Option<usize>, EmbedError> {
    let read = |file| Ok::<Length, EmbedError>(files::json(&dir.join(file))?.unwrap_or_default());
    let sentence = read("sentence_bert_config.json")?.max_seq_length;
    let tokenizer = read("tokenizer_config.json")?.model_max_length;
    let tokenizer = tokenizer.filter(|&length| length < 1e9).map(|length| length as usize);
    Ok(sentence.into_iter().chain(tokenizer).min())
}

/// What `modules.json` says.
struct Modules {
    pooling: Option<String>,
    normalize: bool,
}

impl Modules {
    fn read(dir: &Path, modules: Vec<Module>) -> Result<Self, EmbedError> {
        let mut found = Self { pooling: None, normalize: false };
        for module in modules {
            match module.class.rsplit('.').next().unwrap_or_default() {
                "Transformer" => {}
                "Pooling" => found.pooling = Some(module.path),
                "Normalize" => found.normalize = true,
                _ => {
                    return Err(EmbedError::Architecture {
                        path: dir.join("modules.json"),
                        key: "a module",
                        found: module.class,
                        expected: "Transformer, Pooling and Normalize".to_owned(),
                    });
                }
            }
        }
        Ok(found)
    }

    fn pooling(&self, dir: &Path) -> Result<Pooling, EmbedError> {
        let path = dir.join(self.pooling.as_deref().unwrap_or("1_Pooling")).join("config.json");
        let modes: serde_json::Map<String, serde_json::Value> =
            files::json(&path)?.ok_or_else(|| EmbedError::NoPooling { dir: dir.to_owned() })?;
        let mut on: Vec<&str> = (modes.iter())
            .filter(|(_, value)| value.as_bool() == Some(true))
            .filter_map(|(key, _)| key.strip_prefix("pooling_mode_"))
            .collect();
        // Newer versions write one name.
        on.extend(modes.get("pooling_mode").and_then(serde_json::Value::as_str));
        match on.as_slice() {
            ["cls_token" | "cls"] => Ok(Pooling::Cls),
            ["mean_tokens" | "mean"] => Ok(Pooling::Mean),
            [] => Err(EmbedError::NoPooling { dir: dir.to_owned() }),
            other => Err(EmbedError::Architecture {
                path,
                key: "pooling_mode",
                found: other.join(" and "),
                expected: "cls or mean; if one of them will do, say --pooling".to_owned(),
            }),
        }
    }
}
