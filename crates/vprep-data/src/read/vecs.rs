//! `.fvecs`, `.bvecs`: for each vector, int32 LE dim, then dim float32 LE or bytes.

use super::batch::{Batch, batch_rows};
use super::convert::Element;
use super::reader::{Layout, Opened, Source};
use super::{Format, MAX_DIM, Problem};
use std::fs::File;
use std::io::{Read, Seek};

struct Vecs {
    file: File,
    element: Element,
    rows: u64,
    dim: usize,
}

pub(super) fn open(format: Format, element: Element, mut file: File, size: u64) -> Opened {
    if size == 0 {
        return Err(Problem::Empty { rows: 0, dim: 0 });
    }
    if size < 4 {
        return Err(Problem::HeaderCut { expected: 4, found: size });
    }
    let mut first = [0; 4];
    file.read_exact(&mut first).and_then(|()| file.rewind()).map_err(Problem::io("read"))?;
    let dim = i32::from_le_bytes(first);
    let dim = match u64::try_from(dim) {
        Ok(dim) if (1..=MAX_DIM).contains(&dim) => dim,
        _ => return Err(Problem::VecsDim { format, dim }),
    };
    let row_bytes = 4 + element.size() as u64 * dim;
    if !size.is_multiple_of(row_bytes) {
        return Err(Problem::VecsSize { format, found: size, row_bytes, dim });
    }
    let (rows, dim) = (size / row_bytes, dim as usize);
    Ok((Layout::plain(rows, dim), Box::new(Vecs { file, element, rows, dim })))
}

impl Source for Vecs {
    fn next(&mut self, first_row: u64) -> Result<Option<Batch>, Problem> {
        let left = usize::try_from(self.rows - first_row).unwrap_or(usize::MAX);
        let rows = left.min(batch_rows(self.dim));
        if rows == 0 {
            return Ok(None);
        }
        let row_bytes = 4 + self.element.size() * self.dim;
        let mut bytes = vec![0; rows * row_bytes];
        self.file.read_exact(&mut bytes).map_err(Problem::io("read"))?;
        let mut vectors = Vec::with_capacity(rows * self.dim);
        for (row, bytes) in (first_row..).zip(bytes.chunks_exact(row_bytes)) {
            let (dim, values) = bytes.split_first_chunk().expect("a row starts with its dimension");
            let length = i32::from_le_bytes(*dim);
            if usize::try_from(length) != Ok(self.dim) {
                let (length, expected) = (i64::from(length), self.dim as u64);
                return Err(Problem::Ragged { row, length, expected });
            }
            self.element.decode(values, &mut vectors);
        }
        Ok(Some(Batch::plain(first_row, rows, vectors)))
    }
}
