//! Models that are known by their hub id; the data is `models.toml`.

use crate::Pooling;
use serde::Deserialize;
use std::sync::LazyLock;

/// The model that is used unless another is named.
pub const DEFAULT_MODEL: &str = "BAAI/bge-small-en-v1.5";

/// What `models.toml` says about a model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KnownModel {
    /// Hub id, `owner/name`.
    pub id: String,
    /// The commit to fetch unless another is asked for.
    pub revision: Option<String>,
    /// Values of a vector.
    pub dim: usize,
    /// How the tokens' vectors become one.
    pub pooling: Pooling,
    /// Tokens of a text that are used, `[CLS]` and `[SEP]` included.
    pub max_length: usize,
    /// Put before every query.
    #[serde(default)]
    pub query_prefix: String,
    /// Put before every text of the base.
    #[serde(default)]
    pub base_prefix: String,
    /// Whether vectors leave the model with length 1.
    pub normalize: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    model: Vec<KnownModel>,
}

/// Every known model, in the order of `models.toml`.
pub fn known_models() -> &'static [KnownModel] {
    static MODELS: LazyLock<Vec<KnownModel>> = LazyLock::new(|| {
        let file: File = toml::from_str(include_str!("../models.toml")).expect("tested below");
        file.model
    });
    &MODELS
}

/// The known model of this hub id.
pub(crate) fn known(id: &str) -> Option<&'static KnownModel> {
    known_models().iter().find(|model| model.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_model_is_known_and_its_prefix_is_for_queries_alone() {
        let model = known(DEFAULT_MODEL).expect("known");
        assert_eq!((model.pooling, model.max_length, model.dim), (Pooling::Cls, 512, 384));
        assert!(model.query_prefix.ends_with("passages: ") && model.base_prefix.is_empty());
        assert_eq!(model.revision.as_ref().map(String::len), Some(40));
    }

    #[test]
    fn no_model_is_listed_twice() {
        for model in known_models() {
            let same = known_models().iter().filter(|other| other.id == model.id);
            assert_eq!(same.count(), 1, "{}", model.id);
            assert!(model.revision.as_ref().is_none_or(|r| r.len() == 40), "{}", model.id);
        }
    }
}
