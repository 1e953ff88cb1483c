//! Qdrant's answers in vprep's order and convention.

use vprep_core::Metric;

/// Turns (row, Qdrant's score) into (row, vprep's score), best first, equal scores by row number;
/// none if a row is not one of the `rows` of the base.
///
/// Qdrant's scores are the cosine, the inner product and the distance, which is not squared.
pub(crate) fn ranked(
    metric: Metric,
    rows: u64,
    found: impl IntoIterator<Item = (u64, f32)>,
) -> Option<Vec<(i64, f32)>> {
    let score = |score: f32| match metric {
        Metric::Cosine | Metric::Ip => score,
        Metric::L2 => score * score,
    };
    let mut ranked: Vec<_> = found
        .into_iter()
        .map(|(row, s)| (row < rows).then_some((row as i64, score(s))))
        .collect::<Option<_>>()?;
    ranked.sort_unstable_by(|a, b| {
        metric.compare(f64::from(a.1), f64::from(b.1)).then(a.0.cmp(&b.0))
    });
    Some(ranked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_squared_and_ties_go_by_row() {
        let found = [(3, 2.0), (7, 0.5), (1, 2.0)];
        assert_eq!(ranked(Metric::L2, 8, found), Some(vec![(7, 0.25), (1, 4.0), (3, 4.0)]));
        assert_eq!(ranked(Metric::Ip, 8, found), Some(vec![(1, 2.0), (3, 2.0), (7, 0.5)]));
        assert_eq!(ranked(Metric::Ip, 7, found), None);
    }
}
