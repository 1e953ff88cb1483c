//! Metrics, and their scores in float64: the definition that every faster kernel is held to.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::{fmt, str::FromStr};

/// How two vectors are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Cosine similarity, larger is better. It divides by the norms of vectors that are not unit
    /// length, so that of unit vectors it is exactly the inner product; see [`cosine_divisor`]. A
    /// zero vector has similarity 0 to everything.
    Cosine,
    /// Inner product, larger is better.
    Ip,
    /// Squared Euclidean distance, smaller is better.
    L2,
}

/// How far from 1 the norm of a vector may be for it to count as unit length.
///
/// Rounding each of `dim` values of a unit vector to f32 moves its norm by at most 2^-24 (the
/// relative error of each value), so a vector normalised in f64 and stored as f32 is within 6e-8;
/// vectors normalised in f32 arithmetic come within a few times that. Two such norms taken for 1
/// move a cosine by less than 1e-6.
pub const UNIT_TOLERANCE: f64 = 4e-7;

impl Metric {
    /// Every metric, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Cosine, Self::Ip, Self::L2];

    /// The name in files and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Ip => "ip",
            Self::L2 => "l2",
        }
    }

    /// Whether a larger score is a better one.
    pub const fn larger_is_better(self) -> bool {
        !matches!(self, Self::L2)
    }

    /// The score of two vectors of the same length, in f64, with the summation order of [`dot`].
    pub fn score(self, a: &[f32], b: &[f32]) -> f64 {
        match self {
            Self::Cosine => {
                let divisor = cosine_divisor(norm(a)) * cosine_divisor(norm(b));
                if divisor == 0.0 { 0.0 } else { dot(a, b) / divisor }
            }
            Self::Ip => dot(a, b),
            Self::L2 => squared_distance(a, b),
        }
    }

    /// Orders two scores, the better one first.
    pub fn compare(self, a: f64, b: f64) -> Ordering {
        if self.larger_is_better() { b.total_cmp(&a) } else { a.total_cmp(&b) }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A metric's name that vprep does not know.
#[derive(Debug, thiserror::Error)]
#[error("unknown metric `{0}`; use cosine, ip or l2")]
pub struct UnknownMetric(String);

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|m| m.name() == s).ok_or_else(|| UnknownMetric(s.to_owned()))
    }
}

/// Sums `term(a[i], b[i])` in the one order that vprep uses everywhere: lane `i mod 8` of eight
/// accumulators takes term `i`, and the lanes are added pairwise at the end. Eight lanes fill the
/// widest vector unit in use, and the result does not depend on which unit runs it: inlined into code
/// that is compiled for one, it is compiled for it too.
#[inline(always)]
fn sum(a: &[f32], b: &[f32], term: impl Fn(f64, f64) -> f64) -> f64 {
    assert_eq!(a.len(), b.len(), "vectors of different dimension");
    let (blocks_a, rest_a) = a.as_chunks::<8>();
    let (blocks_b, rest_b) = b.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for (x, y) in blocks_a.iter().zip(blocks_b) {
        for lane in 0..8 {
            lanes[lane] += term(f64::from(x[lane]), f64::from(y[lane]));
        }
    }
    for (lane, (&x, &y)) in lanes.iter_mut().zip(rest_a.iter().zip(rest_b)) {
        *lane += term(f64::from(x), f64::from(y));
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    // Adding 0 turns -0 into 0: one number, one bit pattern, one place in the order of scores.
    ((a + e) + (c + g)) + ((b + f) + (d + h)) + 0.0
}

/// The inner product in f64. Each product of two f32 is exact in f64, so only the order of
/// summation decides the last bit, and that order is fixed.
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    sum(a, b, |x, y| x * y)
}

/// The squared Euclidean distance in f64, summed in the order of [`dot`].
#[inline(always)]
pub fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    sum(a, b, |x, y| (x - y) * (x - y))
}

/// The Euclidean norm in f64.
#[inline]
pub fn norm(a: &[f32]) -> f64 {
    dot(a, a).sqrt()
}

/// Whether a norm is 1 within [`UNIT_TOLERANCE`].
pub fn is_unit(norm: f64) -> bool {
    (norm - 1.0).abs() <= UNIT_TOLERANCE
}

/// What cosine divides by for a vector of this norm: 1 if it counts as unit length, so that what
/// normalisation has made is not divided by its rounding errors, else the norm.
pub fn cosine_divisor(norm: f64) -> f64 {
    if is_unit(norm) { 1.0 } else { norm }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scores_agree_with_plain_sums(
            pairs in prop::collection::vec((-9.0f32..9.0, -9.0f32..9.0), 1..70),
        ) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
            let plain: f64 = pairs.iter().map(|&(x, y)| f64::from(x) * f64::from(y)).sum();
            let square: f64 =
                pairs.iter().map(|&(x, y)| (f64::from(x) - f64::from(y)).powi(2)).sum();
            prop_assert!((dot(&a, &b) - plain).abs() < 1e-10);
            prop_assert!((squared_distance(&a, &b) - square).abs() < 1e-10);
            prop_assert_eq!(dot(&a, &b), dot(&b, &a));
        }
    }

    #[test]
    fn a_zero_vector_is_similar_to_nothing() {
        assert_eq!(Metric::Cosine.score(&[0.0, 0.0], &[1.0, 2.0]), 0.0);
    }

    #[test]
    fn of_unit_vectors_cosine_is_the_inner_product() {
        let (a, b) = ([0.6, 0.8], [0.8, 0.6]);
        assert_ne!(norm(&a), 1.0);
        assert_eq!(Metric::Cosine.score(&a, &b), dot(&a, &b));
        assert!((Metric::Cosine.score(&[1.2, 1.6], &b) - dot(&a, &b)).abs() < 1e-7);
    }

    #[test]
    fn minus_zero_is_zero() {
        assert!(dot(&[-1.0], &[0.0]).is_sign_positive());
    }

    #[test]
    fn names_round_trip_and_an_unknown_one_lists_the_known() {
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse::<Metric>().expect("known"), metric);
        }
        let error = "dot".parse::<Metric>().expect_err("unknown").to_string();
        assert_eq!(error, "unknown metric `dot`; use cosine, ip or l2");
    }
}
