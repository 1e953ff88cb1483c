//! What is recorded of a checkpoint.

use crate::Embedded;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use vprep_core::RowList;
use vprep_data::Content;

/// Rows that a record names; of the others it keeps the number.
const NAMED: usize = 20;

/// `NNNNNN.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub(super) rows: Range<u64>,
    pub(super) content: Content,
    pub(super) tokens: u64,
    pub(super) truncated: Named,
    pub(super) empty: Named,
}

/// Rows, the first few by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    count: u64,
    first: Vec<u64>,
}

impl Named {
    fn new(rows: &[u64]) -> Self {
        Self { count: rows.len() as u64, first: rows.iter().copied().take(NAMED).collect() }
    }
}

impl Record {
    pub(super) fn new(rows: Range<u64>, content: Content, embedded: &Embedded) -> Self {
        Self {
            rows,
            content,
            tokens: embedded.tokens.iter().map(|&tokens| u64::from(tokens)).sum(),
            truncated: Named::new(&embedded.truncated),
            empty: Named::new(&embedded.empty),
        }
    }
}

/// What became of all texts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Texts.
    pub rows: u64,
    /// Tokens that went through the model.
    pub tokens: u64,
    /// Texts that were cut at the maximum length.
    pub truncated: u64,
    /// The first of them.
    pub truncated_first: Vec<u64>,
    /// Texts without content.
    pub empty: u64,
    /// The first of them.
    pub empty_first: Vec<u64>,
}

impl Totals {
    pub(super) fn add(&mut self, record: &Record) {
        self.rows += record.rows.end - record.rows.start;
        self.tokens += record.tokens;
        let sum = |count: &mut u64, first: &mut Vec<u64>, named: &Named| {
            *count += named.count;
            first.extend(&named.first);
            first.truncate(NAMED);
        };
        sum(&mut self.truncated, &mut self.truncated_first, &record.truncated);
        sum(&mut self.empty, &mut self.empty_first, &record.empty);
    }
}

/// Rows for a message.
pub(super) fn list(rows: &[u64]) -> RowList {
    rows.iter().copied().collect()
}
