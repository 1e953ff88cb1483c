//! A model that is ready to embed.

use crate::EmbedError;
use crate::backend::{Backend, Forward, Pack};
use crate::candle::{self, Candle};
use crate::config::Config;
use crate::cpu;
use crate::packs;
use crate::settings::{ModelOptions, Role, Settings};
use crate::tokens::Tokens;
use crate::weights::Weights;
use rayon::prelude::*;
use std::fmt;
use std::path::Path;
use vprep_core::{Progress, RowList, Task};
use vprep_data::Content;

/// What a manifest says about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFacts {
    /// Values of a vector.
    pub dim: usize,
    /// Pooling, length, prefixes and norm, every default filled in.
    pub settings: Settings,
    /// Size and digest of `model.safetensors`; of several files, the sha256 of one line
    /// `<sha256>  <name>` for each, sorted by name.
    pub weights: Content,
    /// Size and digest of `tokenizer.json`.
    pub tokenizer: Content,
    /// Size and digest of `config.json`.
    pub config: Content,
}

/// What became of a batch of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Embedded {
    /// Tokens of each text that went through the model, `[CLS]`, `[SEP]` and the prefix included.
    pub tokens: Vec<u32>,
    /// Rows whose text was cut at the maximum length, in ascending order.
    pub truncated: Vec<u64>,
    /// Rows whose text has no token beside `[CLS]`, `[SEP]` and the prefix, in ascending order.
    pub empty: Vec<u64>,
}

/// A model that is ready to embed, on any number of threads at once.
pub struct Embedder {
    facts: ModelFacts,
    backend: Backend,
    tokens: Tokens,
    forward: Box<dyn Forward>,
}

impl Embedder {
    /// Loads the model in `dir`: `config.json`, `tokenizer.json`, `model.safetensors` (or the
    /// files of its index) and, where they are, the files of sentence-transformers.
    ///
    /// # Errors
    ///
    /// If a file is missing, damaged or of another architecture than BERT; if nothing says how the
    /// model pools; if an option is out of the model's range.
    pub fn load(
        dir: &Path,
        options: &ModelOptions,
        backend: Backend,
        progress: &dyn Progress,
    ) -> Result<Self, EmbedError> {
        backend.check()?;
        let config = Config::read(dir)?;
        let settings = Settings::resolve(dir, &config, options)?;
        let (tokens, tokenizer) = Tokens::read(dir, &settings, config.vocab_size)?;
        progress.check()?;
        let (mut weights, content) = Weights::read(dir, progress)?;
        progress.check()?;
        let forward: Box<dyn Forward> = match backend {
            Backend::Cpu(instructions) => {
                cpu::build(instructions, &mut weights, &config, settings.pooling)?
            }
            Backend::Candle => {
                let device = candle_core::Device::Cpu;
                Box::new(Candle::build(weights, &config, settings.pooling, device)?)
            }
            Backend::Cuda(number) => {
                let device = candle::cuda(number)?;
                Box::new(Candle::build(weights, &config, settings.pooling, device)?)
            }
        };
        let dim = config.hidden_size;
        let facts =
            ModelFacts { dim, settings, weights: content, tokenizer, config: config.content };
        Ok(Self { facts, backend, tokens, forward })
    }

    /// What runs the model.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// What a manifest says about the model.
    pub fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    /// Values of a vector.
    pub fn dim(&self) -> usize {
        self.facts.dim
    }

    /// Embeds texts into `out`, `texts x dim`, row after row. `first_row` is the number of the
    /// first text, for messages and results. `task` is advanced by the number of texts,
    /// and told of their tokens.
    ///
    /// On [`Backend::Cpu`] a text's vector depends on nothing but the text, bit for bit: neither
    /// on the texts beside it nor on the number of threads. It does depend on the instructions:
    /// AVX-512 and AVX2 give the same bits, the portable code differs by about 1e-7. Work is
    /// spread over rayon's current threads, in packs of about a thousand tokens. The other backends
    /// pad texts into batches, and those beside a text may change the last bits of its vector.
    ///
    /// # Errors
    ///
    /// [`EmbedError::NotFinite`] with the rows at fault; [`EmbedError::Tokenize`];
    /// [`EmbedError::Interrupted`].
    ///
    /// # Panics
    ///
    /// If `out` has not `texts x dim` values: a bug of the caller.
    pub fn embed<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        role: Role,
        first_row: u64,
        out: &mut [f32],
        progress: &dyn Progress,
        task: &dyn Task,
    ) -> Result<Embedded, EmbedError> {
        let dim = self.facts.dim;
        assert_eq!(out.len(), texts.len() * dim, "no room for vectors; this is a bug");
        let encoded = self.tokens.encode(texts, role, first_row, progress)?;
        let mut embedded = Embedded::default();
        let mut ids = Vec::with_capacity(encoded.len());
        for (row, text) in (first_row..).zip(encoded) {
            embedded.tokens.push(text.ids.len() as u32);
            embedded.truncated.extend(text.truncated.then_some(row));
            embedded.empty.extend(text.empty.then_some(row));
            ids.push(text.ids);
        }
        let mut rest = &mut *out;
        let mut packs = Vec::new();
        let (tokens, threads) = match self.forward.pack_tokens() {
            None => (packs::TOKENS, rayon::current_num_threads()),
            Some(tokens) => (tokens, 1),
        };
        for texts in packs::split(&embedded.tokens, tokens, threads) {
            let (out, others) = rest.split_at_mut(texts.len() * dim);
            packs.push((Pack(&ids[texts]), out));
            rest = others;
        }
        let run = |(pack, out): (Pack<'_>, &mut [f32])| {
            self.forward.pooled(&pack, out, progress)?;
            if self.facts.settings.normalize {
                out.chunks_exact_mut(dim).for_each(normalize);
            }
            task.also(pack.tokens() as u64, "tokens");
            task.advance(pack.0.len() as u64);
            Ok::<_, EmbedError>(())
        };
        match self.forward.pack_tokens() {
            // One at a time to whichever thread is free, in order.
            None => packs.into_par_iter().with_max_len(1).try_for_each(run)?,
            Some(_) => packs.into_iter().try_for_each(run)?,
        }
        let finite = |row: &[f32]| row.iter().all(|x| x.is_finite());
        let rows: RowList = (first_row..)
            .zip(out.chunks_exact(dim))
            .filter_map(|(row, vector)| (!finite(vector)).then_some(row))
            .collect();
        if rows.is_empty() { Ok(embedded) } else { Err(EmbedError::NotFinite { rows }) }
    }
}

impl fmt::Debug for Embedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedder").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// Brings a vector to length 1. A norm below 1e-12 counts as 1e-12, as in PyTorch's `normalize`.
fn normalize(vector: &mut [f32]) {
    let norm = vprep_core::norm(vector).max(1e-12);
    for x in vector {
        *x = (f64::from(*x) / norm) as f32;
    }
}
