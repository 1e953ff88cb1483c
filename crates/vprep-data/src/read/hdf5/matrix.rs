//! A dataset of two dimensions.

use super::{Hdf5Error, problem};
use crate::read::Problem;
use crate::read::batch::batch_rows;
use crate::read::convert::{append_f16, append_f64, overflows, rows_where};
use half::f16;
use rust_hdf5::format::messages::datatype::IeeeFormat;
use rust_hdf5::{DatatypeMessage, H5Dataset, H5Type, StorageLayout};

/// Bytes of the largest chunk that is read, decompressed; h5py makes them of at most 1 MiB.
const MAX_CHUNK: u64 = 256 << 20;

/// Values of the largest batch that is made larger in order to read every chunk once.
const MAX_BATCH: u64 = 16 << 20;

/// The best that deflate does, the strongest of the filters read: a byte of a file stands for no
/// more than so many (1032, <https://zlib.net/zlib_tech.html>).
const EXPANSION: u64 = 1032;

/// A `rows x cols` dataset of numbers.
pub(super) struct Matrix {
    name: String,
    dataset: H5Dataset,
    kind: Number,
    found: String,
    pub(super) rows: u64,
    pub(super) cols: usize,
    batch: usize,
}

/// The types that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    F16,
    F32,
    F64,
    I8,
    U8,
    /// Of 16 bits or more, with or without a sign.
    Wide,
}

impl Matrix {
    /// `dataset`, if it is a matrix whose values are all in its file, which has `file_size` bytes.
    pub(super) fn new(name: &str, dataset: H5Dataset, file_size: u64) -> Result<Self, Problem> {
        let name = name.to_owned();
        let kind = dataset.datatype().map_err(problem)?;
        let found = kind.to_string();
        let shape: Vec<u64> = dataset.shape().iter().map(|&n| n as u64).collect();
        let Some(number) = number(&kind) else {
            return Err(Problem::Hdf5Type { dataset: name, found, expected: "numbers" });
        };
        let &[rows, cols] = &shape[..] else {
            return Err(Problem::Hdf5Shape { dataset: name, shape });
        };
        if rows == 0 || cols == 0 {
            return Err(Problem::Empty { rows, dim: cols });
        }
        let layout = dataset.storage_layout().map_err(problem)?;
        if layout == StorageLayout::Virtual
            || !dataset.external_files().map_err(problem)?.is_empty()
        {
            return Err(Problem::Hdf5Elsewhere { dataset: name });
        }

        // Nothing is allocated for what the file cannot hold.
        let filtered = !dataset.filters().map_err(problem)?.is_empty();
        let most = if filtered { file_size.saturating_mul(EXPANSION) } else { file_size };
        let value = dataset.element_size() as u64;
        let bytes = rows.checked_mul(cols).and_then(|values| values.checked_mul(value));
        if bytes.is_none_or(|bytes| bytes > most) {
            return Err(Problem::Hdf5Size { dataset: name, rows, cols, file_size });
        }
        let row_bytes = cols * value;
        let chunk: Vec<u64> =
            dataset.chunk_dims().into_iter().flatten().map(|n| n as u64).collect();
        let chunk_bytes = chunk.iter().try_fold(value, |bytes, &n| bytes.checked_mul(n));
        if row_bytes > MAX_CHUNK || chunk_bytes.is_none_or(|bytes| bytes > MAX_CHUNK) {
            return Err(Problem::Hdf5Chunk { dataset: name, chunk, most: MAX_CHUNK >> 20 });
        }
        let cols = usize::try_from(cols).expect("a row is at most a chunk");
        let batch = whole_chunks(batch_rows(cols), chunk.first().copied(), cols);
        Ok(Self { name, dataset, kind: number, found, rows, cols, batch })
    }

    pub(super) fn holds_vectors(&self) -> bool {
        self.kind != Number::Wide
    }

    pub(super) fn holds_floats(&self) -> bool {
        matches!(self.kind, Number::F16 | Number::F32 | Number::F64)
    }

    /// That the values are no `expected`.
    pub(super) fn not(&self, expected: &'static str) -> Problem {
        Problem::Hdf5Type { dataset: self.name.clone(), found: self.found.clone(), expected }
    }

    pub(super) fn shape(&self) -> [u64; 2] {
        [self.rows, self.cols as u64]
    }

    /// How many rows to read at once from `first_row` on; none at the end.
    pub(super) fn batch(&self, first_row: u64) -> Option<usize> {
        let left = usize::try_from(self.rows - first_row).unwrap_or(usize::MAX);
        Some(left.min(self.batch)).filter(|&rows| rows > 0)
    }

    /// Rows as float32.
    pub(super) fn floats(&self, first_row: u64, rows: usize) -> Result<Vec<f32>, Problem> {
        let mut out = Vec::new();
        match self.kind {
            Number::F16 => {
                let bits: Vec<u16> = self.slice(first_row, rows)?;
                let values: Vec<f16> = bits.into_iter().map(f16::from_bits).collect();
                append_f16(&values, &mut out);
            }
            Number::F32 => out = self.slice(first_row, rows)?,
            Number::F64 => {
                let values: Vec<f64> = self.slice(first_row, rows)?;
                if !append_f64(values.iter().copied(), &mut out) {
                    let is = |value: &f64| overflows(*value);
                    return Err(Problem::Overflow {
                        rows: rows_where(&values, self.cols, first_row, is),
                    });
                }
            }
            Number::I8 => out.extend(self.slice::<i8>(first_row, rows)?.into_iter().map(f32::from)),
            Number::U8 => out.extend(self.slice::<u8>(first_row, rows)?.into_iter().map(f32::from)),
            Number::Wide => return Err(self.not("floats")),
        }
        Ok(out)
    }

    /// Rows of integers of any width.
    pub(super) fn integers(&self, first_row: u64, rows: usize) -> Result<Vec<i64>, Problem> {
        let (starts, counts) = self.selection(first_row, rows);
        self.checked(rows, self.dataset.read_numeric_slice_as(&starts, &counts))
    }

    fn slice<T: H5Type>(&self, first_row: u64, rows: usize) -> Result<Vec<T>, Problem> {
        let (starts, counts) = self.selection(first_row, rows);
        self.checked(rows, self.dataset.read_slice(&starts, &counts))
    }

    fn selection(&self, first_row: u64, rows: usize) -> ([usize; 2], [usize; 2]) {
        ([usize::try_from(first_row).expect("a row of the dataset"), 0], [rows, self.cols])
    }

    fn checked<T>(
        &self,
        rows: usize,
        values: Result<Vec<T>, Hdf5Error>,
    ) -> Result<Vec<T>, Problem> {
        let values = values.map_err(problem)?;
        match values.len() == rows * self.cols {
            true => Ok(values),
            false => Err(Problem::Hdf5 { message: format!("`{}` is cut short", self.name) }),
        }
    }
}

/// What `kind` is among the numbers.
fn number(kind: &DatatypeMessage) -> Option<Number> {
    match *kind {
        DatatypeMessage::FloatingPoint { .. } => Some(match kind.ieee_format()? {
            IeeeFormat::Binary16 => Number::F16,
            IeeeFormat::Binary32 => Number::F32,
            IeeeFormat::Binary64 => Number::F64,
        }),
        DatatypeMessage::FixedPoint { size, signed, bit_offset, bit_precision, .. } => {
            let whole = bit_offset == 0 && u32::from(bit_precision) == 8 * size;
            match (size, signed) {
                _ if !whole => None,
                (1, true) => Some(Number::I8),
                (1, false) => Some(Number::U8),
                (2 | 4 | 8, _) => Some(Number::Wide),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `rows`, or as many more as make the batches end where chunks of `chunk` rows do: a chunk is
/// decompressed for every batch that it has part in.
fn whole_chunks(rows: usize, chunk: Option<u64>, cols: usize) -> usize {
    let Some(chunk) = chunk.filter(|&n| n > 0 && n <= MAX_BATCH / cols as u64) else { return rows };
    rows.next_multiple_of(chunk as usize)
}

/// A shape as in `3 x 4`.
pub(super) fn shape_words(shape: &[usize]) -> String {
    match shape {
        [] => "one value".to_owned(),
        _ => shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "),
    }
}
