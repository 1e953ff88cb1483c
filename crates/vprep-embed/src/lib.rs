//! Texts to vectors, with BERT models: the step between texts and everything that searches vectors.
//!
//! A model is a directory as the Hugging Face hub has it: `config.json`, `tokenizer.json`,
//! `model.safetensors`, and the files of sentence-transformers that say how it pools. What is known
//! of the common models stands in `models.toml`. Nothing is guessed: a directory that does not say
//! how it pools is an error that names the flag to give.
//!
//! [`Embedder`] embeds slices of texts. On CPUs it runs a forward pass of its own, written for
//! AVX-512, AVX2 or any processor and chosen at run time; a text's vector does not depend on the
//! texts beside it or on the number of threads. On NVIDIA GPUs, with the feature `cuda`, it runs
//! candle's. [`checkpoint`] makes long runs of it that can be
//! stopped at any moment and shared by machines.
//!
//! ```no_run
//! use std::path::Path;
//! use vprep_core::Silent;
//! use vprep_embed::{Backend, DEFAULT_MODEL, Embedder, ModelOptions, Role};
//!
//! let options = ModelOptions { id: Some(DEFAULT_MODEL.to_owned()), ..ModelOptions::default() };
//! let dir = Path::new("bge-small-en-v1.5");
//! let embedder = Embedder::load(dir, &options, Backend::default(), &Silent)?;
//!
//! let texts = ["the price of tea", "tea is a plant"];
//! let mut vectors = vec![0.0; texts.len() * embedder.dim()];
//! let embedded = embedder.embed(&texts, Role::Base, 0, &mut vectors, &Silent, &Silent)?;
//! assert_eq!(embedded.tokens, [6, 6]);
//!
//! // A query gets the model's prefix; a text of the base does not.
//! let mut query = vec![0.0; embedder.dim()];
//! embedder.embed(&["tea price"], Role::Queries, 0, &mut query, &Silent, &Silent)?;
//! # Ok::<(), vprep_embed::EmbedError>(())
//! ```

mod backend;
mod candle;
pub mod checkpoint;
mod config;
mod cpu;
mod embedder;
mod error;
mod files;
mod known;
mod packs;
mod settings;
#[cfg(test)]
mod test_model;
#[cfg(test)]
mod tests;
mod tokens;
mod weights;

pub use backend::Backend;
pub use cpu::Instructions;
pub use embedder::{Embedded, Embedder, ModelFacts};
pub use error::EmbedError;
pub use known::{DEFAULT_MODEL, KnownModel, known_models};
pub use settings::{ModelOptions, Pooling, Role, Settings};
