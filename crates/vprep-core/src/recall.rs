//! Recall, with ties counted.
//!
//! A returned row is a hit if its true score is at least the k-th true score, whether or not the
//! truth lists that very row: of equal rows, an engine may return any. Rows are counted once
//! however often they are returned, and the divisor is `min(k, n)`.

use crate::{MatrixView, Metric};
use std::collections::HashSet;

/// Hits of one query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Distinct returned rows whose true score is at least the k-th true score; at most k.
    pub with_ties: u32,
    /// Distinct returned rows that the first k of the truth list.
    pub strict: u32,
    /// Rows returned, repeats counted, -1 and the like not.
    pub returned: u32,
    /// Rows returned more than once.
    pub repeated: u32,
}

/// The true answer to one query and the vectors it was computed from.
#[derive(Clone, Copy, Debug)]
pub struct Truth<'a> {
    /// How scores are computed.
    pub metric: Metric,
    /// The base, `n x dim`.
    pub base: MatrixView<'a>,
    /// The query, `dim` values.
    pub query: &'a [f32],
    /// The first k true neighbours, best first; `min(k, n)` of them.
    pub rows: &'a [i32],
}

impl Truth<'_> {
    /// Compares `answer` (row numbers, negative ones mean "none") with the truth.
    ///
    /// # Panics
    ///
    /// If a row number is not a row of the base, or the truth is empty.
    pub fn hits(&self, answer: &[i64]) -> Hits {
        let exact = |row: i64| self.metric.score(self.query, self.base.row(row as usize));
        let last = *self.rows.last().expect("a truth has at least one neighbour");
        let worst = exact(i64::from(last));
        let known: HashSet<i64> = self.rows.iter().map(|&row| i64::from(row)).collect();
        let mut seen = HashSet::with_capacity(answer.len());
        let mut hits = Hits::default();
        for &row in answer.iter().filter(|&&row| row >= 0) {
            hits.returned += 1;
            if !seen.insert(row) {
                hits.repeated += 1;
            } else if known.contains(&row) {
                hits.strict += 1;
                hits.with_ties += 1;
            } else if self.metric.compare(exact(row), worst).is_le() {
                hits.with_ties += 1;
            }
        }
        hits.with_ties = hits.with_ties.min(self.rows.len() as u32);
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_count_and_repeats_do_not() {
        let base = [0.9, 0.5, 0.5, 0.5, 0.1];
        let truth = Truth {
            metric: Metric::Ip,
            base: MatrixView::new(&base, 1),
            query: &[1.0],
            rows: &[0, 1],
        };
        let hits = truth.hits(&[0, 3]);
        assert_eq!(hits, Hits { with_ties: 2, strict: 1, returned: 2, repeated: 0 });
        let hits = truth.hits(&[3, 3, -1]);
        assert_eq!(hits, Hits { with_ties: 1, strict: 0, returned: 2, repeated: 1 });
        assert_eq!(truth.hits(&[4]).with_ties, 0);
        assert_eq!(truth.hits(&[3, 2, 1, 0]).with_ties, 2);
    }
}
