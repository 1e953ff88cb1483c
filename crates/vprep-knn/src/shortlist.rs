//! The rows that may still be among the nearest of one query.
//!
//! Everything here is in terms of goodness, larger is better: the score in f64, negated for L2.

use std::cmp::Ordering;

/// A row, and the interval that its goodness lies in.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    row: u32,
    /// Whether `lower` and `upper` are the goodness itself.
    exact: bool,
    lower: f64,
    upper: f64,
}

impl Candidate {
    /// Best first; only for exact candidates.
    fn compare(&self, other: &Self) -> Ordering {
        other.lower.total_cmp(&self.lower).then(self.row.cmp(&other.row))
    }
}

/// The rows seen so far that may be among the best `keep`, and the goodness that a row needs.
///
/// It holds the best `keep` of all rows offered, and never more than about twice as many rows:
/// when it is full, rows that are certainly worse than `keep` others go; if too few are, the rows
/// that remain are scored exactly and all but the best `keep` go.
#[derive(Debug)]
pub(crate) struct Shortlist {
    keep: usize,
    floor: f64,
    candidates: Vec<Candidate>,
}

impl Shortlist {
    /// For the best `keep` rows.
    pub(crate) fn new(keep: usize) -> Self {
        Self { keep, floor: f64::NEG_INFINITY, candidates: Vec::new() }
    }

    /// How many bytes a list may take when there are `rows` rows in all.
    pub(crate) fn bytes(keep: usize, rows: usize) -> usize {
        Self::limit(keep).min(rows) * size_of::<Candidate>()
    }

    fn limit(keep: usize) -> usize {
        2 * keep + 64
    }

    /// At least `keep` rows of this list are this good: a row that is certainly worse is not among
    /// the best.
    pub(crate) fn floor(&self) -> f64 {
        self.floor
    }

    /// Takes a row whose goodness lies from `lower` to `upper`, unless it is certainly too bad.
    /// `goodness` computes the goodness of a row.
    pub(crate) fn offer(
        &mut self,
        row: u32,
        (lower, upper): (f64, f64),
        goodness: impl Fn(u32) -> f64,
    ) {
        if upper < self.floor {
            return;
        }
        self.candidates.push(Candidate { row, exact: false, lower, upper });
        if self.candidates.len() >= Self::limit(self.keep) {
            self.drop_certainly_worse();
            if self.candidates.len() > self.keep + self.keep / 2 + 32 {
                self.settle(goodness);
            }
        }
    }

    /// Drops the rows that are certainly worse than `keep` others.
    fn drop_certainly_worse(&mut self) {
        if self.candidates.len() <= self.keep {
            return;
        }
        let by_lower = |a: &Candidate, b: &Candidate| b.lower.total_cmp(&a.lower);
        let (_, last, _) = self.candidates.select_nth_unstable_by(self.keep - 1, by_lower);
        let floor = last.lower.max(self.floor);
        self.floor = floor;
        self.candidates.retain(|c| c.upper >= floor);
    }

    /// Scores what is not scored yet and drops all but the best `keep`.
    fn settle(&mut self, goodness: impl Fn(u32) -> f64) {
        for candidate in self.candidates.iter_mut().filter(|c| !c.exact) {
            let goodness = goodness(candidate.row);
            *candidate = Candidate { exact: true, lower: goodness, upper: goodness, ..*candidate };
        }
        if self.candidates.len() >= self.keep {
            let (_, last, _) =
                self.candidates.select_nth_unstable_by(self.keep - 1, Candidate::compare);
            self.floor = last.lower;
            self.candidates.truncate(self.keep);
        }
    }

    /// The best `keep` rows and their goodness, best first, equal ones by row number; all rows
    /// offered, if they were fewer.
    pub(crate) fn finish(mut self, goodness: impl Fn(u32) -> f64) -> Vec<(u32, f64)> {
        self.drop_certainly_worse();
        self.settle(goodness);
        self.candidates.sort_unstable_by(Candidate::compare);
        self.candidates.iter().map(|c| (c.row, c.lower)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_are_kept_whatever_the_intervals(
            keep in 1usize..40,
            rows in prop::collection::vec((-20i32..20, 0u8..9, 0u8..9), 1..900),
        ) {
            let goodness = |row: u32| f64::from(rows[row as usize].0);
            let mut list = Shortlist::new(keep);
            for (row, &(value, below, above)) in (0..).zip(&rows) {
                let value = f64::from(value);
                let end = |wide| if wide == 8 { f64::INFINITY } else { f64::from(wide) };
                list.offer(row, (value - end(below), value + end(above)), goodness);
                prop_assert!(list.candidates.len() < Shortlist::limit(keep));
            }
            let mut all: Vec<_> = (0..).zip(&rows).map(|(row, r)| (row, f64::from(r.0))).collect();
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            all.truncate(keep);
            prop_assert_eq!(list.finish(goodness), all);
        }
    }
}
