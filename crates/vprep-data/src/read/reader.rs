//! One reader for every format.

use super::convert::Element;
use super::{Batch, Format, MAX_DIM, Problem, ReadError, hdf5, jsonl, npy, parquet, vecs, xbin};
use arrow::datatypes::Field;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which columns to read, of a parquet file or the objects of jsonl, or which dataset, of an hdf5 file.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The column of vectors; unless named, the only one that holds lists of numbers. In hdf5 it
    /// is a dataset; unless named, the one that ann-benchmarks has for `part`.
    pub vector_column: Option<String>,
    /// The column of ids; unless named, `id`, else `_id`, else none.
    pub id_column: Option<String>,
    /// Which vectors to read of a file that holds both, as hdf5 does.
    pub part: Part,
}

/// What vectors are, in a file that holds more than one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// Those to search in.
    #[default]
    Base,
    /// Those to search for.
    Queries,
}

/// What the ids of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdType {
    /// None: a row is known by its number.
    RowNumber,
    /// 64-bit integers.
    Int,
    /// Strings.
    Text,
}

/// Reads the vectors of one file in batches of about 4 MiB.
pub struct VectorReader {
    path: PathBuf,
    layout: Layout,
    source: Box<dyn Source>,
    next_row: u64,
}

/// What a file holds, known before the first batch.
pub(super) struct Layout {
    pub(super) rows: u64,
    pub(super) dim: usize,
    pub(super) ids: IdType,
    pub(super) columns: Vec<Arc<Field>>,
    pub(super) left_out: Vec<String>,
}

impl Layout {
    /// The layout of a file that holds nothing but vectors.
    pub(super) fn plain(rows: u64, dim: usize) -> Self {
        let (columns, left_out) = (Vec::new(), Vec::new());
        Self { rows, dim, ids: IdType::RowNumber, columns, left_out }
    }
}

/// A format's part of the work.
pub(super) trait Source: Send {
    /// The rows from `first_row` on, or none at the end.
    fn next(&mut self, first_row: u64) -> Result<Option<Batch>, Problem>;
}

/// What opening a file of one format yields.
pub(super) type Opened = Result<(Layout, Box<dyn Source>), Problem>;

impl VectorReader {
    /// Opens the file at `path`, whose extension tells its format.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is damaged, holds no vectors, or has not the columns that
    /// `options` names.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, ReadError> {
        let (layout, source) =
            open(path, options).map_err(|problem| ReadError::new(path, problem))?;
        Ok(Self { path: path.to_owned(), layout, source, next_row: 0 })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of rows; at least one.
    pub fn rows(&self) -> u64 {
        self.layout.rows
    }

    /// The number of values in a vector, 1 to [`MAX_DIM`].
    pub fn dim(&self) -> usize {
        self.layout.dim
    }

    /// What the ids are.
    pub fn ids(&self) -> IdType {
        self.layout.ids
    }

    /// The columns besides vector and id: booleans, numbers, strings, dates and times, in the
    /// file's order. All may hold nulls, and dictionaries are read as their values.
    pub fn columns(&self) -> &[Arc<Field>] {
        &self.layout.columns
    }

    /// The names of the columns that are not read: lists, structs, maps and binary ones.
    pub fn left_out(&self) -> &[String] {
        &self.layout.left_out
    }

    /// The next rows, or `None` after the last. All rows have come when `None` does.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is damaged, or a row holds no vector of [`Self::dim`] values
    /// or no id. Values that are NaN or infinite are no error here.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, ReadError> {
        let fail = |problem| ReadError::new(&self.path, problem);
        let batch = self.source.next(self.next_row).map_err(fail)?;
        self.next_row += batch.as_ref().map_or(0, |batch| batch.rows as u64);
        let (expected, found) = (self.layout.rows, self.next_row);
        if found > expected || (batch.is_none() && found < expected) {
            return Err(fail(Problem::RowCount { expected, found }));
        }
        Ok(batch)
    }
}

fn open(path: &Path, options: &ReadOptions) -> Opened {
    let format = Format::of(path)?;
    let vectors = options.vector_column.as_ref().filter(|_| format != Format::Hdf5);
    let named = vectors.or(options.id_column.as_ref());
    if let Some(column) = named.filter(|_| !format.has_columns()) {
        return Err(Problem::NoColumns { format, column: column.clone() });
    }
    let file = File::open(path).map_err(Problem::io("open"))?;
    let metadata = file.metadata().map_err(Problem::io("read"))?;
    if metadata.is_dir() {
        return Err(Problem::Directory { path: path.to_owned() });
    }
    let size = metadata.len();
    match format {
        Format::Parquet => parquet::open(file, size, options),
        Format::Npy => npy::open(file, size),
        Format::Fbin => xbin::open(format, Element::F32, file, size),
        Format::F16bin | Format::Hbin => xbin::open(format, Element::F16, file, size),
        Format::U8bin => xbin::open(format, Element::U8, file, size),
        Format::I8bin => xbin::open(format, Element::I8, file, size),
        Format::Fvecs => vecs::open(format, Element::F32, file, size),
        Format::Bvecs => vecs::open(format, Element::U8, file, size),
        Format::Jsonl | Format::Ndjson => jsonl::open(path, options),
        Format::Hdf5 => hdf5::open(path, file, size, options),
    }
}

/// Checks a shape that a header declares against the size of its file, for values of
/// `value_size` bytes after `data_start` bytes of header. Returns the number of values in a row.
pub(super) fn check_shape(
    format: Format,
    [rows, dim]: [u64; 2],
    value_size: usize,
    data_start: u64,
    found: u64,
) -> Result<usize, Problem> {
    if rows == 0 || dim == 0 {
        return Err(Problem::Empty { rows, dim });
    }
    let bytes = rows.checked_mul(dim).and_then(|values| values.checked_mul(value_size as u64));
    let expected = bytes
        .and_then(|bytes| bytes.checked_add(data_start))
        .ok_or(Problem::TooLarge { rows, dim })?;
    if expected != found {
        return Err(Problem::Size { rows, dim, expected, found });
    }
    if dim > MAX_DIM {
        return Err(Problem::Dimension { format, dim });
    }
    Ok(dim as usize)
}
