//! How a truth is computed. Nothing of it changes what comes out.

use crate::PipelineError;
use crate::memory::quarter_of_memory;
use crate::stages::truth::WITNESS;
use crate::stores;

/// How a truth is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TruthOptions {
    /// What finds the neighbours.
    pub engine: Engine,
    /// Queries, drawn by seed, that the plain reference must answer alike.
    pub verify: u64,
    /// Whether all of it is computed here.
    pub part: TruthPart,
    /// Bytes that a block of queries may take; a quarter of the memory unless told.
    pub memory: Option<u64>,
}

impl TruthOptions {
    /// Bytes that a block of queries may take.
    pub(crate) fn memory(&self) -> usize {
        usize::try_from(self.memory.unwrap_or_else(quarter_of_memory)).unwrap_or(usize::MAX)
    }
}

/// How much of a truth is computed, where several machines share the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TruthPart {
    /// All of it.
    #[default]
    Whole,
    /// The best rows of one slice of the base.
    Shard {
        /// Number of the slice, from 0.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// None: the shards that are there are put together.
    Merge,
}

/// What finds the neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Shortlists by f32 products with a proven bound, decided in f64.
    #[default]
    Exact,
    /// The plain reference: every row scored in f64.
    F64,
    /// The default, and FAISS searches every query again: no row that it finds may be better.
    Faiss,
}

impl Engine {
    /// Every engine, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Exact, Self::F64, Self::Faiss];

    /// The name in flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::F64 => "f64",
            Self::Faiss => "faiss",
        }
    }

    /// Refuses an engine that this build does not have.
    ///
    /// # Errors
    ///
    /// [`PipelineError::CompiledOut`].
    pub fn check(self) -> Result<(), PipelineError> {
        match self {
            Self::Exact | Self::F64 => Ok(()),
            Self::Faiss => stores::find(WITNESS).map(drop),
        }
    }
}
