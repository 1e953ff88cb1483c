//! Queries in codes, in panels.

use super::slack::{QuerySlack, covers};
use crate::bounds::Bounds;
use crate::kernel::{GROUP, QUERIES, QueryCodes, QueryPanel, Unit};
use vprep_core::MatrixView;

/// A panel of queries in codes.
#[derive(Debug)]
pub(super) struct CodedQueries {
    codes: Vec<QueryCodes>,
    start: [i32; QUERIES],
    scale: [f32; QUERIES],
    pub(super) slack: QuerySlack,
    /// Whether there is a query with a bound here.
    pub(super) known: [bool; QUERIES],
}

impl CodedQueries {
    /// Codes at most [`QUERIES`] queries.
    pub(super) fn new(unit: Unit, bounds: &Bounds, queries: MatrixView<'_>) -> Self {
        let groups = queries.dim().div_ceil(GROUP);
        let mut panel = Self {
            codes: vec![[[0; GROUP]; QUERIES]; groups],
            start: [0; QUERIES],
            scale: [0.0; QUERIES],
            slack: QuerySlack::default(),
            known: [false; QUERIES],
        };
        let mut codes = vec![0; groups * GROUP];
        for (place, values) in queries.iter().enumerate() {
            let coded = unit.code(values, &mut codes);
            if !covers(coded.norm) {
                continue;
            }
            let (mut sum, mut squares) = (0, 0i64);
            for (group, four) in panel.codes.iter_mut().zip(codes.as_chunks::<GROUP>().0) {
                group[place] = *four;
                sum += four.iter().map(|&code| i32::from(code)).sum::<i32>();
                squares += four.iter().map(|&code| i64::from(code).pow(2)).sum::<i64>();
            }
            let norm = f64::from(coded.scale) * (squares as f64).sqrt();
            panel.start[place] = -128 * sum;
            panel.scale[place] = coded.scale;
            panel.slack.set(place, bounds, &coded, norm);
            panel.known[place] = true;
        }
        panel
    }

    /// This panel, when `next` comes after it.
    pub(super) fn panel<'a>(&'a self, next: &'a Self) -> QueryPanel<'a> {
        QueryPanel { codes: &self.codes, next: &next.codes, start: &self.start, scale: &self.scale }
    }
}
