//! What ends the command.

use std::io;
use std::path::PathBuf;
use vprep_core::{Failure, Kind};
use vprep_fetch::FetchError;
use vprep_pipeline::PipelineError;

/// A failure with its exit code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The pipeline's own.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// Public data.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// Writing to stdout.
    #[error("cannot write to standard output: {0}")]
    Stdout(#[from] io::Error),
    /// Handlers for signals cannot be set.
    #[error("cannot watch for signals: {0}")]
    Signals(io::Error),
    /// Threads cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(String),
    /// A path that is neither a dataset nor a file of vectors.
    #[error("{}: neither a dataset nor a file", .0.display())]
    NotInspectable(PathBuf),
}

impl CliError {
    /// Whether the reader of stdout has gone away, which is its right.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl Failure for CliError {
    fn kind(&self) -> Kind {
        match self {
            Self::Pipeline(error) => error.kind(),
            Self::Fetch(error) => error.kind(),
            Self::Signals(_) | Self::Threads(_) => Kind::Unexpected,
            Self::Stdout(_) | Self::NotInspectable(_) => Kind::Data,
        }
    }
}
