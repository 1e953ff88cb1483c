//! Why a file of vectors cannot be read.

use super::{Format, MAX_DIM};
use std::io;
use std::path::{Path, PathBuf};
use vprep_core::{Failure, Kind, RowList, io_words};

/// A file of vectors that cannot be read: which one, and why.
///
/// ```
/// use vprep_data::read::{Problem, ReadError};
///
/// let problem = Problem::Ragged { row: 17, length: 3, expected: 4 };
/// let error = ReadError::new("base.parquet", problem);
/// assert_eq!(error.to_string(), "base.parquet: row 17: has dimension 3, but row 0 has 4");
/// ```
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct ReadError {
    /// The file, or the pattern that should have matched one.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a file. Rows are numbered from 0 within it.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The system refused.
    #[error("cannot {action}: {}", io_words::plain(source))]
    Io {
        /// What was tried, as in "read".
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A path names a directory where files are wanted.
    #[error("is a directory; name its files, as in `{}`", path.join("*.parquet").display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// A pattern is not one.
    #[error("is not a valid pattern: {reason}")]
    Pattern {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A pattern names nothing.
    #[error("matches no file")]
    NoMatch,
    /// The file name tells no format that vprep knows.
    #[error("{}; the known ones are {}", unknown(extension.as_deref()), Format::list())]
    UnknownFormat {
        /// What follows the last dot.
        extension: Option<String>,
    },
    /// A column was named, but the format has none.
    #[error(
        "a file in {} format has no columns, so there is no `{column}`; leave out the name of the \
         column",
        format.extension()
    )]
    NoColumns {
        /// The format.
        format: Format,
        /// The column named.
        column: String,
    },

    /// The file name tells no format of texts that vprep knows.
    #[error(
        "{}; texts are .tsv, .txt, .jsonl or .ndjson, each also with .gz or .zst, or .parquet",
        unknown(extension.as_deref())
    )]
    UnknownTexts {
        /// What follows the last dot.
        extension: Option<String>,
    },
    /// No rows of text.
    #[error("holds no text")]
    NoTexts,
    /// Columns of which none, or more than one, may be the texts.
    #[error(
        "which column holds the texts cannot be told from {columns}; name it with --text-column"
    )]
    WhichText {
        /// The columns.
        columns: String,
    },
    /// A tsv with more fields than id and text.
    #[error(
        "has {count} fields on its first line; say which is the text with --text-column, by number \
         (as in 3), or by name if the first line holds names"
    )]
    WhichField {
        /// Fields on the first line.
        count: usize,
    },
    /// A line that is no row.
    #[error("line {line}: {problem}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// A column of texts that holds something else.
    #[error("column `{column}` is of type {found}, and texts are strings")]
    NotTexts {
        /// The column.
        column: String,
        /// Its type.
        found: String,
    },
    /// Rows without text or id.
    #[error("{rows}: column `{column}` is null")]
    NullText {
        /// The rows.
        rows: RowList,
        /// The column.
        column: String,
    },

    /// No rows, or no values in them.
    #[error("holds no vectors ({rows} x {dim})")]
    Empty {
        /// Rows declared.
        rows: u64,
        /// Values in a row.
        dim: u64,
    },
    /// More values in a row than a vector has.
    #[error(
        "declares vectors of {dim} values; the most is {MAX_DIM}, so it may not be a {} file",
        format.extension()
    )]
    Dimension {
        /// The format that the file name tells.
        format: Format,
        /// Values in a row.
        dim: u64,
    },
    /// More values than can be counted.
    #[error("declares {rows} x {dim} values, more than any file can hold")]
    TooLarge {
        /// Rows declared.
        rows: u64,
        /// Values in a row.
        dim: u64,
    },
    /// The header and the size of the file disagree.
    #[error(
        "declares {rows} x {dim} values, which make a file of {expected} bytes, but it has \
         {found}: {}",
        balance(*expected, *found)
    )]
    Size {
        /// Rows declared.
        rows: u64,
        /// Values in a row.
        dim: u64,
        /// Bytes that the header asks for, its own included.
        expected: u64,
        /// Bytes of the file.
        found: u64,
    },
    /// The file ends within its header.
    #[error("its header needs {expected} bytes, but only {found} are there: the file is cut short")]
    HeaderCut {
        /// Bytes that the header asks for.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },

    /// An `.npy` that does not start like one.
    #[error("is not an npy file: it does not start with \\x93NUMPY")]
    NotNpy,
    /// A version of `.npy` that vprep does not know.
    #[error("npy version {major}.{minor} is not known; 1.0, 2.0 and 3.0 are")]
    NpyVersion {
        /// Before the dot.
        major: u8,
        /// After the dot.
        minor: u8,
    },
    /// A header of `.npy` that cannot be understood.
    #[error("its npy header is malformed at byte {at}: expected {expected}")]
    NpyHeader {
        /// Where, from the start of the file.
        at: u64,
        /// What should be there.
        expected: &'static str,
    },
    /// Values that `.npy` stores most significant byte first.
    #[error(
        "its values are big-endian (`{descr}`); save it again from numpy with \
         `a.astype('{}')`",
        descr.replace('>', "<")
    )]
    BigEndian {
        /// NumPy's name of the type.
        descr: String,
    },
    /// Values that are no vectors' values.
    #[error(
        "its values are of type `{descr}`; vectors are `<f2`, `<f4`, `<f8`, `|i1` or `|u1`: save \
         it again from numpy with `a.astype('<f4')`"
    )]
    NpyType {
        /// NumPy's name of the type.
        descr: String,
    },
    /// An array of another number of dimensions than two.
    #[error("its shape is {}; vectors have two dimensions, rows x values", shape_text(shape))]
    Shape {
        /// The shape.
        shape: Vec<u64>,
    },

    /// Neither header that a file of its kind may have agrees with its size.
    #[error(
        "has {found} bytes, but its header declares {} x {} values in two u32, which make {}, or \
         {} x {} in two u64, which make {}; it is cut short, or of another type",
        short[0], short[1], counted(expected[0]), long[0], long[1], counted(expected[1])
    )]
    NoHeader {
        /// Rows and values in a row, by the short header.
        short: [u64; 2],
        /// The same by the long one.
        long: [u64; 2],
        /// Bytes of a file of these, where they can be counted.
        expected: [Option<u64>; 2],
        /// Bytes of the file.
        found: u64,
    },

    /// A first row of `.fvecs` or `.bvecs` whose dimension no vector has.
    #[error(
        "row 0: has dimension {dim}, which is not in 1 to {MAX_DIM}; it may not be a {} file",
        format.extension()
    )]
    VecsDim {
        /// The format that the file name tells.
        format: Format,
        /// The dimension.
        dim: i32,
    },
    /// A size of `.fvecs` or `.bvecs` that is no whole number of rows.
    #[error(
        "its {found} bytes are no whole rows of {row_bytes} bytes (dimension {dim}); it is cut \
         short, or not a {} file",
        format.extension()
    )]
    VecsSize {
        /// The format that the file name tells.
        format: Format,
        /// Bytes of the file.
        found: u64,
        /// Bytes of a row.
        row_bytes: u64,
        /// Values in the first row.
        dim: u64,
    },

    /// A `.parquet` that does not start like one.
    #[error("is not a parquet file: it does not start with PAR1")]
    NotParquet,
    /// A `.parquet` that does not end like one.
    #[error("is cut short: a parquet file ends with PAR1; fetch or write it again")]
    ParquetCut,
    /// What the parquet library says of a damaged or unusual file.
    #[error("cannot read parquet: {message}")]
    Parquet {
        /// Its words, in one line.
        message: String,
    },
    /// An `.hdf5` that is none.
    #[error("is not an hdf5 file: it has no HDF5 signature")]
    NotHdf5,
    /// What the HDF5 library says of a damaged or unusual file.
    #[error("cannot read hdf5: {message}")]
    Hdf5 {
        /// Its words, in one line.
        message: String,
    },
    /// There is no dataset of the name given, or of the one that ann-benchmarks gives.
    #[error(
        "has no dataset `{dataset}`; its datasets are {datasets}: choose one with --vector-column"
    )]
    NoDataset {
        /// The name.
        dataset: String,
        /// Every dataset with its type and shape.
        datasets: String,
    },
    /// A dataset whose values another file holds.
    #[error("dataset `{dataset}` points out of the file, and only what is in it is read")]
    Hdf5Elsewhere {
        /// The dataset.
        dataset: String,
    },
    /// A dataset of another type than wanted.
    #[error("dataset `{dataset}` is of type {found}, not {expected}")]
    Hdf5Type {
        /// The dataset.
        dataset: String,
        /// Its type.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A dataset of another number of dimensions than two.
    #[error(
        "dataset `{dataset}` has the shape {}; two dimensions are read, rows x values",
        shape_text(shape)
    )]
    Hdf5Shape {
        /// The dataset.
        dataset: String,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// Distances that are not the neighbours'.
    #[error(
        "dataset `distances` is {} x {}, but `neighbors` is {} x {}",
        found[0], found[1], expected[0], expected[1]
    )]
    Hdf5Distances {
        /// The shape of the distances.
        found: [u64; 2],
        /// The shape of the neighbours.
        expected: [u64; 2],
    },
    /// More values than the file has room for: some were never written, or its header is damaged.
    #[error(
        "dataset `{dataset}` declares {rows} x {cols} values, more than its file of {file_size} \
         bytes holds: they were not all written, or it is damaged"
    )]
    Hdf5Size {
        /// The dataset.
        dataset: String,
        /// Rows declared.
        rows: u64,
        /// Values in a row.
        cols: u64,
        /// Bytes of the file.
        file_size: u64,
    },
    /// Chunks too large to read.
    #[error(
        "dataset `{dataset}` is stored in chunks of {}; the most is {most} MiB: store it again \
         in smaller ones",
        shape_text(chunk)
    )]
    Hdf5Chunk {
        /// The dataset.
        dataset: String,
        /// The shape of a chunk.
        chunk: Vec<u64>,
        /// The bytes of the largest, in MiB.
        most: u64,
    },
    /// Fewer or more rows than the file declares.
    #[error("declares {expected} rows, but holds {found}; it is damaged")]
    RowCount {
        /// Rows declared.
        expected: u64,
        /// Rows read.
        found: u64,
    },
    /// No column can be the vectors.
    #[error("no column holds vectors ({VECTOR_TYPES}); its columns are {columns}")]
    NoVectorColumn {
        /// Every column with its type.
        columns: String,
    },
    /// Several columns can be the vectors.
    #[error("several columns may hold the vectors: {columns}; choose one with --vector-column")]
    SeveralVectorColumns {
        /// Those columns with their types.
        columns: String,
    },
    /// There is no column of the name given.
    #[error("has no column `{column}`; its columns are {columns}")]
    MissingColumn {
        /// The name.
        column: String,
        /// Every column with its type.
        columns: String,
    },
    /// The vector column is something else.
    #[error(
        "column `{column}` is non-numeric: its type is {found}, and vectors are {VECTOR_TYPES}"
    )]
    NotVectors {
        /// The column.
        column: String,
        /// Its type.
        found: String,
    },
    /// The vector column holds numbers of a type that vectors do not have.
    #[error("column `{column}` is of type {found}, and vectors are {VECTOR_TYPES}")]
    ValueType {
        /// The column.
        column: String,
        /// Its type.
        found: String,
    },
    /// The id column is something else.
    #[error(
        "column `{column}` cannot be the id: its type is {found}, and ids are integers or strings; \
         choose another with --id-column"
    )]
    IdType {
        /// The column.
        column: String,
        /// Its type.
        found: String,
    },

    /// A row without a vector.
    #[error("{rows}: no vector, but null")]
    NullVector {
        /// The rows.
        rows: RowList,
    },
    /// A vector with a gap.
    #[error("{rows}: a value of the vector is null")]
    NullValue {
        /// The rows.
        rows: RowList,
    },
    /// Vectors of different lengths.
    #[error("row {row}: has dimension {length}, but row 0 has {expected}")]
    Ragged {
        /// The first such row.
        row: u64,
        /// Values in it.
        length: i64,
        /// Values in row 0.
        expected: u64,
    },
    /// A vector without values.
    #[error("row {row}: the vector is empty")]
    EmptyVector {
        /// The first such row.
        row: u64,
    },
    /// A float64 that no float32 comes near.
    #[error("{rows}: a value is beyond the range of float32 (3.4e38)")]
    Overflow {
        /// The rows.
        rows: RowList,
    },
    /// A row without an id.
    #[error("{rows}: the id (column `{column}`) is null")]
    NullId {
        /// The rows.
        rows: RowList,
        /// The id column.
        column: String,
    },
    /// An id beyond 64 bits with a sign.
    #[error("{rows}: the id (column `{column}`) is greater than {}", i64::MAX)]
    IdRange {
        /// The rows.
        rows: RowList,
        /// The id column.
        column: String,
    },
}

/// What a column of vectors is.
const VECTOR_TYPES: &str = "lists of float16, float32, float64, int8 or uint8";

impl ReadError {
    /// `problem` with the file at `path`.
    pub fn new(path: impl AsRef<Path>, problem: Problem) -> Self {
        Self { path: path.as_ref().to_owned(), problem }
    }
}

impl Problem {
    /// A closure for `map_err` on an I/O result.
    pub(super) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    /// What the parquet library says, in one line of our style.
    pub(super) fn parquet(error: &dyn std::error::Error) -> Self {
        let text = error.to_string();
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        const TITLES: [&str; 4] =
            ["Parquet error: ", "Parquet argument error: ", "Arrow: ", "External: "];
        while let Some(rest) = TITLES.iter().find_map(|title| text.strip_prefix(title)) {
            text = rest.to_owned();
        }
        Self::Parquet { message: text.trim_end_matches('.').to_owned() }
    }
}

impl Failure for ReadError {
    fn kind(&self) -> Kind {
        match self.problem {
            Problem::UnknownTexts { .. }
            | Problem::WhichText { .. }
            | Problem::WhichField { .. }
            | Problem::NotTexts { .. }
            | Problem::Pattern { .. }
            | Problem::NoColumns { .. } => Kind::Usage,
            Problem::Io { .. }
            | Problem::Directory { .. }
            | Problem::NoMatch
            | Problem::UnknownFormat { .. }
            | Problem::Empty { .. }
            | Problem::Dimension { .. }
            | Problem::TooLarge { .. }
            | Problem::Size { .. }
            | Problem::HeaderCut { .. }
            | Problem::NotNpy
            | Problem::NpyVersion { .. }
            | Problem::NpyHeader { .. }
            | Problem::BigEndian { .. }
            | Problem::NpyType { .. }
            | Problem::Shape { .. }
            | Problem::NoHeader { .. }
            | Problem::VecsDim { .. }
            | Problem::VecsSize { .. }
            | Problem::NotParquet
            | Problem::ParquetCut
            | Problem::Parquet { .. }
            | Problem::NotHdf5
            | Problem::Hdf5 { .. }
            | Problem::NoDataset { .. }
            | Problem::Hdf5Elsewhere { .. }
            | Problem::Hdf5Type { .. }
            | Problem::Hdf5Shape { .. }
            | Problem::Hdf5Distances { .. }
            | Problem::Hdf5Size { .. }
            | Problem::Hdf5Chunk { .. }
            | Problem::RowCount { .. }
            | Problem::NoVectorColumn { .. }
            | Problem::SeveralVectorColumns { .. }
            | Problem::MissingColumn { .. }
            | Problem::NotVectors { .. }
            | Problem::ValueType { .. }
            | Problem::IdType { .. }
            | Problem::NullVector { .. }
            | Problem::NullValue { .. }
            | Problem::Ragged { .. }
            | Problem::EmptyVector { .. }
            | Problem::Overflow { .. }
            | Problem::NullId { .. }
            | Problem::IdRange { .. }
            | Problem::NoTexts
            | Problem::Line { .. }
            | Problem::NullText { .. } => Kind::Data,
        }
    }
}

/// The system's words without the number that Rust appends.
fn unknown(extension: Option<&str>) -> String {
    match extension {
        Some(extension) => format!("unknown format `.{extension}`"),
        None => "no extension tells its format".to_owned(),
    }
}

fn counted(bytes: Option<u64>) -> String {
    bytes.map_or_else(
        || "more bytes than can be counted".to_owned(),
        |bytes| format!("{bytes} bytes"),
    )
}

fn balance(expected: u64, found: u64) -> String {
    match expected.checked_sub(found) {
        Some(missing) => format!("{missing} are missing, the file is cut short"),
        None => format!("{} too many", found - expected),
    }
}

/// A shape as Python writes it.
fn shape_text(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}
