//! `.hdf5`: ann-benchmarks' files, and others that hold vectors as a two-dimensional dataset.
//!
//! | dataset | shape | holds |
//! |---|---|---|
//! | `train` | `n x dim` | the base |
//! | `test` | `q x dim` | the queries |
//! | `neighbors` | `q x k` | rows of `train`, best first |
//! | `distances` | `q x k` | how far they are: see [`Hdf5Truth`] |
//!
//! A dataset is read by rows, never as a whole. Nothing outside the file is followed: neither
//! external links, nor external storage, nor virtual datasets.

mod matrix;
mod truth;

pub use truth::{Hdf5Truth, TruthBatch};

use super::batch::Batch;
use super::reader::{Layout, Opened, Part, ReadOptions, Source};
use super::{Format, MAX_DIM, Problem};
use matrix::{Matrix, shape_words};
use rust_hdf5::{H5File, Hdf5Error, LinkClass};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// How a file starts, or goes on after a block of the user's of 512 bytes or any doubling of it.
const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// An HDF5 file, open for reading.
struct Hdf5 {
    file: H5File,
    /// Its bytes.
    size: u64,
}

/// The vectors of one dataset.
struct Vectors(Matrix);

pub(super) fn open(path: &Path, file: File, size: u64, options: &ReadOptions) -> Opened {
    let name = options.vector_column.as_deref().unwrap_or(match options.part {
        Part::Base => "train",
        Part::Queries => "test",
    });
    let matrix = Hdf5::open(path, file, size)?.matrix(name)?;
    if !matrix.holds_vectors() {
        return Err(matrix.not("vectors of float16, float32, float64, int8 or uint8"));
    }
    if matrix.cols as u64 > MAX_DIM {
        return Err(Problem::Dimension { format: Format::Hdf5, dim: matrix.cols as u64 });
    }
    Ok((Layout::plain(matrix.rows, matrix.cols), Box::new(Vectors(matrix))))
}

impl Source for Vectors {
    fn next(&mut self, first_row: u64) -> Result<Option<Batch>, Problem> {
        let Some(rows) = self.0.batch(first_row) else { return Ok(None) };
        let vectors = self.0.floats(first_row, rows)?;
        Ok(Some(Batch::plain(first_row, rows, vectors)))
    }
}

impl Hdf5 {
    fn open(path: &Path, mut file: File, size: u64) -> Result<Self, Problem> {
        if !signed(&mut file, size)? {
            return Err(Problem::NotHdf5);
        }
        // A lock where the file system has any, so that a file being written is not read.
        let file = H5File::options().best_effort_locking().open(path).map_err(problem)?;
        Ok(Self { file, size })
    }

    /// The two-dimensional dataset `name`.
    fn matrix(&self, name: &str) -> Result<Matrix, Problem> {
        let name = name.trim_start_matches('/');
        match self.file.root_group().link_class(name) {
            Ok(LinkClass::Hard | LinkClass::Soft { .. }) => {}
            Ok(_) => return Err(Problem::Hdf5Elsewhere { dataset: name.to_owned() }),
            Err(_) => return Err(self.missing(name)),
        }
        let dataset = match self.file.dataset(name) {
            Err(Hdf5Error::NotFound(_)) => return Err(self.missing(name)),
            other => other.map_err(problem)?,
        };
        Matrix::new(name, dataset, self.size)
    }

    /// Whether there is anything of that name.
    fn holds(&self, name: &str) -> bool {
        self.file.root_group().link_class(name).is_ok()
    }

    /// A string attribute of the root, of fixed or variable length.
    fn attribute(&self, name: &str) -> Result<Option<String>, Problem> {
        if !self.file.attr_names().map_err(problem)?.iter().any(|known| known == name) {
            return Ok(None);
        }
        self.file.attr_string(name).map(Some).map_err(problem)
    }

    fn missing(&self, name: &str) -> Problem {
        const MOST: usize = 12;
        let mut names = self.file.dataset_names();
        names.sort_unstable();
        let mut words: Vec<String> = names.iter().take(MOST).map(|name| self.words(name)).collect();
        if names.len() > MOST {
            words.push(format!("{} more", names.len() - MOST));
        }
        let datasets = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
        Problem::NoDataset { dataset: name.to_owned(), datasets }
    }

    /// A dataset with its type and shape, as far as they can be told.
    fn words(&self, name: &str) -> String {
        let Ok(dataset) = self.file.dataset(name) else { return name.to_owned() };
        let shape = shape_words(&dataset.shape());
        dataset
            .datatype()
            .map_or_else(|_| name.to_owned(), |kind| format!("{name} ({kind}, {shape})"))
    }
}

/// Whether a superblock starts at one of the places where one may.
fn signed(file: &mut File, size: u64) -> Result<bool, Problem> {
    let mut at = 0;
    while at + SIGNATURE.len() as u64 <= size {
        let mut bytes = [0; SIGNATURE.len()];
        file.seek(SeekFrom::Start(at))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(Problem::io("read"))?;
        if bytes == SIGNATURE {
            return Ok(true);
        }
        at = if at == 0 { 512 } else { at.saturating_mul(2) };
    }
    Ok(false)
}

/// What the library says, in one line of our style.
fn problem(error: Hdf5Error) -> Problem {
    let error = match error {
        // A structure that points beyond the end of the file is damage, not the system's refusal.
        Hdf5Error::Io(source) if source.kind() != ErrorKind::UnexpectedEof => {
            return Problem::Io { action: "read", source };
        }
        other => other,
    };
    let text = error.to_string();
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    const TITLES: [&str; 6] = [
        "hdf5-io error: ",
        "I/O error: ",
        "format error: ",
        "invalid state: ",
        "type mismatch: ",
        "unsupported: ",
    ];
    while let Some(rest) = TITLES.iter().find_map(|title| text.strip_prefix(title)) {
        text = rest.to_owned();
    }
    Problem::Hdf5 { message: text.trim_end_matches('.').to_owned() }
}
