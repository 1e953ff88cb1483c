//! One transformer layer: its weights as the kernels want them, and its order of work.

use super::attention::{Attention, Scratch};
use super::matrix::{Panels, Rows, lanes};
use super::norm::{LayerNorm, Norm};
use super::product::{Finish, Product};
use super::simd::{Lane, Simd};
use crate::EmbedError;
use crate::config::Config;
use crate::weights::Weights;
use std::ops::Range;

/// Blocks of rows that go through the feed-forward part together: their inner activations, 1,536
/// values a row for a small model, stay in the second-level cache.
const TILE_BLOCKS: usize = 16;

/// Weights of a layer.
#[derive(Debug)]
pub(crate) struct Layer {
    query: Panels,
    query_bias: Vec<Lane>,
    key_value: Panels,
    attention: Panels,
    attention_bias: Vec<Lane>,
    attention_norm: Norm,
    inner: Panels,
    inner_bias: Vec<Lane>,
    outer: Panels,
    outer_bias: Vec<Lane>,
    outer_norm: Norm,
    heads: usize,
}

/// Buffers of one thread, kept between packs.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// The hidden states.
    pub(crate) x: Rows,
    /// The hidden states of the first tokens alone.
    pub(crate) first: Rows,
    q: Rows,
    kv: Rows,
    gathered: Rows,
    inner: Rows,
    scratch: Scratch,
}

impl Layer {
    /// Takes the weights of layer `index`. The scale of the scores goes into the query's weights.
    /// The key's bias adds the same to all scores of a query, so that softmax ignores it. The
    /// value's bias passes through attention unchanged, since the weights of a query sum to 1, and
    /// goes into the bias of the product that follows.
    pub(crate) fn take<S: Simd>(
        weights: &mut Weights,
        config: &Config,
        index: usize,
    ) -> Result<Self, EmbedError> {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let mut linear = |name: &str, outputs: usize, inputs: usize| {
            let name = format!("encoder.layer.{index}.{name}");
            let matrix = weights.take(&format!("{name}.weight"), &[outputs, inputs])?;
            let bias = weights.take(&format!("{name}.bias"), &[outputs])?;
            Ok::<_, EmbedError>((matrix, bias))
        };
        let (mut query, mut query_bias) = linear("attention.self.query", hidden, hidden)?;
        let (mut key_value, _) = linear("attention.self.key", hidden, hidden)?;
        let (value, value_bias) = linear("attention.self.value", hidden, hidden)?;
        let (attention, attention_bias) = linear("attention.output.dense", hidden, hidden)?;
        let (first, first_bias) = linear("intermediate.dense", inner, hidden)?;
        let (second, second_bias) = linear("output.dense", hidden, inner)?;
        let mut norm = |name: &str| {
            let name = format!("encoder.layer.{index}.{name}.LayerNorm");
            Norm::take(weights, &name, config)
        };
        let scale = 1.0 / ((hidden / config.num_attention_heads) as f64).sqrt();
        for x in query.iter_mut().chain(&mut query_bias) {
            *x = (f64::from(*x) * scale) as f32;
        }
        key_value.extend(value);
        let folded: Vec<f32> = attention
            .chunks_exact(hidden)
            .zip(&attention_bias)
            .map(|(row, &bias)| (vprep_core::dot(row, &value_bias) + f64::from(bias)) as f32)
            .collect();
        Ok(Self {
            query: Panels::pack::<S>(&query, hidden, hidden),
            query_bias: lanes(&query_bias),
            key_value: Panels::pack::<S>(&key_value, 2 * hidden, hidden),
            attention: Panels::pack::<S>(&attention, hidden, hidden),
            attention_bias: lanes(&folded),
            attention_norm: norm("attention.output")?,
            inner: Panels::pack::<S>(&first, inner, hidden),
            inner_bias: lanes(&first_bias),
            outer: Panels::pack::<S>(&second, hidden, inner),
            outer_bias: lanes(&second_bias),
            outer_norm: norm("output")?,
            heads: config.num_attention_heads,
        })
    }

    /// Sends the hidden states `work.x` of the texts whose rows `texts` lists through the layer.
    pub(crate) fn forward<S: Simd>(&self, s: S, texts: &[Range<usize>], work: &mut Workspace) {
        let Workspace { x, q, kv, gathered, inner, scratch, .. } = work;
        let hidden = x.chunks * 16;
        q.resize::<S>(x.rows, hidden);
        kv.resize::<S>(x.rows, 2 * hidden);
        gathered.resize::<S>(x.rows, hidden);
        for tile in tiles::<S>(x.rows) {
            product(s, x, &self.query, q, tile.clone(), Finish::Bias(&self.query_bias));
            product(s, x, &self.key_value, kv, tile, Finish::None);
        }
        for text in texts {
            s.run(Attention {
                q,
                queries: text.clone(),
                kv,
                keys: text.clone(),
                heads: self.heads,
                out: gathered,
                scratch,
            });
        }
        self.finish(s, gathered, x, inner);
    }

    /// The same for the first token of each text alone, from `work.x` into `work.first`: all that
    /// CLS pooling needs of the last layer.
    pub(crate) fn forward_first<S: Simd>(
        &self,
        s: S,
        texts: &[Range<usize>],
        work: &mut Workspace,
    ) {
        let Workspace { x, first, q, kv, gathered, inner, scratch } = work;
        let hidden = x.chunks * 16;
        first.resize::<S>(texts.len(), hidden);
        q.resize::<S>(texts.len(), hidden);
        kv.resize::<S>(x.rows, 2 * hidden);
        gathered.resize::<S>(texts.len(), hidden);
        for (i, text) in texts.iter().enumerate() {
            for chunk in 0..x.chunks {
                let to = first.at::<S>(i, chunk);
                first.lanes[to] = x.lanes[x.at::<S>(text.start, chunk)];
            }
        }
        for tile in tiles::<S>(x.rows) {
            product(s, x, &self.key_value, kv, tile, Finish::None);
        }
        product(s, first, &self.query, q, 0..texts.len(), Finish::Bias(&self.query_bias));
        for (i, text) in texts.iter().enumerate() {
            s.run(Attention {
                q,
                queries: i..i + 1,
                kv,
                keys: text.clone(),
                heads: self.heads,
                out: gathered,
                scratch,
            });
        }
        self.finish(s, gathered, first, inner);
    }

    /// What follows attention, and works on each token by itself.
    fn finish<S: Simd>(&self, s: S, gathered: &Rows, x: &mut Rows, inner: &mut Rows) {
        for tile in tiles::<S>(x.rows) {
            let finish = Finish::Residual(&self.attention_bias);
            product(s, gathered, &self.attention, x, tile.clone(), finish);
            s.run(LayerNorm { norm: &self.attention_norm, x, rows: tile.clone() });
            inner.resize::<S>(tile.len(), self.inner.chunks * 16);
            let (weights, finish) = (&self.inner, Finish::Gelu(&self.inner_bias));
            s.run(Product { a: x, from: tile.clone(), weights, out: inner, to: 0, finish });
            let (weights, finish) = (&self.outer, Finish::Residual(&self.outer_bias));
            let from = 0..tile.len();
            s.run(Product { a: inner, from, weights, out: x, to: tile.start, finish });
            s.run(LayerNorm { norm: &self.outer_norm, x, rows: tile });
        }
    }
}

fn product<S: Simd>(
    s: S,
    a: &Rows,
    weights: &Panels,
    out: &mut Rows,
    rows: Range<usize>,
    finish: Finish<'_>,
) {
    let to = rows.start;
    s.run(Product { a, from: rows, weights, out, to, finish });
}

fn tiles<S: Simd>(rows: usize) -> impl Iterator<Item = Range<usize>> {
    let step = TILE_BLOCKS * S::ROWS;
    (0..rows).step_by(step).map(move |start| start..rows.min(start + step))
}
