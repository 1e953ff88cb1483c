//! Texts to token ids.

use crate::{EmbedError, Role, Settings, files};
use rayon::prelude::*;
use std::path::Path;
use tokenizers::Tokenizer;
use vprep_core::Progress;
use vprep_data::Content;

const FILE: &str = "tokenizer.json";

/// A model's tokenizer, under its settings.
#[derive(Debug)]
pub(crate) struct Tokens {
    tokenizer: Tokenizer,
    max_length: usize,
    base: Prefix,
    queries: Prefix,
}

#[derive(Debug)]
struct Prefix {
    text: String,
    /// What a text without content becomes.
    empty: Vec<u32>,
}

/// The tokens of a text.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) ids: Vec<u32>,
    pub(crate) truncated: bool,
    pub(crate) empty: bool,
}

impl Tokens {
    /// Reads `tokenizer.json`. The truncation and padding that it carries are for its authors'
    /// purposes and are dropped: texts are cut at the settings' maximum length and never padded.
    pub(crate) fn read(
        dir: &Path,
        settings: &Settings,
        vocabulary: usize,
    ) -> Result<(Self, Content), EmbedError> {
        let path = dir.join(FILE);
        if !path.exists() {
            return Err(EmbedError::Missing {
                dir: dir.to_owned(),
                file: FILE,
                hint: "save it with `AutoTokenizer.from_pretrained(...).save_pretrained(...)`",
            });
        }
        let bytes = files::read(&path)?;
        let bad = |problem: String| EmbedError::Malformed { path: path.clone(), problem };
        let mut tokenizer =
            Tokenizer::from_bytes(&bytes).map_err(|error| bad(error.to_string()))?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| bad(error.to_string()))?;
        let largest = tokenizer.get_vocab(true).into_values().max().unwrap_or(0) as usize;
        if largest >= vocabulary {
            return Err(bad(format!(
                "it has a token {largest}, but config.json says vocab_size {vocabulary}"
            )));
        }
        let mut tokens = Self {
            tokenizer,
            max_length: settings.max_length,
            base: Prefix { text: settings.base_prefix.clone(), empty: Vec::new() },
            queries: Prefix { text: settings.query_prefix.clone(), empty: Vec::new() },
        };
        let encode = |text: &str| tokens.ids(text).map_err(|error| bad(error.to_string()));
        if encode("")?.len() != 2 {
            return Err(bad("it does not put one token before a text and one after it".to_owned()));
        }
        let (base, queries) = (encode(&tokens.base.text)?, encode(&tokens.queries.text)?);
        tokens.base.empty = base;
        tokens.queries.empty = queries;
        for prefix in [&tokens.base, &tokens.queries] {
            if !prefix.text.is_empty() && prefix.empty.len() >= tokens.max_length {
                return Err(EmbedError::Prefix {
                    prefix: prefix.text.clone(),
                    tokens: prefix.empty.len(),
                    limit: tokens.max_length,
                });
            }
        }
        Ok((tokens, files::content(&bytes)))
    }

    fn ids(&self, text: &str) -> tokenizers::Result<Vec<u32>> {
        Ok(self.tokenizer.encode_fast(text, true)?.get_ids().to_vec())
    }

    /// Tokenises texts, in parallel.
    pub(crate) fn encode<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        role: Role,
        first_row: u64,
        progress: &dyn Progress,
    ) -> Result<Vec<Encoded>, EmbedError> {
        let encode = |(i, text): (usize, &T)| {
            if i.is_multiple_of(64) {
                progress.check()?;
            }
            self.encode_one(text.as_ref(), role)
                .map_err(|source| EmbedError::Tokenize { row: first_row + i as u64, source })
        };
        texts.par_iter().enumerate().map(encode).collect()
    }

    fn encode_one(&self, text: &str, role: Role) -> tokenizers::Result<Encoded> {
        let prefix = match role {
            Role::Base => &self.base,
            Role::Queries => &self.queries,
        };
        let mut ids = if prefix.text.is_empty() {
            self.ids(text)?
        } else {
            self.ids(&format!("{}{text}", prefix.text))?
        };
        let truncated = ids.len() > self.max_length;
        if truncated {
            // The last token is [SEP], and stays.
            let last = ids[ids.len() - 1];
            ids.truncate(self.max_length - 1);
            ids.push(last);
        }
        let empty = ids == prefix.empty;
        Ok(Encoded { ids, truncated, empty })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pooling;
    use vprep_core::Silent;

    fn check(dir: &Path) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference");
        let read = |name: &str| std::fs::read(root.join(name)).expect("reads");
        let texts: Vec<String> = serde_json::from_slice(&read("texts.json")).expect("texts");
        let ids: Vec<Vec<u32>> = serde_json::from_slice(&read("ids.json")).expect("ids");
        let settings = Settings {
            pooling: Pooling::Mean,
            max_length: 512,
            query_prefix: String::new(),
            base_prefix: String::new(),
            normalize: true,
        };
        let (tokens, _) = Tokens::read(dir, &settings, 30522).expect("reads");
        let texts = &texts[..ids.len()];
        let found = tokens.encode(texts, Role::Base, 0, &Silent).expect("encodes");
        for ((text, ids), found) in texts.iter().zip(ids).zip(found) {
            assert_eq!(found.ids, ids, "{text:?}");
        }
    }

    #[test]
    fn odd_texts_become_the_same_ids_as_in_python() {
        match std::env::var_os("VPREP_MINILM").filter(|dir| !dir.is_empty()) {
            Some(dir) => check(Path::new(&dir)),
            None => println!("SKIPPED: VPREP_MINILM does not name a model's directory"),
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let bge = root.join("../../../shared/data/bge-small-en-v1.5");
        if bge.exists() {
            check(&bge);
        } else {
            println!("SKIPPED: there is no {}", bge.display());
        }
    }
}
