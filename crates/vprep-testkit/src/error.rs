//! What can go wrong before the first request.

use std::io;
use std::path::PathBuf;

/// The server could not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct StartError {
    /// The address that was asked for.
    pub address: String,
    /// Why not.
    pub source: io::Error,
}

/// A file cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub struct ContentError {
    /// The file on disk.
    pub path: PathBuf,
    /// Why not.
    pub source: io::Error,
}
