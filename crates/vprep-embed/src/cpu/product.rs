//! The product of activations with the weights of a linear layer, and what follows it at once.

use super::elementwise::gelu;
use super::matrix::{Panels, Rows};
use super::simd::{Kernel, Lane, Simd};
use std::ops::Range;

/// What is done to each output while it is in the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Finish<'a> {
    /// Adds the bias.
    Bias(&'a [Lane]),
    /// Adds the bias and applies GELU.
    Gelu(&'a [Lane]),
    /// Adds the bias and what stood in the output.
    Residual(&'a [Lane]),
    /// Nothing.
    None,
}

/// Sets the rows `to` on of `out` to the product of the rows `from` of `a`, after `finish`. Both
/// ranges begin with a block.
pub(crate) struct Product<'a> {
    pub(crate) a: &'a Rows,
    pub(crate) from: Range<usize>,
    pub(crate) weights: &'a Panels,
    pub(crate) out: &'a mut Rows,
    pub(crate) to: usize,
    pub(crate) finish: Finish<'a>,
}

/// Lanes of the largest tile of any instruction set.
pub(crate) const LARGEST_TILE: usize = 28;

impl Kernel for Product<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { a, from, weights, out, to, finish } = self;
        let mut tile = [Lane::default(); LARGEST_TILE];
        for (panel, b) in weights.lanes.chunks_exact(weights.size).enumerate() {
            for (i, row) in from.clone().step_by(S::ROWS).enumerate() {
                let rows = S::ROWS.min(from.end - row);
                s.tile(rows, a.block::<S>(row / S::ROWS), b, &mut tile[..S::ROWS * S::PANEL]);
                for p in 0..S::PANEL.min(weights.chunks - panel * S::PANEL) {
                    let chunk = panel * S::PANEL + p;
                    let start = out.at::<S>(to + i * S::ROWS, chunk);
                    let target = &mut out.lanes[start..][..rows];
                    for (r, target) in target.iter_mut().enumerate() {
                        let v = s.load(&tile[p * S::ROWS + r]);
                        let v = match finish {
                            Finish::Bias(bias) => s.add(v, s.load(&bias[chunk])),
                            Finish::Gelu(bias) => gelu(s, s.add(v, s.load(&bias[chunk]))),
                            Finish::Residual(bias) => {
                                s.add(s.add(v, s.load(&bias[chunk])), s.load(target))
                            }
                            Finish::None => v,
                        };
                        s.store(v, target);
                    }
                }
            }
        }
    }
}
