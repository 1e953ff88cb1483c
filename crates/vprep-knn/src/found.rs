//! What a search hands over.

use std::ops::Range;

/// The neighbours of a block of consecutive queries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The queries answered here, row numbers of the query matrix. Blocks come in order and
    /// without gaps.
    pub queries: Range<usize>,
    /// `queries.len() x k` row numbers of the base, best first, equal scores by row number.
    pub rows: Vec<i32>,
    /// `queries.len() x k` scores in the metric's own convention: the f64 scores, rounded.
    pub scores: Vec<f32>,
    /// For each query, by how much the f64 score of the k-th row is better than that of the best row
    /// that is not among the k. Infinite when k is the number of rows.
    pub gaps: Vec<f64>,
    /// For each query, whether the f64 score of a row that is not among the k equals that of the
    /// k-th one: whether the gap is 0.
    pub tied: Vec<bool>,
}

impl Found {
    /// Room for the answers of `queries` queries.
    pub(crate) fn zeros(queries: usize, k: usize) -> Self {
        Self {
            queries: 0..queries,
            rows: vec![0; queries * k],
            scores: vec![0.0; queries * k],
            gaps: vec![f64::INFINITY; queries],
            tied: vec![false; queries],
        }
    }
}
