//! A batch of rows.

use arrow::array::{ArrayRef, StringArray};

/// Some rows of a file, in its order.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The number of the first row within the file.
    pub first_row: u64,
    /// How many rows; at least one.
    pub rows: usize,
    /// `rows x dim` values, row-major. They may be NaN or infinite: see [`non_finite_rows`].
    pub vectors: Vec<f32>,
    /// The ids of the rows.
    pub ids: Ids,
    /// The other columns, `rows` values each, as [`VectorReader::columns`] declares them.
    ///
    /// [`VectorReader::columns`]: super::VectorReader::columns
    pub columns: Vec<ArrayRef>,
}

/// The ids of a batch's rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Ids {
    /// The source has none: a row is known by its number.
    RowNumber,
    /// Integers, one for each row.
    Int(Vec<i64>),
    /// Strings, one for each row, none null.
    Text(StringArray),
}

impl Batch {
    /// A batch of a file that holds nothing but vectors.
    pub(super) fn plain(first_row: u64, rows: usize, vectors: Vec<f32>) -> Self {
        Self { first_row, rows, vectors, ids: Ids::RowNumber, columns: Vec::new() }
    }
}

/// How many vectors of `dim` values make a batch: 4 MiB of them, but no more rows than a table of
/// long texts can stand.
pub(super) fn batch_rows(dim: usize) -> usize {
    const VALUES: usize = 1 << 20;
    (VALUES / dim).clamp(1, 8_192)
}

/// The rows of `vectors` (`n x dim`, row-major, row numbers from `first_row`) that hold NaN or an
/// infinity, in ascending order.
///
/// ```
/// use vprep_core::RowList;
/// use vprep_data::read::non_finite_rows;
///
/// let vectors = [0.0, 1.0, f32::NAN, 2.0, 3.0, f32::INFINITY];
/// let rows: RowList = non_finite_rows(&vectors, 2, 100).collect();
/// assert_eq!(rows.to_string(), "rows 101, 102");
/// ```
///
/// # Panics
///
/// If `dim` is 0.
pub fn non_finite_rows(
    vectors: &[f32],
    dim: usize,
    first_row: u64,
) -> impl Iterator<Item = u64> + '_ {
    // No short cut within a row, so that the compiler checks many values at once.
    let finite = |row: &[f32]| row.iter().fold(true, |all, value| all & value.is_finite());
    (first_row..)
        .zip(vectors.chunks_exact(dim))
        .filter(move |(_, row)| !finite(row))
        .map(|(row, _)| row)
}
