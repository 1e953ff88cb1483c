//! The neighbours that an ann-benchmarks file names.

use super::Hdf5;
use super::matrix::Matrix;
use crate::read::{Problem, ReadError};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Reads the datasets `neighbors` and, where there is one, `distances`, in batches of queries.
///
/// Distances come as the file has them. By ann-benchmarks' rules, which its [attribute
/// `distance`](Self::distance) chooses from, they are 1 - cosine for `angular`, and for `euclidean`
/// the root of the sum of squares; the smallest is the best.
pub struct Hdf5Truth {
    path: PathBuf,
    neighbors: Matrix,
    distances: Option<Matrix>,
    distance: Option<String>,
    next_row: u64,
}

/// The neighbours of some queries.
#[derive(Clone, Debug, PartialEq)]
pub struct TruthBatch {
    /// The row of the first query among the queries.
    pub first_row: u64,
    /// `rows x k` row numbers of the base, best first. Nothing about them is checked: some tools
    /// write -1 where there is no neighbour.
    pub ids: Vec<i64>,
    /// `rows x k` distances, if the file has them.
    pub distances: Option<Vec<f32>>,
}

impl Hdf5Truth {
    /// Opens the file at `path`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is damaged, holds no two-dimensional dataset `neighbors` of
    /// integers, or holds `distances` of another shape or type than that asks for.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::read(path).map_err(|problem| ReadError::new(path, problem))
    }

    fn read(path: &Path) -> Result<Self, Problem> {
        let file = File::open(path).map_err(Problem::io("open"))?;
        let metadata = file.metadata().map_err(Problem::io("read"))?;
        if metadata.is_dir() {
            return Err(Problem::Directory { path: path.to_owned() });
        }
        let hdf5 = Hdf5::open(path, file, metadata.len())?;
        let neighbors = hdf5.matrix("neighbors")?;
        if neighbors.holds_floats() {
            return Err(neighbors.not("integers"));
        }
        let distances = match hdf5.holds("distances") {
            true => Some(hdf5.matrix("distances")?),
            false => None,
        };
        if let Some(distances) = &distances {
            if !distances.holds_floats() {
                return Err(distances.not("floats"));
            }
            let [found, expected] = [distances, &neighbors].map(Matrix::shape);
            if found != expected {
                return Err(Problem::Hdf5Distances { found, expected });
            }
        }
        let distance = hdf5.attribute("distance")?;
        Ok(Self { path: path.to_owned(), neighbors, distances, distance, next_row: 0 })
    }

    /// The number of queries; at least one.
    pub fn queries(&self) -> u64 {
        self.neighbors.rows
    }

    /// The number of neighbours of a query; at least one.
    pub fn k(&self) -> usize {
        self.neighbors.cols
    }

    /// The file's attribute `distance`: `angular` and `euclidean` are the ones with vectors of
    /// floats, if the file keeps to ann-benchmarks' names.
    pub fn distance(&self) -> Option<&str> {
        self.distance.as_deref()
    }

    /// Whether the file has distances.
    pub fn has_distances(&self) -> bool {
        self.distances.is_some()
    }

    /// The neighbours of the next queries, or `None` after the last.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is damaged.
    pub fn next_batch(&mut self) -> Result<Option<TruthBatch>, ReadError> {
        let batch = self.next().map_err(|problem| ReadError::new(&self.path, problem))?;
        self.next_row += batch.as_ref().map_or(0, |batch| (batch.ids.len() / self.k()) as u64);
        Ok(batch)
    }

    fn next(&self) -> Result<Option<TruthBatch>, Problem> {
        let first_row = self.next_row;
        let Some(rows) = self.neighbors.batch(first_row) else { return Ok(None) };
        let ids = self.neighbors.integers(first_row, rows)?;
        let distances = self.distances.as_ref().map(|matrix| matrix.floats(first_row, rows));
        Ok(Some(TruthBatch { first_row, ids, distances: distances.transpose()? }))
    }
}
