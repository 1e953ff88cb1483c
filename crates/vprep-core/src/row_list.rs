//! The rows that something is wrong with, for error messages.

use std::fmt;

/// Row numbers at fault: the first few, and how many there are in all.
///
/// ```
/// let mut rows = vprep_core::RowList::default();
/// assert!(rows.is_empty());
/// (0..14).step_by(2).for_each(|row| rows.push(row));
/// assert_eq!(rows.to_string(), "rows 0, 2, 4, 6, 8 and 2 more");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowList {
    first: Vec<u64>,
    total: u64,
}

impl RowList {
    const SHOWN: usize = 5;

    /// Adds a row. Rows are added in ascending order.
    pub fn push(&mut self, row: u64) {
        if self.first.len() < Self::SHOWN {
            self.first.push(row);
        }
        self.total += 1;
    }

    /// Whether nothing is at fault.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// How many rows were pushed.
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl FromIterator<u64> for RowList {
    fn from_iter<T: IntoIterator<Item = u64>>(rows: T) -> Self {
        let mut list = Self::default();
        rows.into_iter().for_each(|row| list.push(row));
        list
    }
}

impl fmt::Display for RowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", if self.total == 1 { "row " } else { "rows " })?;
        for (i, row) in self.first.iter().enumerate() {
            write!(f, "{}{row}", if i == 0 { "" } else { ", " })?;
        }
        match self.total - self.first.len() as u64 {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
