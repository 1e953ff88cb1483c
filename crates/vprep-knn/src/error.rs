//! What can stop a search.

use vprep_core::{Failure, Interrupted, Kind, RowList};

/// A search that cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum KnnError {
    /// More neighbours asked for than there are rows, or none.
    #[error("k = {k} is out of range for a base of {rows} rows; it must be from 1 to {rows}")]
    K {
        /// Neighbours asked for.
        k: usize,
        /// Rows of the base.
        rows: usize,
    },
    /// Queries of another dimension.
    #[error("queries have dim {found}, but the base has dim {expected}")]
    Dimension {
        /// Dimension of the queries.
        found: usize,
        /// Dimension of the base.
        expected: usize,
    },
    /// More rows than a 32-bit row number can tell apart.
    #[error("the base has {rows} rows; exact search numbers at most {} rows", i32::MAX)]
    TooManyRows {
        /// Rows of the base.
        rows: usize,
    },
    /// NaN or infinity: such a row has no distance to anything.
    #[error("NaN or infinity in {rows} of the {matrix}; exact search needs finite values")]
    NotFinite {
        /// `base` or `queries`.
        matrix: &'static str,
        /// The rows at fault.
        rows: RowList,
    },
    /// Instructions that there are not.
    #[error("VPREP_EXACT={wanted}: {problem}")]
    Instructions {
        /// What the variable asks for.
        wanted: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Stopped by the user.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl Failure for KnnError {
    fn kind(&self) -> Kind {
        match self {
            Self::K { .. } | Self::Instructions { .. } => Kind::Usage,
            Self::Dimension { .. } | Self::TooManyRows { .. } | Self::NotFinite { .. } => {
                Kind::Data
            }
            Self::Interrupted(_) => Kind::Interrupted,
        }
    }
}
