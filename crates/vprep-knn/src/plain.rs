//! The plain reference: every row scored in f64, then sorted. It is what [`Exact`](crate::Exact)
//! must equal, in the tests and wherever a truth is checked.

use vprep_core::{MatrixView, Metric, Neighbour};

/// The first `min(k, n)` rows of `base` (`n x dim`) for one query (`dim` values), best first,
/// equal scores by row number, with their f64 scores.
///
/// ```
/// use vprep_core::{MatrixView, Metric};
///
/// let found = vprep_knn::plain::search(MatrixView::new(&[0.0, 3.0, 1.0], 1), &[2.0], Metric::L2, 2);
/// assert_eq!(found.iter().map(|n| (n.row, n.score)).collect::<Vec<_>>(), [(1, 1.0), (2, 1.0)]);
/// ```
///
/// # Panics
///
/// If the dimensions differ.
pub fn search(base: MatrixView<'_>, query: &[f32], metric: Metric, k: usize) -> Vec<Neighbour> {
    let score = |(row, values)| Neighbour { row, score: metric.score(query, values) };
    let mut all: Vec<_> = (0..).zip(base.iter()).map(score).collect();
    all.sort_by(|a, b| a.compare(b, metric));
    all.truncate(k);
    all
}
