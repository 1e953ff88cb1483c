//! Vectors and their neighbours in the formats of others.

mod hdf5;

pub use hdf5::{AnnBenchmarksWriter, AnnDistance, AnnShape};
