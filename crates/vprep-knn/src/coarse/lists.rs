//! The rows that may be among the nearest of each query of a panel, as far as estimates tell.

use super::queries::CodedQueries;
use super::rows::Panel;
use crate::kernel::{PerRow, QUERIES, RowPanel, Unit};

/// A row, and the interval that its merit lies in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) row: u32,
    pub(crate) low: f32,
    pub(crate) high: f32,
}

/// What a list keeps when it is full.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// The floor rises to the lower end of this many rows.
    pub(super) keep: usize,
    /// Estimates in a list, at most, but for those of one panel.
    pub(super) limit: usize,
    /// Whether only the best `keep` by their lower ends stay: a sample, not a search.
    pub(super) sample: bool,
}

/// The lists of a panel of queries.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    /// The merit that a row needs; infinite where a list was given up.
    pub(super) floors: [f32; QUERIES],
    pub(super) estimates: [Vec<Estimate>; QUERIES],
}

impl Lists {
    pub(super) fn new(floors: [f32; QUERIES]) -> Self {
        Self { floors, estimates: Default::default() }
    }

    /// Offers the rows of a panel to the queries; `next` are those who are offered them next.
    pub(super) fn offer(
        &mut self,
        unit: Unit,
        (codes, panel): (RowPanel<'_>, &Panel),
        (queries, next): (&CodedQueries, &CodedQueries),
        rule: Rule,
        out: &mut [PerRow; QUERIES],
    ) {
        if self.floors == [f32::INFINITY; QUERIES] {
            return;
        }
        let hits = {
            let (floors, most) = (&self.floors, panel.most);
            unit.tile(codes, queries.panel(next), || queries.slack.cuts(floors, most), out)
        };
        if hits.iter().fold(0, |any, hits| any | hits) == 0 {
            return;
        }
        for q in 0..QUERIES {
            let mut hits = hits[q] & panel.valid;
            if hits == 0 || self.floors[q] == f32::INFINITY {
                continue;
            }
            while hits != 0 {
                let place = hits.trailing_zeros() as usize;
                hits &= hits - 1;
                let estimate = out[q].0[place];
                let error = queries.slack.error(q, panel.slack(place));
                let high = (estimate + error).next_up();
                if high >= self.floors[q] {
                    let low = (estimate - error).next_down();
                    self.estimates[q].push(Estimate { row: panel.numbers[place], low, high });
                }
            }
            if self.estimates[q].len() >= rule.limit {
                self.tighten(q, rule);
            }
        }
    }

    /// Raises a floor to what `keep` rows certainly reach, and drops what is certainly below; gives
    /// the list up if that is not enough.
    fn tighten(&mut self, q: usize, rule: Rule) {
        let list = &mut self.estimates[q];
        let by_low = |a: &Estimate, b: &Estimate| b.low.total_cmp(&a.low);
        let (_, last, _) = list.select_nth_unstable_by(rule.keep - 1, by_low);
        let floor = last.low.max(self.floors[q]);
        self.floors[q] = floor;
        if rule.sample {
            list.truncate(rule.keep);
            return;
        }
        list.retain(|estimate| estimate.high >= floor);
        if list.len() > rule.limit / 4 * 3 {
            *list = Vec::new();
            self.floors[q] = f32::INFINITY;
        }
    }

    /// The lower end of the `keep`-th row, once everything was offered; minus infinity if there
    /// are fewer.
    pub(super) fn floor(&mut self, q: usize, keep: usize) -> f32 {
        let list = &mut self.estimates[q];
        if list.len() < keep {
            return f32::NEG_INFINITY;
        }
        let by_low = |a: &Estimate, b: &Estimate| b.low.total_cmp(&a.low);
        list.select_nth_unstable_by(keep - 1, by_low).1.low
    }
}
