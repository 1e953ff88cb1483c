//! What a query's answer must be: the plain reference.

use vprep_core::{MatrixView, Metric, Neighbour};
use vprep_knn::{Found, plain};

/// The answer to one query.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) rows: Vec<i32>,
    pub(super) scores: Vec<f32>,
    /// As in [`Found`].
    pub(super) gap: f64,
}

/// Scores every row in f64.
pub(super) fn answer(base: MatrixView<'_>, query: &[f32], metric: Metric, k: usize) -> Answer {
    Answer::new(&plain::search(base, query, metric, k + 1), k)
}

impl Answer {
    /// From the first k + 1 neighbours, or k if there are no more rows.
    pub(super) fn new(best: &[Neighbour], k: usize) -> Self {
        let gap = best.get(k).map(|next| (next.score - best[k - 1].score).abs());
        Self {
            rows: best[..k].iter().map(|n| n.row as i32).collect(),
            scores: best[..k].iter().map(|n| n.score as f32).collect(),
            gap: gap.unwrap_or(f64::INFINITY),
        }
    }

    /// The `i`-th answer of a block.
    pub(super) fn of(found: &Found, i: usize, k: usize) -> Self {
        Self {
            rows: found.rows[i * k..][..k].to_vec(),
            scores: found.scores[i * k..][..k].to_vec(),
            gap: found.gaps[i],
        }
    }

    /// Adds the answer to a block.
    pub(super) fn append_to(self, found: &mut Found) {
        found.rows.extend(self.rows);
        found.scores.extend(self.scores);
        found.gaps.push(self.gap);
        found.tied.push(self.gap == 0.0);
    }

    /// In what it differs from another, bit for bit.
    pub(super) fn difference(&self, reference: &Self) -> Option<String> {
        let places =
            self.rows.iter().zip(&reference.rows).zip(self.scores.iter().zip(&reference.scores));
        for (place, ((row, true_row), (score, true_score))) in places.enumerate() {
            if row != true_row {
                return Some(format!("neighbour {place} is row {true_row}, not {row}"));
            }
            if score.to_bits() != true_score.to_bits() {
                return Some(format!("row {row} has score {true_score}, not {score}"));
            }
        }
        let (gap, true_gap) = (self.gap, reference.gap);
        (gap.to_bits() != true_gap.to_bits())
            .then(|| format!("the gap behind k is {true_gap}, not {gap}"))
    }
}
