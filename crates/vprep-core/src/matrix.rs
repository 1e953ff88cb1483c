//! A borrowed row-major matrix.

use std::ops::Range;

/// A borrowed `rows x dim` matrix of `f32`, row-major and dense; row number = vector id.
#[derive(Clone, Copy, Debug)]
pub struct MatrixView<'a> {
    data: &'a [f32],
    dim: usize,
}

impl<'a> MatrixView<'a> {
    /// Views `data` as rows of `dim` values.
    ///
    /// # Panics
    ///
    /// If `dim` is 0 or does not divide the length of `data`.
    pub fn new(data: &'a [f32], dim: usize) -> Self {
        assert!(dim > 0, "a matrix needs at least one dimension");
        assert_eq!(data.len() % dim, 0, "{} values are no whole rows of {dim}", data.len());
        Self { data, dim }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.data.len() / self.dim
    }

    /// The number of values in a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Row `row`, `dim` values.
    pub fn row(&self, row: usize) -> &'a [f32] {
        &self.data[row * self.dim..][..self.dim]
    }

    /// The rows of `range`, still dense.
    pub fn slice(&self, range: Range<usize>) -> MatrixView<'a> {
        MatrixView { data: &self.data[range.start * self.dim..range.end * self.dim], dim: self.dim }
    }

    /// All values, row after row.
    pub fn data(&self) -> &'a [f32] {
        self.data
    }

    /// Row after row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [f32]> + use<'a> {
        self.data.chunks_exact(self.dim)
    }
}
