//! A matrix without anything between its values.

use super::Problem;
use super::batch::{Batch, batch_rows};
use super::convert::{Element, overflows, rows_where};
use super::reader::Source;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// A `rows x dim` matrix in a file, of exactly the size that it needs.
pub(super) struct Dense {
    pub(super) file: File,
    pub(super) element: Element,
    pub(super) rows: u64,
    pub(super) dim: usize,
    /// The byte at which the values start.
    pub(super) data_start: u64,
    /// Whether whole columns follow each other, not whole rows.
    pub(super) by_columns: bool,
}

impl Source for Dense {
    fn next(&mut self, first_row: u64) -> Result<Option<Batch>, Problem> {
        let left = usize::try_from(self.rows - first_row).unwrap_or(usize::MAX);
        let rows = left.min(batch_rows(self.dim));
        if rows == 0 {
            return Ok(None);
        }
        let vectors = match self.by_columns {
            false => self.read_rows(first_row, rows)?,
            true => self.read_columns(first_row, rows)?,
        };
        Ok(Some(Batch::plain(first_row, rows, vectors)))
    }
}

impl Dense {
    fn read_rows(&mut self, first_row: u64, rows: usize) -> Result<Vec<f32>, Problem> {
        let count = rows * self.dim;
        let bytes = self.read(first_row * self.dim as u64, count)?;
        let mut vectors = Vec::with_capacity(count);
        if !self.element.decode(&bytes, &mut vectors) {
            let values: &[[u8; 8]] = bytes.as_chunks().0;
            let is = |value: &[u8; 8]| overflows(f64::from_le_bytes(*value));
            return Err(Problem::Overflow { rows: rows_where(values, self.dim, first_row, is) });
        }
        Ok(vectors)
    }

    /// Gathers rows from columns: one short read in each.
    fn read_columns(&mut self, first_row: u64, rows: usize) -> Result<Vec<f32>, Problem> {
        let mut vectors = vec![0.0; rows * self.dim];
        let mut overflowed = vec![false; rows];
        let mut column = Vec::with_capacity(rows);
        for j in 0..self.dim {
            let bytes = self.read(j as u64 * self.rows + first_row, rows)?;
            column.clear();
            if !self.element.decode(&bytes, &mut column) {
                let values: &[[u8; 8]] = bytes.as_chunks().0;
                for (flag, value) in overflowed.iter_mut().zip(values) {
                    *flag |= overflows(f64::from_le_bytes(*value));
                }
            }
            for (row, value) in vectors.chunks_exact_mut(self.dim).zip(&column) {
                row[j] = *value;
            }
        }
        if overflowed.contains(&true) {
            return Err(Problem::Overflow { rows: rows_where(&overflowed, 1, first_row, |&f| f) });
        }
        Ok(vectors)
    }

    /// The bytes of `count` values from value `start` on.
    fn read(&mut self, start: u64, count: usize) -> Result<Vec<u8>, Problem> {
        let size = self.element.size();
        let at = self.data_start + start * size as u64;
        let mut bytes = vec![0; count * size];
        self.file
            .seek(SeekFrom::Start(at))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(Problem::io("read"))?;
        Ok(bytes)
    }
}
