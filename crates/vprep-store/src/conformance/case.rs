//! Seeded data to build from.

use std::fmt;
use vprep_core::sample::mix;
use vprep_core::{MatrixView, Metric, norm};

/// A base and queries in clusters, and how they are compared.
pub(super) struct Case {
    pub(super) metric: Metric,
    pub(super) unit_length: bool,
    pub(super) dim: usize,
    pub(super) base: Vec<f32>,
    pub(super) queries: Vec<f32>,
}

impl Case {
    const QUERIES: usize = 40;
    const CLUSTERS: u64 = 25;

    /// `rows x dim` vectors and forty queries.
    pub(super) fn new(rows: usize, dim: usize, metric: Metric, unit_length: bool) -> Self {
        let make = |stream: u64, count: usize| -> Vec<f32> {
            (0..count as u64).flat_map(|row| vector(stream, row, dim, unit_length)).collect()
        };
        Self { metric, unit_length, dim, base: make(1, rows), queries: make(2, Self::QUERIES) }
    }

    pub(super) fn base(&self) -> MatrixView<'_> {
        MatrixView::new(&self.base, self.dim)
    }

    pub(super) fn queries(&self) -> MatrixView<'_> {
        MatrixView::new(&self.queries, self.dim)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.unit_length { ", unit length" } else { "" };
        write!(f, "{} rows of dim {}, {}{unit}", self.base().rows(), self.dim, self.metric)
    }
}

/// A vector near one of the cluster centres; unless of unit length, its norm varies by a factor
/// of three.
fn vector(stream: u64, row: u64, dim: usize, unit_length: bool) -> Vec<f32> {
    let place = mix(stream.wrapping_mul(0x5851_F42D_4C95_7F2D) ^ row);
    let cluster = mix(place) % Case::CLUSTERS;
    let values: Vec<f32> = (0..dim as u64)
        .map(|i| (gauss(mix(cluster) ^ i) + 0.7 * gauss(mix(place ^ 0xACE) ^ i)) as f32)
        .collect();
    let length = if unit_length { 1.0 } else { 0.7 + 1.4 * uniform(mix(place ^ 0xBEE)) };
    let scale = length / norm(&values);
    values.into_iter().map(|value| (f64::from(value) * scale) as f32).collect()
}

/// From 0 to 1.
fn uniform(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Nearly normal: the sum of twelve uniform numbers.
fn gauss(seed: u64) -> f64 {
    (0..12).map(|i| uniform(mix(seed.wrapping_mul(31).wrapping_add(i)))).sum::<f64>() - 6.0
}
