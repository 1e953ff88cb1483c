//! One neighbour, and the order of neighbours.

use crate::Metric;
use std::cmp::Ordering;

/// A row of the base and its score, in the metric's own convention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Row number in the base.
    pub row: u32,
    /// Score in f64.
    pub score: f64,
}

impl Neighbour {
    /// Best score first, equal scores by row number.
    pub fn compare(&self, other: &Self, metric: Metric) -> Ordering {
        metric.compare(self.score, other.score).then(self.row.cmp(&other.row))
    }
}
