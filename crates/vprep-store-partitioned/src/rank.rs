//! Which partitions a query looks into.

use crate::geometry::between;
use vprep_core::{MatrixView, Metric};

/// Ranks partitions by one vector for each, its probe: the centroid, or under an inner product of
/// vectors of any norm the mean of the rows, whose inner product with a query is the mean of the
/// rows' scores.
pub(crate) struct Ranking {
    probes: Vec<f32>,
    dim: usize,
    between: Metric,
    /// Rows of each partition.
    sizes: Vec<u32>,
}

impl Ranking {
    /// Takes `partitions x dim` probes.
    pub(crate) fn new(probes: Vec<f32>, dim: usize, metric: Metric, sizes: Vec<u32>) -> Self {
        Self { probes, dim, between: between(metric), sizes }
    }

    /// How many partitions there are.
    pub(crate) fn partitions(&self) -> usize {
        self.sizes.len()
    }

    /// All partitions, the best one for the query first, equal ones by number.
    pub(crate) fn order(&self, query: &[f32]) -> Vec<u32> {
        let probes = MatrixView::new(&self.probes, self.dim);
        let score = |probe| self.between.score(query, probe);
        let mut order: Vec<(u32, f64)> = (0u32..).zip(probes.iter().map(score)).collect();
        order.sort_unstable_by(|a, b| self.between.compare(a.1, b.1).then(a.0.cmp(&b.0)));
        order.into_iter().map(|(partition, _)| partition).collect()
    }

    /// The best `nprobe` partitions, and as many more as hold `width` rows together.
    pub(crate) fn plan(&self, query: &[f32], nprobe: usize, width: usize) -> Vec<u32> {
        let mut order = self.order(query);
        let mut rows = 0;
        let enough = order.iter().position(|&partition| {
            rows += self.sizes[partition as usize] as usize;
            rows >= width
        });
        order.truncate(nprobe.max(enough.map_or(order.len(), |last| last + 1)));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_nprobe_partitions_or_enough_for_k_rows() {
        let ranking = Ranking::new(vec![0.0, 1.0, 2.0, 3.0], 1, Metric::L2, vec![5, 1, 2, 9]);
        assert_eq!(ranking.order(&[2.2]), [2, 3, 1, 0]);
        assert_eq!(ranking.order(&[0.5]), [0, 1, 2, 3]);
        assert_eq!(ranking.plan(&[2.2], 1, 2), [2]);
        assert_eq!(ranking.plan(&[2.2], 1, 3), [2, 3]);
        assert_eq!(ranking.plan(&[2.2], 3, 3), [2, 3, 1]);
        assert_eq!(ranking.plan(&[2.2], 1, 18), [2, 3, 1, 0]);
    }
}
