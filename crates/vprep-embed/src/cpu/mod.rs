//! The fast forward pass on CPUs.
//!
//! Products take nearly all the time of a BERT model. They run at close to the processor's peak
//! here because nothing is padded and nothing is repacked: texts of any length lie one after the
//! other, activations are kept in the blocks that the product reads, and bias, GELU and residual
//! are applied while an output is in the cache. A text's result depends on that text alone: each
//! of its numbers comes from the same operations in the same order whatever lies beside it.

mod attention;
mod elementwise;
mod layer;
mod matrix;
mod norm;
mod product;
mod simd;
#[cfg(test)]
mod tests;

use crate::EmbedError;
use crate::backend::{Forward, Pack};
use crate::config::Config;
use crate::settings::Pooling;
use crate::weights::Weights;
use layer::{Layer, Workspace};
use matrix::{Rows, lanes};
use norm::{LayerNorm, Norm};
use simd::{LANES, Lane, Simd};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use vprep_core::{Interrupted, Progress};

/// An instruction set of the fast forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// AVX-512.
    Avx512,
    /// AVX2 with FMA. Gives the same bits as AVX-512.
    Avx2,
    /// Plain Rust, for every processor; differs from the others in the last bits.
    Portable,
}

impl Instructions {
    /// What this processor has, the fastest first.
    pub fn available() -> Vec<Self> {
        let mut available = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            available.extend(simd::Avx512::detect().map(|_| Self::Avx512));
            available.extend(simd::Avx2::detect().map(|_| Self::Avx2));
        }
        available.push(Self::Portable);
        available
    }

    /// The fastest that this processor has.
    pub fn best() -> Self {
        Self::available()[0]
    }

    /// The name, for manifests and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }
}

/// Builds the forward pass of a model.
pub(crate) fn build(
    instructions: Instructions,
    weights: &mut Weights,
    config: &Config,
    pooling: Pooling,
) -> Result<Box<dyn Forward>, EmbedError> {
    let missing = EmbedError::Instructions { name: instructions.name() };
    match instructions {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => {
            let simd = simd::Avx512::detect().ok_or(missing)?;
            Ok(Box::new(Bert::take(simd, weights, config, pooling)?))
        }
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => {
            let simd = simd::Avx2::detect().ok_or(missing)?;
            Ok(Box::new(Bert::take(simd, weights, config, pooling)?))
        }
        #[cfg(not(target_arch = "x86_64"))]
        Instructions::Avx512 | Instructions::Avx2 => Err(missing),
        Instructions::Portable => {
            Ok(Box::new(Bert::take(simd::Portable, weights, config, pooling)?))
        }
    }
}

#[derive(Debug)]
struct Bert<S> {
    simd: S,
    words: Vec<Lane>,
    /// Position embeddings, the embedding of the first segment added.
    positions: Vec<Lane>,
    norm: Norm,
    layers: Vec<Layer>,
    hidden: usize,
    pooling: Pooling,
    /// Buffers that no thread uses just now.
    idle: Mutex<Vec<Workspace>>,
}

impl Norm {
    fn take(weights: &mut Weights, name: &str, config: &Config) -> Result<Self, EmbedError> {
        let mut vector = |part| weights.take(&format!("{name}.{part}"), &[config.hidden_size]);
        Ok(Self {
            scale: lanes(&vector("weight")?),
            shift: lanes(&vector("bias")?),
            epsilon: config.layer_norm_eps as f32,
        })
    }
}

impl<S: Simd> Bert<S> {
    fn take(
        simd: S,
        weights: &mut Weights,
        config: &Config,
        pooling: Pooling,
    ) -> Result<Self, EmbedError> {
        config.check_multiples(LANES)?;
        let hidden = config.hidden_size;
        let mut table =
            |name, rows| weights.take(&format!("embeddings.{name}.weight"), &[rows, hidden]);
        let words = lanes(&table("word_embeddings", config.vocab_size)?);
        let mut positions = table("position_embeddings", config.max_position_embeddings)?;
        let segments = table("token_type_embeddings", config.type_vocab_size)?;
        for row in positions.chunks_exact_mut(hidden) {
            row.iter_mut().zip(&segments).for_each(|(x, segment)| *x += segment);
        }
        Ok(Self {
            simd,
            words,
            positions: lanes(&positions),
            norm: Norm::take(weights, "embeddings.LayerNorm", config)?,
            layers: (0..config.num_hidden_layers)
                .map(|index| Layer::take::<S>(weights, config, index))
                .collect::<Result<_, _>>()?,
            hidden,
            pooling,
            idle: Mutex::default(),
        })
    }

    fn embed_tokens(&self, pack: &Pack<'_>, x: &mut Rows) {
        x.resize::<S>(pack.tokens(), self.hidden);
        let chunks = x.chunks;
        let places = pack.texts().flat_map(|text| text.iter().enumerate());
        for (row, (position, &token)) in places.enumerate() {
            let word = &self.words[token as usize * chunks..][..chunks];
            let position = &self.positions[position * chunks..][..chunks];
            for (chunk, (word, position)) in word.iter().zip(position).enumerate() {
                let to = x.at::<S>(row, chunk);
                for (i, x) in x.lanes[to].0.iter_mut().enumerate() {
                    *x = word.0[i] + position.0[i];
                }
            }
        }
        let rows = 0..x.rows;
        self.simd.run(LayerNorm { norm: &self.norm, x, rows });
    }

    fn forward(
        &self,
        pack: &Pack<'_>,
        work: &mut Workspace,
        out: &mut [f32],
        progress: &dyn Progress,
    ) -> Result<(), Interrupted> {
        let mut texts = Vec::new();
        let mut start = 0;
        for text in pack.texts() {
            texts.push(start..start + text.len());
            start += text.len();
        }
        self.embed_tokens(pack, &mut work.x);
        let first_only = self.pooling == Pooling::Cls;
        for (index, layer) in self.layers.iter().enumerate() {
            progress.check()?;
            if first_only && index + 1 == self.layers.len() {
                layer.forward_first(self.simd, &texts, work);
            } else {
                layer.forward(self.simd, &texts, work);
            }
        }
        let (x, texts): (_, Vec<_>) = if first_only {
            (&work.first, (0..texts.len()).map(|i| i..i + 1).collect())
        } else {
            (&work.x, texts)
        };
        for (out, text) in out.chunks_exact_mut(self.hidden).zip(texts) {
            mean::<S>(x, text, out);
        }
        Ok(())
    }
}

/// The mean of rows.
fn mean<S: Simd>(x: &Rows, rows: Range<usize>, out: &mut [f32]) {
    let count = rows.len() as f32;
    for (chunk, out) in out.chunks_exact_mut(LANES).enumerate() {
        let mut sum = [0.0; LANES];
        for row in rows.clone() {
            for (sum, x) in sum.iter_mut().zip(x.lanes[x.at::<S>(row, chunk)].0) {
                *sum += x;
            }
        }
        out.iter_mut().zip(sum).for_each(|(out, sum)| *out = sum / count);
    }
}

impl<S: Simd> Forward for Bert<S> {
    fn pooled(
        &self,
        pack: &Pack<'_>,
        out: &mut [f32],
        progress: &dyn Progress,
    ) -> Result<(), EmbedError> {
        let lock = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = lock().pop().unwrap_or_default();
        let result = self.forward(pack, &mut work, out, progress);
        lock().push(work);
        Ok(result?)
    }
}
