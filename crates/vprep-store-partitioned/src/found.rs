//! The neighbours of a query, from several partitions.

use vprep_core::Metric;

/// Collects neighbours and keeps the best, each row once.
pub(crate) struct Found {
    metric: Metric,
    width: usize,
    rows: Vec<(i64, f32)>,
}

impl Found {
    /// Keeps at most `width` rows.
    pub(crate) const fn new(metric: Metric, width: usize) -> Self {
        Self { metric, width, rows: Vec::new() }
    }

    /// Adds what one partition has found.
    pub(crate) fn add(&mut self, more: Vec<(i64, f32)>) {
        const LISTS: usize = 8;
        self.rows.extend(more);
        if self.rows.len() > LISTS * self.width {
            self.best();
        }
    }

    /// The best rows so far, best first, equal scores by row number. It does not depend on the
    /// order in which partitions were added.
    pub(crate) fn best(&mut self) -> &[(i64, f32)] {
        let order =
            |a: &(i64, f32), b: &(i64, f32)| self.metric.compare(f64::from(a.1), f64::from(b.1));
        // A row in several partitions has the same score in each of them.
        self.rows.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| order(a, b)));
        self.rows.dedup_by_key(|(row, _)| *row);
        self.rows.sort_by(order);
        self.rows.truncate(self.width);
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_once_each_in_any_order() {
        let lists = [vec![(4, 0.5), (9, 0.25)], vec![(9, 0.25), (1, 0.25)], vec![(2, 0.75)]];
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let mut found = Found::new(Metric::Cosine, 3);
            order.into_iter().for_each(|list: usize| found.add(lists[list].clone()));
            assert_eq!(found.best(), [(2, 0.75), (4, 0.5), (1, 0.25)]);
        }
        let mut found = Found::new(Metric::L2, 1);
        (0..100).for_each(|row| found.add(vec![(row, 1.0)]));
        assert_eq!(found.best(), [(0, 1.0)]);
    }
}
