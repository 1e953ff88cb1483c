//! What can go wrong with a dataset's own files.

use std::io;
use std::path::{Path, PathBuf};
use vprep_core::{Failure, Interrupted, Kind, io_words};

/// A file of the dataset that cannot be read, written or published.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The system refused.
    #[error("{}: cannot {action}: {}{}", path.display(), io_words::plain(source), io_words::hint(source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried, as in "write".
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A file is not what its name says.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what was expected.
        problem: String,
    },
    /// A parquet file of the dataset cannot be read or written.
    #[error("{}: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What the library says.
        source: parquet::errors::ParquetError,
    },
    /// Another process writes to the dataset.
    #[error("{}: another vprep{} is writing to this dataset; wait for it or stop it", path.display(), process(*pid))]
    Locked {
        /// The dataset.
        path: PathBuf,
        /// The other process, where it said.
        pid: Option<u32>,
    },
    /// Stopped by the user.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

impl DataError {
    /// A closure for `map_err` on an I/O result.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.as_ref().to_owned(), action, source }
    }

    /// A closure for `map_err` on a result of the parquet library.
    pub(crate) fn table(
        path: impl AsRef<Path>,
    ) -> impl FnOnce(parquet::errors::ParquetError) -> Self {
        move |source| match source {
            parquet::errors::ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(source) => Self::io("write", path)(*source),
                Err(inner) => Self::Table {
                    path: path.as_ref().to_owned(),
                    source: parquet::errors::ParquetError::External(inner),
                },
            },
            source => Self::Table { path: path.as_ref().to_owned(), source },
        }
    }

    pub(crate) fn malformed(path: impl AsRef<Path>, problem: impl Into<String>) -> Self {
        Self::Malformed { path: path.as_ref().to_owned(), problem: problem.into() }
    }
}

impl Failure for DataError {
    fn kind(&self) -> Kind {
        match self {
            Self::Io { .. } | Self::Malformed { .. } | Self::Table { .. } | Self::Locked { .. } => {
                Kind::Data
            }
            Self::Interrupted(_) => Kind::Interrupted,
        }
    }
}
