//! NumPy's `.npy`, as the dataset's own matrices: little-endian, C order, two dimensions.
//!
//! ```text
//! bytes 0..6    \x93NUMPY
//! bytes 6..8    version 1, 0
//! bytes 8..10   u16 LE length of the rest of the header
//! header        {'descr': '<f4', 'fortran_order': False, 'shape': (n, dim), } padded with spaces
//!               and a newline so that the data starts at a multiple of 64
//! data          n x dim values, row after row
//! ```

use crate::read::NpyHeader;
use crate::{DataError, StagedFile};
use memmap2::{Mmap, UncheckedAdvice};
use std::fs::File;
use std::io::Write;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};
use vprep_core::MatrixView;

/// A value that a dataset's matrix can hold.
pub trait Element: bytemuck::Pod {
    /// NumPy's name of the type.
    const DESCR: &str;
}

impl Element for f32 {
    const DESCR: &str = "<f4";
}

impl Element for i32 {
    const DESCR: &str = "<i4";
}

/// A memory-mapped `rows x cols` matrix.
///
/// The file must not be changed in place while it is mapped; vprep itself only ever replaces files
/// by renaming, which leaves a mapping whole.
#[derive(Debug)]
pub struct MappedNpy<T> {
    map: Mmap,
    offset: usize,
    rows: usize,
    cols: usize,
    path: PathBuf,
    element: PhantomData<T>,
}

impl<T: Element> MappedNpy<T> {
    /// Maps the file at `path`.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is not a C-order two-dimensional `.npy` of `T` of exactly the size
    /// that its header declares.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let bad = |problem: String| DataError::malformed(path, problem);
        let file = File::open(path).map_err(DataError::io("open", path))?;
        #[expect(unsafe_code, reason = "mapped read-only; published files are never written again")]
        let map = unsafe { Mmap::map(&file) }.map_err(DataError::io("map", path))?;
        let header = NpyHeader::read(&map[..], map.len() as u64)
            .map_err(|problem| bad(problem.to_string()))?;
        let wanted = format!("{} in C order with two dimensions", T::DESCR);
        let &[rows, cols] = header.shape.as_slice() else {
            return Err(bad(format!("its shape is {:?}; expected {wanted}", header.shape)));
        };
        if header.descr != T::DESCR || header.fortran_order {
            let order = if header.fortran_order { "Fortran" } else { "C" };
            return Err(bad(format!(
                "it holds {} in {order} order; expected {wanted}",
                header.descr
            )));
        }
        let offset = header.data_start as usize;
        let expected = u128::from(rows) * u128::from(cols) * (size_of::<T>() as u128);
        let found = map.len() - offset;
        if expected != found as u128 {
            return Err(bad(format!(
                "its header declares {expected} bytes of data ({rows} x {cols}), but {found} follow"
            )));
        }
        if cols == 0 || !offset.is_multiple_of(align_of::<T>()) {
            return Err(bad(format!("{rows} x {cols} values at byte {offset} cannot be mapped")));
        }
        let (rows, cols) = (rows as usize, cols as usize);
        Ok(Self { map, offset, rows, cols, path: path.to_owned(), element: PhantomData })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of values in a row.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All values, row after row.
    pub fn values(&self) -> &[T] {
        bytemuck::cast_slice(&self.map[self.offset..])
    }
}

impl MappedNpy<f32> {
    /// The matrix, `rows x cols`.
    pub fn view(&self) -> MatrixView<'_> {
        MatrixView::new(self.values(), self.cols)
    }

    /// The matrix in blocks of 8,192 rows, in order, for passes that look at each row once:
    /// the memory of a block is given back when the next one is asked for, so that a pass over a
    /// large file takes no more than a block.
    pub fn blocks(&self) -> impl Iterator<Item = MatrixView<'_>> {
        (0..self.rows).step_by(BLOCK_ROWS).map(|first| {
            if let Some(before) = first.checked_sub(BLOCK_ROWS) {
                self.release(before..first);
            }
            self.view().slice(first..(first + BLOCK_ROWS).min(self.rows))
        })
    }

    /// Gives the memory of rows back to the system; whoever reads them again gets them from the
    /// file. Best effort.
    fn release(&self, rows: Range<usize>) {
        let bytes = self.cols * size_of::<f32>();
        let (start, length) = (self.offset + rows.start * bytes, rows.len() * bytes);
        #[expect(
            unsafe_code,
            reason = "a read-only mapping of a file has nothing to lose: pages are read again"
        )]
        let _ =
            unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, length) };
    }
}

/// Rows of a block.
const BLOCK_ROWS: usize = 8_192;

/// Writes a matrix row by row.
#[derive(Debug)]
pub struct NpyWriter<T> {
    file: StagedFile,
    values: u64,
    declared: u64,
    element: PhantomData<T>,
}

impl<T: Element> NpyWriter<T> {
    /// Starts a `rows x cols` matrix.
    ///
    /// # Errors
    ///
    /// If the header cannot be written.
    pub fn new(mut file: StagedFile, rows: u64, cols: u64) -> Result<Self, DataError> {
        let mut dict = format!(
            "{{'descr': '{}', 'fortran_order': False, 'shape': ({rows}, {cols}), }}",
            T::DESCR
        );
        let unpadded = 10 + dict.len() + 1;
        dict.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
        dict.push('\n');
        let length = u16::try_from(dict.len()).expect("a header of two numbers is short");
        file.write_all(b"\x93NUMPY\x01\x00")
            .and_then(|()| file.write_all(&length.to_le_bytes()))
            .and_then(|()| file.write_all(dict.as_bytes()))
            .map_err(DataError::io("write", file.path()))?;
        Ok(Self { file, values: 0, declared: rows * cols, element: PhantomData })
    }

    /// Appends values in row order.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn append(&mut self, values: &[T]) -> Result<(), DataError> {
        self.values += values.len() as u64;
        self.file
            .write_all(bytemuck::cast_slice(values))
            .map_err(DataError::io("write", self.file.path()))
    }

    /// Syncs the file and returns its digest.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    ///
    /// # Panics
    ///
    /// If the values appended are not as many as declared: a bug of the caller.
    pub fn finish(self) -> Result<crate::Content, DataError> {
        assert_eq!(self.values, self.declared, "{}: rows written", self.file.path().display());
        self.file.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workdir;
    use std::fs;

    #[test]
    fn a_matrix_reads_back_and_its_data_is_aligned() {
        let dir = tempfile::tempdir().expect("a directory");
        let workdir = Workdir::lock(dir.path()).expect("locks");
        let mut transaction = workdir.begin().expect("begins");
        let file = transaction.create("x.npy").expect("creates");
        let mut writer = NpyWriter::<f32>::new(file, 2, 3).expect("writes");
        writer.append(&[1.0, 2.0, 3.0]).expect("writes");
        writer.append(&[4.0, 5.0, 6.0]).expect("writes");
        writer.finish().expect("syncs");
        transaction.commit().expect("commits");
        let path = dir.path().join("x.npy");
        assert_eq!(fs::metadata(&path).expect("there").len() % 64, 24);
        let matrix = MappedNpy::<f32>::open(&path).expect("maps");
        assert_eq!((matrix.rows(), matrix.cols()), (2, 3));
        assert_eq!(matrix.view().row(1), [4.0, 5.0, 6.0]);
        let error = MappedNpy::<i32>::open(&path).expect_err("floats").to_string();
        assert!(error.ends_with("expected <i4 in C order with two dimensions"), "{error}");
    }

    #[test]
    fn blocks_are_the_matrix_again_and_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let workdir = Workdir::lock(dir.path()).expect("locks");
        let mut transaction = workdir.begin().expect("begins");
        let file = transaction.create("x.npy").expect("creates");
        let values: Vec<f32> = (0..3 * (2 * BLOCK_ROWS + 5)).map(|i| i as f32).collect();
        let mut writer = NpyWriter::<f32>::new(file, values.len() as u64 / 3, 3).expect("writes");
        writer.append(&values).expect("writes");
        writer.finish().expect("syncs");
        transaction.commit().expect("commits");
        let matrix = MappedNpy::<f32>::open(&dir.path().join("x.npy")).expect("maps");
        for _ in 0..2 {
            let blocks: Vec<f32> =
                matrix.blocks().flat_map(|block| block.data().to_vec()).collect();
            assert_eq!(blocks, values);
        }
        assert_eq!(matrix.values(), values, "what was given back is read again");
    }

    #[test]
    fn a_file_cut_short_says_how_much_is_missing() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.npy");
        let workdir = Workdir::lock(dir.path()).expect("locks");
        let mut transaction = workdir.begin().expect("begins");
        let file = transaction.create("x.npy").expect("creates");
        let mut writer = NpyWriter::<i32>::new(file, 4, 1).expect("writes");
        writer.append(&[1, 2, 3, 4]).expect("writes");
        writer.finish().expect("syncs");
        transaction.commit().expect("commits");
        let whole = fs::read(&path).expect("reads");
        let cut = |length: usize| {
            File::create(&path).and_then(|mut f| f.write_all(&whole[..length])).expect("writes");
            MappedNpy::<i32>::open(&path).expect_err("cut").to_string()
        };
        assert!(cut(whole.len() - 4).ends_with("declares 16 bytes of data (4 x 1), but 12 follow"));
        assert!(cut(40).ends_with("needs 128 bytes, but only 40 are there: the file is cut short"));
        assert!(cut(5).ends_with("does not start with \\x93NUMPY"));
    }
}
