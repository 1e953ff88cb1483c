//! Rows of the base in codes, in panels.

use super::slack::{RowSlack, covers};
use crate::kernel::{Coded, GROUP, PerRow, ROWS, RowCodes, RowPanel, Unit};
use vprep_core::{Metric, cosine_divisor};

/// What turns the inner product of a row into its merit: times `a`, less `b`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowTerms {
    pub(super) a: f64,
    pub(super) b: f64,
}

impl RowTerms {
    fn new(metric: Metric, norm: f64) -> Self {
        match metric {
            Metric::Ip => Self { a: 1.0, b: 0.0 },
            Metric::Cosine if norm == 0.0 => Self { a: 0.0, b: 0.0 },
            Metric::Cosine => Self { a: 1.0 / cosine_divisor(norm), b: 0.0 },
            Metric::L2 => Self { a: 1.0, b: 0.5 * norm * norm },
        }
    }
}

/// What a panel says of its rows beside their codes.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    scale: PerRow,
    offset: PerRow,
    slack: [RowSlack; ROWS],
    /// A bound for all rows.
    pub(super) most: RowSlack,
    pub(super) numbers: [u32; ROWS],
    /// A bit for each row there is.
    pub(super) valid: u32,
}

impl Panel {
    pub(super) fn slack(&self, row: usize) -> RowSlack {
        self.slack[row]
    }
}

/// Panels of rows, and room that is used again.
#[derive(Debug, Default)]
pub(super) struct Rows {
    groups: usize,
    codes: Vec<RowCodes>,
    panels: Vec<Panel>,
    one: Vec<i8>,
}

impl Rows {
    /// Codes rows, each with its number, in place of those that are here; `norms` gets what
    /// `Coded::norm` is for each.
    pub(super) fn fill<'a>(
        &mut self,
        unit: Unit,
        metric: Metric,
        dim: usize,
        rows: impl ExactSizeIterator<Item = (u32, &'a [f32])>,
        mut norms: impl FnMut(f64),
    ) {
        self.groups = dim.div_ceil(GROUP);
        let count = rows.len();
        // The codes of rows that are not there mean nothing: `valid` says so.
        self.codes.resize(count.div_ceil(ROWS) * self.groups, RowCodes([128; ROWS * GROUP]));
        self.panels.clear();
        self.one.clear();
        self.one.resize(self.groups * GROUP, 0);
        for (i, (number, values)) in rows.enumerate() {
            let (place, panel) = (i % ROWS, i / ROWS);
            if place == 0 {
                self.panels.push(Panel {
                    scale: PerRow([0.0; ROWS]),
                    offset: PerRow([0.0; ROWS]),
                    slack: [RowSlack::default(); ROWS],
                    most: RowSlack::default(),
                    numbers: [0; ROWS],
                    valid: 0,
                });
            }
            let coded = unit.code(values, &mut self.one);
            norms(coded.norm);
            let codes = &mut self.codes[panel * self.groups..][..self.groups];
            for (four, group) in self.one.as_chunks::<GROUP>().0.iter().zip(codes) {
                let bytes = u32::from_ne_bytes(four.map(|code| code as u8 ^ 128));
                group.0.as_chunks_mut::<GROUP>().0[place] = bytes.to_ne_bytes();
            }
            self.panels[panel].set(place, number, metric, &coded);
        }
    }

    /// Each panel, with what it says of its rows.
    pub(super) fn panels(&self) -> impl Iterator<Item = (RowPanel<'_>, &Panel)> {
        let codes = self.codes.chunks_exact(self.groups.max(1));
        self.panels.iter().zip(codes).map(|(panel, codes)| {
            (RowPanel { codes, scale: &panel.scale, offset: &panel.offset }, panel)
        })
    }
}

impl Panel {
    fn set(&mut self, place: usize, number: u32, metric: Metric, coded: &Coded) {
        let terms = RowTerms::new(metric, coded.norm);
        let slack = RowSlack::new(metric, coded, terms);
        self.numbers[place] = number;
        self.valid |= 1 << place;
        self.slack[place] = slack;
        self.most = self.most.max(slack);
        // A row without a bound is a candidate whatever its estimate, which then is 0.
        if covers(coded.norm) {
            self.scale.0[place] = (f64::from(coded.scale) * terms.a) as f32;
            self.offset.0[place] = terms.b as f32;
        }
    }
}
