//! What can go wrong in a calibration.

use vprep_core::{Failure, Interrupted, Kind};
use vprep_store::StoreError;

/// A calibration that cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// No k, or no target.
    #[error("nothing to calibrate: give at least one k and one target")]
    Nothing,
    /// k = 0.
    #[error("k = 0 asks for no neighbours; it must be at least 1")]
    ZeroK,
    /// A target that is no recall.
    #[error("target {0} is no recall; it must be above 0 and at most 1")]
    Target(f64),
    /// Fewer true neighbours than asked for.
    #[error(
        "k = {k}, but the truth holds {truth_k} neighbours of each query; compute more with `vprep truth --k {k}`"
    )]
    TruthTooShort {
        /// Neighbours asked for.
        k: u32,
        /// Neighbours of each query that the truth holds.
        truth_k: usize,
    },
    /// The base has no rows.
    #[error("the base has no rows")]
    EmptyBase,
    /// A set without queries.
    #[error("there are no {0} queries; split the queries again with `vprep split`")]
    NoQueries(&'static str),
    /// A split of other queries.
    #[error(
        "the split names query row {row}, but there are {queries} queries; split them again with `vprep split`"
    )]
    SplitRow {
        /// The row.
        row: u64,
        /// How many queries there are.
        queries: usize,
    },
    /// A split that is none.
    #[error("the split names query row {0} twice; split the queries again with `vprep split`")]
    SplitTwice(u64),
    /// Queries of another dimension than the base.
    #[error(
        "the queries have dim {queries}, but the base has dim {base}; embed both with the same model"
    )]
    Dimension {
        /// Dimension of the queries.
        queries: usize,
        /// Dimension of the base.
        base: usize,
    },
    /// A truth of other queries.
    #[error("the truth holds {found} row numbers, but {queries} queries with {truth_k} neighbours each need {}; compute it again with `vprep truth`", queries * truth_k)]
    TruthShape {
        /// Row numbers in the truth.
        found: usize,
        /// How many queries there are.
        queries: usize,
        /// Neighbours of each query.
        truth_k: usize,
    },
    /// A truth of another base.
    #[error(
        "the truth of query {query} names row {row}, but the base has {rows} rows; compute it again with `vprep truth`"
    )]
    TruthRow {
        /// The query.
        query: u64,
        /// The row named.
        row: i32,
        /// Rows of the base.
        rows: usize,
    },
    /// An index of something else.
    #[error(
        "the index of `{store}` holds {found}, but the truth is of {expected}; build it again with `vprep build --store {store}`"
    )]
    Index {
        /// The store.
        store: &'static str,
        /// What the index is of.
        found: String,
        /// What the truth is of.
        expected: String,
    },
    /// An answer that breaks the contract of the trait.
    #[error(
        "store `{store}` answered {found} where {expected} was due; this is a bug of its adapter"
    )]
    Answer {
        /// The store.
        store: &'static str,
        /// What came.
        found: String,
        /// What should have come.
        expected: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Stopped by the user.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl Failure for CalibrateError {
    fn kind(&self) -> Kind {
        match self {
            Self::Nothing | Self::ZeroK | Self::Target(_) | Self::TruthTooShort { .. } => {
                Kind::Usage
            }
            Self::EmptyBase
            | Self::NoQueries(_)
            | Self::SplitRow { .. }
            | Self::SplitTwice(_)
            | Self::Dimension { .. }
            | Self::TruthShape { .. }
            | Self::TruthRow { .. }
            | Self::Index { .. } => Kind::Data,
            Self::Answer { .. } => Kind::Unexpected,
            Self::Store(error) => error.kind(),
            Self::Interrupted(_) => Kind::Interrupted,
        }
    }
}
