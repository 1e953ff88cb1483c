//! From an inner product in f32 to an interval that certainly holds the f64 score, with the proof.
//!
//! # Terms
//!
//! Let q be a query, x a row, d their dimension, s = q·x in real arithmetic, u = 2^-24 the unit
//! roundoff of f32, v = 2^-53 that of f64, and γ(n) = n·u / (1 − n·u). The **score** is what
//! `Metric::score` returns, f64 roundings included, and the **goodness** is the score, negated for
//! L2. Goodness has the same order as the **merit**, which is free of what all rows share:
//!
//! | metric | merit μ, in real arithmetic | estimate m in f32 |
//! |---|---|---|
//! | ip | goodness | g |
//! | cosine | goodness · ‖q‖ | g · A, where A ≈ 1 / ‖x‖, and 0 for a zero row |
//! | l2 | (goodness + ‖q‖²) / 2 | g − B, where B ≈ ‖x‖² / 2 |
//!
//! Cosine takes a norm that is 1 within `UNIT_TOLERANCE` for 1, and so does all that follows: for
//! cosine, ‖q‖ and ‖x‖ are what it divides by. The true norms may be larger by a factor of
//! 1 + 4e-7 each, so where Cauchy-Schwarz is used γ(d) grows by a factor of 1 + 8.1e-7, or 13.6u:
//! with γ(d) ≤ 1/14 that adds less than u, which the slack at the end of the proof covers.
//!
//! Here g is the f32 product of some kernel. Claim: |m − μ| ≤ e, where, with p = ‖q‖·‖x‖ and
//! t = (d + 8) · 2^-126,
//!
//! | metric | e |
//! |---|---|
//! | ip | γ(d+8) · p + t |
//! | cosine | γ(d+8) · ‖q‖ + t / ‖x‖ + t |
//! | l2 | γ(d+8) · p + 4u · ‖x‖² + (d + 8) · 4v · ‖q‖² + t |
//!
//! and e = ∞, which claims nothing, unless (d + 8)·u ≤ 1/15 and p, ‖q‖², ‖x‖² (for cosine ‖q‖ and
//! ‖x‖) are at most 2^120 and, for cosine, ‖x‖ is 0 or at least 2^-120.
//!
//! # Proof
//!
//! *The product.* Any order of summation, fused or not, puts at most d roundings on the way from a
//! product q_i·x_i to the sum, so |g − s| ≤ γ(d) · Σ|q_i·x_i| + t' ≤ γ(d) · p + t' by
//! Cauchy-Schwarz (Higham, *Accuracy and Stability of Numerical Algorithms*, sections 3.1 and 4.2;
//! additions of zero are exact and do not count). t' is for underflow: a product below 2^-126
//! loses at most 2^-150, or 2^-126 where a kernel flushes it to zero, and the factors 1 + u that
//! follow at most double it, so t' ≤ d·2^-125 in the second case and d·2^-149 in the first, which
//! is the one that holds here: neither Rust nor `gemm` turns gradual underflow off. Sums are exact
//! there. Nothing overflows: γ(d) ≤ 1, so that no partial sum exceeds 2p + t' < 2^122.
//!
//! *The score.* Products of two f32 are exact in f64 and the sum has γ'(d) = d·v / (1 − d·v), so
//! the score of ip is within γ'(d)·p < u·p / 32 of s, as d·v < 2^-30. Cosine divides by two norms
//! with a relative error of less than (d + 4)·v each and the score times ‖q‖ is within u·‖q‖ / 4
//! of s / ‖x‖. In l2, subtraction, square and sum have a relative error of less than (d + 4)·v of
//! ‖q − x‖² ≤ 2‖q‖² + 2‖x‖², and μ halves it: (d + 4)·v·(1 + 2^-20)·(‖q‖² + ‖x‖²), whose second
//! part is below u·‖x‖² / 32.
//!
//! *The epilogue.* For ip, m = g. For cosine, A has a relative error of less than 1.1u (the norm
//! is an f64) and the product one of u, and one of at most 2^-149 where it underflows; applied to
//! |g|/‖x‖ ≤ 2‖q‖ + t'/‖x‖ this makes less than 4.3u·‖q‖ and a part of t/‖x‖ + t. For l2, B has
//! an error of less than 1.1u·‖x‖²/2 (and 2^-150) and the difference one of
//! u·(|g| + B) ≤ u·(2p + t' + 0.6‖x‖²).
//!
//! *Together*, as γ(d) + 8u ≤ γ(d+8): ip needs γ(d)p + u·p; cosine γ(d)‖q‖ + 6u·‖q‖; l2
//! γ(d)p + 2u·p + 1.3u·‖x‖² and the part of ‖q‖². What is left, more than 2u·p, 2u·‖q‖,
//! 2u·‖x‖² and 12v·‖q‖², is for the f64 roundings of norms, of e itself and of the conversions
//! below: each is at most (d + 8)·v < 2^-29 = u / 32 relative to one of p, ‖q‖ and ‖x‖², or a few v
//! of ‖q‖², and there are fewer than ten. ∎

use vprep_core::Metric;

/// Norms and squares up to here can be multiplied, added and rounded without overflow in f32.
const LARGE: f64 = (1u128 << 120) as f64;

/// The bounds for one metric and dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    metric: Metric,
    /// γ(d+8), or infinity.
    gamma: f64,
    /// t.
    tiny: f64,
    /// (d + 8) · 4v.
    wide: f64,
}

impl Bounds {
    /// The bounds for vectors of `dim` values.
    pub(crate) fn new(metric: Metric, dim: usize) -> Self {
        let terms = dim as f64 + 8.0;
        let nu = terms * 2f64.powi(-24);
        let gamma = if nu <= 1.0 / 15.0 { nu / (1.0 - nu) } else { f64::INFINITY };
        Self { metric, gamma, tiny: terms * 2f64.powi(-126), wide: terms * 2f64.powi(-51) }
    }

    /// A and B of a row with this norm; the estimate of its merit is [`merit`].
    pub(crate) fn row_terms(&self, norm: f64) -> (f32, f32) {
        match self.metric {
            Metric::Ip => (1.0, 0.0),
            Metric::Cosine if norm == 0.0 => (0.0, 0.0),
            Metric::Cosine => ((1.0 / norm) as f32, 0.0),
            Metric::L2 => (1.0, (0.5 * norm * norm) as f32),
        }
    }

    /// e for a query and a row of these norms. It does not fall as either norm grows, except that
    /// for cosine small norms of rows have large errors too.
    pub(crate) fn error(&self, query: f64, row: f64) -> f64 {
        let product = query * row;
        match self.metric {
            Metric::Ip if product <= LARGE => self.gamma * product + self.tiny,
            Metric::Cosine if query <= LARGE && row == 0.0 => self.gamma * query + self.tiny,
            Metric::Cosine
                if query <= LARGE && product <= LARGE && (1.0 / LARGE..=LARGE).contains(&row) =>
            {
                self.gamma * query + self.tiny / row + self.tiny
            }
            Metric::L2 if product <= LARGE && query * query <= LARGE && row * row <= LARGE => {
                let row_part = 4.0 * 2f64.powi(-24) * row * row;
                self.gamma * product + row_part + self.wide * query * query + self.tiny
            }
            _ => f64::INFINITY,
        }
    }

    /// γ(d+8), and what [`error`](Self::error) adds for a query of this norm beside γ(d+8)·p and
    /// 4u·‖x‖², for rows whose norm is 0 or at least `least`.
    pub(crate) fn split(&self, query: f64, least: f64) -> (f64, f64) {
        let rest = match self.metric {
            Metric::Ip => self.tiny,
            Metric::Cosine => self.tiny / least + self.tiny,
            Metric::L2 => self.wide * query * query + self.tiny,
        };
        (self.gamma, rest)
    }

    /// A merit that no row of this goodness is below; one of less goodness may be below it.
    pub(crate) fn merit_below(&self, goodness: f64, query: f64) -> f32 {
        let (merit, size) = self.merit_of(goodness, query);
        round_down(merit - size * 2f64.powi(-50))
    }

    /// The merit of a goodness, and the size of what it is computed from.
    fn merit_of(&self, goodness: f64, query: f64) -> (f64, f64) {
        match self.metric {
            Metric::Ip => (goodness, goodness.abs()),
            Metric::Cosine => (goodness * query, (goodness * query).abs()),
            Metric::L2 => {
                let square = query * query;
                ((goodness + square) / 2.0, goodness.abs() + square)
            }
        }
    }

    /// Where the goodness of a row lies, given the estimate of its merit.
    pub(crate) fn goodness(&self, merit: f32, query: f64, row: f64) -> (f64, f64) {
        let error = self.error(query, row);
        // A zero query is equally similar to everything.
        if error == f64::INFINITY || query == 0.0 {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let (low, high) = (f64::from(merit) - error, f64::from(merit) + error);
        match self.metric {
            Metric::Ip => (low, high),
            Metric::Cosine => (low / query, high / query),
            Metric::L2 => (2.0 * low - query * query, 2.0 * high - query * query),
        }
    }

    /// A merit such that every row whose estimate is below it is less good than `floor`. The norms
    /// of the rows lie from `rows.0` to `rows.1`, or are 0.
    ///
    /// The slack for the rounding of the threshold itself is taken from its own size, since the
    /// floor comes from other rows than those it is held against.
    pub(crate) fn threshold(&self, floor: f64, query: f64, rows: (f64, f64)) -> f32 {
        let error = self.error(query, rows.0).max(self.error(query, rows.1));
        if error == f64::INFINITY || floor == f64::NEG_INFINITY {
            return f32::NEG_INFINITY;
        }
        let (merit, size) = self.merit_of(floor, query);
        round_down(merit - error - size * 2f64.powi(-50))
    }
}

/// The estimate of a merit, from an inner product and the terms of the row.
#[inline(always)]
pub(crate) fn merit(product: f32, scale: f32, offset: f32) -> f32 {
    product * scale - offset
}

/// The largest f32 that is not above `x`.
fn round_down(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) > x { near.next_down() } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::inner_products;
    use crate::test_data::data;
    use proptest::prelude::*;
    use vprep_core::{MatrixView, cosine_divisor, norm};

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        #[test]
        fn intervals_hold_the_goodness_and_thresholds_drop_only_what_is_worse(
            (dim, queries, base) in data(1, 60),
            metric in prop::sample::select(&Metric::ALL),
        ) {
            let (query, base) = (&queries[..dim], MatrixView::new(&base, dim));
            let bounds = Bounds::new(metric, dim);
            let mut products = vec![0.0; base.rows()];
            inner_products(MatrixView::new(query, dim), base, &mut products);
            let sign = if metric.larger_is_better() { 1.0 } else { -1.0 };
            let good: Vec<f64> = base.iter().map(|x| sign * metric.score(query, x)).collect();
            let divisor = |x: &[f32]| match metric {
                Metric::Cosine => cosine_divisor(norm(x)),
                Metric::Ip | Metric::L2 => norm(x),
            };
            let norms: Vec<f64> = base.iter().map(divisor).collect();
            let range = norms.iter().filter(|&&n| n > 0.0).fold(
                (f64::INFINITY, 0f64), |(low, high), &n| (low.min(n), high.max(n)));
            let range = if range.1 == 0.0 { (0.0, 0.0) } else { range };
            let norm_q = divisor(query);
            for i in 0..base.rows() {
                let (scale, offset) = bounds.row_terms(norms[i]);
                let merit_i = merit(products[i], scale, offset);
                let (low, high) = bounds.goodness(merit_i, norm_q, norms[i]);
                prop_assert!(low <= good[i] && good[i] <= high, "{low} {} {high}", good[i]);
                for &floor in good.iter().chain(&[low, high]) {
                    let worse = merit_i < bounds.threshold(floor, norm_q, range);
                    prop_assert!(!worse || good[i] < floor);
                }
            }
        }
    }

    #[test]
    fn bounds_are_tight_enough_to_be_of_use_and_give_up_when_nothing_is_known() {
        let bounds = Bounds::new(Metric::Cosine, 384);
        assert!(bounds.error(1.0, 1.0) < 2.4e-5);
        assert_eq!(Bounds::new(Metric::Ip, 1 << 23).error(1.0, 1.0), f64::INFINITY);
        assert_eq!(Bounds::new(Metric::Ip, 8).error(1e25, 1e25), f64::INFINITY);
        assert_eq!(bounds.error(1.0, 1e-40), f64::INFINITY);
        assert_eq!(Bounds::new(Metric::L2, 8).error(1e-25, 1e25), f64::INFINITY);
    }

    #[test]
    fn rounding_down_never_rounds_up() {
        for x in [0.1, -0.1, 1e300, -1e300, 1e-300, -1e-300, f64::NEG_INFINITY] {
            assert!(f64::from(round_down(x)) <= x);
        }
    }
}
