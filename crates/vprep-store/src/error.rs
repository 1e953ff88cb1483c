//! What can go wrong with a store.

use std::path::PathBuf;
use vprep_core::{Failure, Interrupted, Kind};

/// A store that cannot do what it is asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A build parameter that the store does not have.
    #[error("store `{store}` has no build parameter `{name}`; it has: {known}")]
    UnknownParameter {
        /// The store.
        store: &'static str,
        /// The name given.
        name: String,
        /// The names it has.
        known: String,
    },
    /// A build parameter out of range.
    #[error("store `{store}`: {name} = {value} is out of range; it must be from {min} to {max}")]
    ParameterRange {
        /// The store.
        store: &'static str,
        /// The parameter.
        name: &'static str,
        /// The value given.
        value: u32,
        /// Smallest legal value.
        min: u32,
        /// Largest legal value.
        max: u32,
    },
    /// A knob value out of range.
    #[error(
        "store `{store}`: {knob} = {value} is out of range for k = {k}; it must be from {smallest} to {largest}"
    )]
    KnobRange {
        /// The store.
        store: &'static str,
        /// The knob.
        knob: &'static str,
        /// The value given.
        value: u32,
        /// Neighbours asked for.
        k: usize,
        /// Smallest legal value.
        smallest: u32,
        /// Largest legal value.
        largest: u32,
    },
    /// No index, or one that cannot be read.
    #[error("{}: {problem}; build it with `vprep build --store {store}`", path.display())]
    NoIndex {
        /// The store.
        store: &'static str,
        /// Where it was looked for.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// An index of another base.
    #[error("{}: the index holds {found}, but the base has {expected}; build it again with `vprep build --store {store}`", path.display())]
    WrongIndex {
        /// The store.
        store: &'static str,
        /// The index.
        path: PathBuf,
        /// Rows and dimension of the index.
        found: String,
        /// Rows and dimension of the base.
        expected: String,
    },
    /// Queries of another dimension.
    #[error("store `{store}`: queries have dim {found}, but the index has dim {expected}")]
    Dimension {
        /// The store.
        store: &'static str,
        /// Dimension of the queries.
        found: usize,
        /// Dimension of the index.
        expected: usize,
    },
    /// What the engine has no way to index.
    #[error("store `{store}` cannot hold this dataset: {problem}")]
    Unsupported {
        /// The store.
        store: &'static str,
        /// What is too large or unknown to it, and its limit.
        problem: String,
    },
    /// A store that must be told where its engine is.
    #[error("store `{store}` is not set up: set {variable} to {example}")]
    NotConfigured {
        /// The store.
        store: &'static str,
        /// The environment variable.
        variable: &'static str,
        /// What it looks like.
        example: &'static str,
    },
    /// A server that does not answer, or does not let us in.
    #[error("store `{store}`: {place} cannot be used: {message}")]
    Unreachable {
        /// The store.
        store: &'static str,
        /// Host, port and database, without user and password.
        place: String,
        /// What went wrong, and what to do.
        message: String,
    },
    /// The engine itself failed.
    #[error("store `{store}`: {operation} failed: {message}")]
    Engine {
        /// The store.
        store: &'static str,
        /// What it was doing.
        operation: &'static str,
        /// What the engine says.
        message: String,
    },
    /// Reading or writing a file of the index failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Stopped by the user.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl Failure for StoreError {
    fn kind(&self) -> Kind {
        match self {
            Self::UnknownParameter { .. }
            | Self::ParameterRange { .. }
            | Self::KnobRange { .. } => Kind::Usage,
            Self::NoIndex { .. }
            | Self::WrongIndex { .. }
            | Self::Dimension { .. }
            | Self::Unsupported { .. }
            | Self::Io { .. } => Kind::Data,
            Self::NotConfigured { .. } | Self::Unreachable { .. } | Self::Engine { .. } => {
                Kind::Unreachable
            }
            Self::Interrupted(_) => Kind::Interrupted,
        }
    }
}
