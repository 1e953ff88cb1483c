//! How far an estimate from 8-bit codes may be from the merit it stands for, with the proof.
//!
//! # Claim
//!
//! With the terms of `bounds.rs`: a query q is coded as s_q·q̂ with δq = q − s_q·q̂ left over, a row
//! x as s_x·x̂ with δx. In real arithmetic
//!
//! q·x − s_q s_x ⟨q̂, x̂⟩ = δq·x + s_q q̂·δx,
//!
//! which is at most ‖δq‖·‖x‖ + ‖s_q q̂‖·‖δx‖ (Cauchy-Schwarz). The estimate of the merit is
//! m = fl(fl(I · t) · s_q) − B, where I = ⟨q̂, x̂⟩ as an integer, t ≈ s_x·A, and A and B are the
//! terms of the row; the last two operations may be fused. Claim: |m − μ| ≤ E with
//!
//! E = a·X + b·D + c + Y, where
//!
//! | | ip | cosine | l2 |
//! |---|---|---|---|
//! | X | ‖x‖ | ‖x‖·A | ‖x‖ |
//! | D | ‖δx‖ | ‖δx‖·A | ‖δx‖ |
//! | Y | 0 | 0 | 4u·‖x‖² |
//!
//! a = ‖δq‖ + γ(d+8)·‖q‖, b = ‖s_q q̂‖, and c is what `Bounds` adds beside γ(d+8)·p and 4u·‖x‖². It
//! holds for 16 ≤ d ≤ 65,536 and norms from 2^-40 to 2^40; a row of norm 0 has E = 0 and m = 0 (ip,
//! cosine), and a row with another norm has E = ∞. Other queries are not estimated.
//!
//! # Proof
//!
//! I is exact: |I| ≤ 127²·d < 2^31, and the kernel's sums of u8 by i8 products are below
//! 255·127·d < 2^31 too. A code is at most 127 since |v|·fl(127 / max) ≤ 127·(1 + 2u) rounds to it.
//!
//! The integer becomes an f32 (a relative error of u), t has 3.2u in all (s_x is exact by
//! definition; A has 1.1u by `bounds.rs`, its conversion u, the product u), and there are two
//! products: 6.3u·|s_q s_x I|·A. As ‖s_x x̂‖ ≤ ‖x‖ + ‖δx‖ and each value of δx is at most
//! 0.51·s_x ≤ 0.51·‖x‖ / 127, ‖s_x x̂‖ ≤ (1 + √d / 249)·‖x‖, and the same for q. So this is at most
//! 6.3u·(1 + √d / 249)²·p·A ≤ d·u·p·A for every d in the range: 6.6 ≤ 16 at its beginning,
//! 26 ≤ 65,536 at its end, and it grows more slowly than d. It takes the place of the d roundings
//! of an f32 product, γ(d)·p, in the proof of `bounds.rs`; B, its subtraction, the f64 roundings of
//! the score and everything else are as they are there. Nothing underflows but what t covers:
//! s_x·s_q ≥ 2^-80 / (127²·d) and I is an integer. ∎
//!
//! # In floating point
//!
//! ‖δ‖ is summed in f32. A value of δ is found with an error of 2u·|v| + u·|δ| (the product s·code
//! and the difference; the code is 0 or s·|code| ≤ 2|v|); squares and sums have a relative error
//! of (d + 2)·u, and a square that underflows loses at most 2^-150. So
//! ‖δ‖ ≤ √sum · (1 + (d + 8)·u) + 4u·‖v‖, which is what `Coded::residual` holds.
//!
//! a, b, c, X, D and Y are found in f64, made larger by 2^-17 of themselves, and rounded to f32.
//! That covers those roundings and the six of E itself, which has no subtraction (8u < 2^-20), and
//! the 8.1e-7 by which cosine may take a norm for 1. Ends of intervals go to the next f32 outwards,
//! cuts down by more than the rounding of their difference.

use super::rows::RowTerms;
use crate::bounds::Bounds;
use crate::kernel::{Coded, QUERIES};
use vprep_core::Metric;

/// Dimensions that the claim is proven for.
pub(crate) const DIMS: std::ops::RangeInclusive<usize> = 16..=65_536;

/// 2^40, and 2^-40 is the least norm.
const LARGE: f64 = (1u64 << 40) as f64;

/// Whether the claim is proven for a norm.
pub(super) fn covers(norm: f64) -> bool {
    (1.0 / LARGE..=LARGE).contains(&norm)
}

/// The part of the error that is a query's: a, b and c, of a panel's queries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QuerySlack {
    a: [f32; QUERIES],
    b: [f32; QUERIES],
    c: [f32; QUERIES],
}

/// The part that is a row's, or an upper bound for several rows: X, D and Y.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowSlack {
    x: f32,
    d: f32,
    y: f32,
}

/// To f32, and a little more.
fn up(x: f64) -> f32 {
    (x * (1.0 + 2f64.powi(-17))) as f32
}

impl QuerySlack {
    /// Sets that of a query whose norm is covered, with the norm of its coded part.
    pub(super) fn set(&mut self, q: usize, bounds: &Bounds, coded: &Coded, coded_norm: f64) {
        let (gamma, rest) = bounds.split(coded.norm, 1.0 / LARGE);
        self.a[q] = up(coded.residual + gamma * coded.norm);
        self.b[q] = up(coded_norm);
        self.c[q] = up(rest);
    }

    /// E.
    #[inline(always)]
    pub(super) fn error(&self, q: usize, row: RowSlack) -> f32 {
        self.a[q] * row.x + self.b[q] * row.d + self.c[q] + row.y
    }

    /// Estimates below which a merit is certainly below the floor, for rows of this slack or less;
    /// infinite where the floor is.
    #[inline(always)]
    pub(super) fn cuts(&self, floors: &[f32; QUERIES], row: RowSlack) -> [f32; QUERIES] {
        let mut cuts = [0.0; QUERIES];
        for q in 0..QUERIES {
            let cut = floors[q] - self.error(q, row);
            // Down by at least what the difference may be rounded up.
            let down = cut - (cut.abs() * (4.0 * f32::EPSILON) + f32::MIN_POSITIVE);
            cuts[q] = if floors[q] == f32::INFINITY { f32::INFINITY } else { down };
        }
        cuts
    }
}

impl RowSlack {
    pub(super) fn new(metric: Metric, coded: &Coded, terms: RowTerms) -> Self {
        let norm = coded.norm;
        if norm == 0.0 {
            return Self::default();
        }
        if !covers(norm) {
            return Self { x: f32::INFINITY, ..Self::default() };
        }
        let a = terms.a;
        let y = if metric == Metric::L2 { 4.0 * 2f64.powi(-24) * norm * norm } else { 0.0 };
        Self { x: up(norm * a), d: up(coded.residual * a), y: up(y) }
    }

    /// A bound for both.
    pub(super) fn max(self, other: Self) -> Self {
        Self { x: self.x.max(other.x), d: self.d.max(other.d), y: self.y.max(other.y) }
    }
}
