//! ann-benchmarks' HDF5: `train`, `test` and `distances` as float32, `neighbors` as int32, each in
//! one piece, and the attributes `type`, `distance`, `dimension` and `point_type` of the root.

use crate::DataError;
use rust_hdf5::{H5Dataset, H5File, H5Type, Hdf5Error};
use std::path::{Path, PathBuf};
use vprep_core::Metric;

/// A distance by ann-benchmarks' name; the smallest is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnDistance {
    /// 1 - cosine.
    Angular,
    /// The root of the sum of squares.
    Euclidean,
}

impl AnnDistance {
    /// The distance that orders as `metric` does. There is none for the inner product.
    pub const fn of(metric: Metric) -> Option<Self> {
        match metric {
            Metric::Cosine => Some(Self::Angular),
            Metric::L2 => Some(Self::Euclidean),
            Metric::Ip => None,
        }
    }

    /// The value of the attribute `distance`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Angular => "angular",
            Self::Euclidean => "euclidean",
        }
    }

    /// The distance of a score in the metric's own convention: a cosine, or a squared distance. One
    /// that rounding put below 0 is 0.
    ///
    /// ```
    /// use vprep_data::write::AnnDistance;
    ///
    /// assert_eq!(AnnDistance::Angular.from_score(0.75), 0.25);
    /// assert_eq!(AnnDistance::Euclidean.from_score(9.0), 3.0);
    /// ```
    pub fn from_score(self, score: f32) -> f32 {
        match self {
            Self::Angular => (1.0 - f64::from(score)).max(0.0) as f32,
            Self::Euclidean => f64::from(score).max(0.0).sqrt() as f32,
        }
    }
}

/// The sizes of an ann-benchmarks file; none is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnnShape {
    /// Rows of the base.
    pub rows: usize,
    /// Queries.
    pub queries: usize,
    /// Values in a vector.
    pub dim: usize,
    /// Neighbours of a query.
    pub k: usize,
}

/// Writes an ann-benchmarks file from front to back, whole rows at a time and without keeping them.
/// Same content, same bytes.
pub struct AnnBenchmarksWriter {
    path: PathBuf,
    file: H5File,
    distance: AnnDistance,
    train: Rows,
    test: Rows,
    neighbors: Rows,
    distances: Rows,
}

/// A dataset and how much of it is there.
struct Rows {
    name: &'static str,
    dataset: H5Dataset,
    shape: [usize; 2],
    written: usize,
}

impl AnnBenchmarksWriter {
    /// Starts the file at `path`, which whoever publishes it renames after [`Self::finish`].
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn create(path: &Path, shape: AnnShape, distance: AnnDistance) -> Result<Self, DataError> {
        let AnnShape { rows, queries, dim, k } = shape;
        let create = || {
            let file = H5File::create(path)?;
            file.set_attr_string("type", "dense")?;
            file.set_attr_string("distance", distance.name())?;
            file.set_attr_numeric("dimension", &(dim as i64))?;
            file.set_attr_string("point_type", "float")?;
            let train = Rows::create::<f32>(&file, "train", [rows, dim])?;
            let test = Rows::create::<f32>(&file, "test", [queries, dim])?;
            let neighbors = Rows::create::<i32>(&file, "neighbors", [queries, k])?;
            let distances = Rows::create::<f32>(&file, "distances", [queries, k])?;
            let path = path.to_owned();
            Ok(Self { path, file, distance, train, test, neighbors, distances })
        };
        create().map_err(failed(path))
    }

    /// Appends vectors of the base, whole rows.
    ///
    /// # Errors
    ///
    /// If the system refuses, as when the disk is full.
    ///
    /// # Panics
    ///
    /// If they are no whole rows, or more than the shape has room for.
    pub fn train(&mut self, vectors: &[f32]) -> Result<(), DataError> {
        self.train.append(vectors).map_err(failed(&self.path))
    }

    /// Appends vectors of the queries, whole rows.
    ///
    /// # Errors
    ///
    /// Those of [`Self::train`].
    ///
    /// # Panics
    ///
    /// Where [`Self::train`] does.
    pub fn test(&mut self, vectors: &[f32]) -> Result<(), DataError> {
        self.test.append(vectors).map_err(failed(&self.path))
    }

    /// Appends the neighbours of some queries: rows of the base, best first, and their scores in the
    /// metric's own convention, `k` of each for a query.
    ///
    /// # Errors
    ///
    /// Those of [`Self::train`].
    ///
    /// # Panics
    ///
    /// Where [`Self::train`] does.
    pub fn truth(&mut self, ids: &[i32], scores: &[f32]) -> Result<(), DataError> {
        let distances: Vec<f32> =
            scores.iter().map(|&score| self.distance.from_score(score)).collect();
        self.neighbors
            .append(ids)
            .and_then(|()| self.distances.append(&distances))
            .map_err(failed(&self.path))
    }

    /// Writes what remains and syncs the file.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    ///
    /// # Panics
    ///
    /// If rows are missing.
    pub fn finish(self) -> Result<(), DataError> {
        let Self { path, file, train, test, neighbors, distances, .. } = self;
        for Rows { name, shape: [rows, _], written, .. } in [train, test, neighbors, distances] {
            assert!(written == rows, "{written} of {rows} rows of `{name}` were written");
        }
        file.close().map_err(failed(&path))
    }
}

impl Rows {
    fn create<T: H5Type>(
        file: &H5File,
        name: &'static str,
        shape: [usize; 2],
    ) -> Result<Self, Hdf5Error> {
        let dataset = file.new_dataset::<T>().shape(shape).create(name)?;
        Ok(Self { name, dataset, shape, written: 0 })
    }

    fn append<T: H5Type>(&mut self, values: &[T]) -> Result<(), Hdf5Error> {
        let [all, cols] = self.shape;
        let rows = values.len() / cols;
        let whole = rows * cols == values.len() && rows <= all - self.written;
        assert!(whole, "{} values do not fit into `{}` of {all} x {cols}", values.len(), self.name);
        if rows > 0 {
            self.dataset.write_slice(&[self.written, 0], &[rows, cols], values)?;
        }
        self.written += rows;
        Ok(())
    }
}

/// A closure for `map_err` on a result of the HDF5 library, which passes on what the system says.
fn failed(path: &Path) -> impl FnOnce(Hdf5Error) -> DataError {
    move |error| match error {
        Hdf5Error::Io(source) => DataError::io("write", path)(source),
        other => DataError::malformed(path, format!("cannot be written: {other}")),
    }
}
