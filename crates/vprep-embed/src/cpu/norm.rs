//! Layer normalisation.

use super::matrix::Rows;
use super::simd::{Kernel, LANES, Lane, Simd};
use std::ops::Range;

/// Scale, shift and epsilon of a layer normalisation.
#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) scale: Vec<Lane>,
    pub(crate) shift: Vec<Lane>,
    pub(crate) epsilon: f32,
}

/// Normalises rows in place: mean 0 and variance 1 (over n, not n - 1), then scale and shift.
pub(crate) struct LayerNorm<'a> {
    pub(crate) norm: &'a Norm,
    pub(crate) x: &'a mut Rows,
    pub(crate) rows: Range<usize>,
}

impl Kernel for LayerNorm<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { norm, x, rows } = self;
        let n = (x.chunks * LANES) as f32;
        for row in rows {
            let start = x.at::<S>(row, 0);
            let mut sum = s.splat(0.0);
            for chunk in 0..x.chunks {
                sum = s.add(sum, s.load(&x.lanes[start + chunk * S::ROWS]));
            }
            let mean = s.splat(s.sum(sum) / n);
            let mut squares = s.splat(0.0);
            for chunk in 0..x.chunks {
                let d = s.sub(s.load(&x.lanes[start + chunk * S::ROWS]), mean);
                squares = s.mul_add(d, d, squares);
            }
            let inverse = s.splat(1.0 / (s.sum(squares) / n + norm.epsilon).sqrt());
            for (chunk, (scale, shift)) in norm.scale.iter().zip(&norm.shift).enumerate() {
                let lane = &mut x.lanes[start + chunk * S::ROWS];
                let d = s.mul(s.sub(s.load(lane), mean), inverse);
                s.store(s.mul_add(d, s.load(scale), s.load(shift)), lane);
            }
        }
    }
}
