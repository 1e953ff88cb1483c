//! The [`Store`] trait: what vprep asks of a vector store, and the conformance suite that every
//! adapter passes.
//!
//! A store builds an index from the base into a directory, and opens it again. An open [`Index`]
//! answers batches of queries at (k, knob value). The knob is one integer that trades speed for
//! recall: `ef_search`, `nprobe` and the like. The trait is sync; an adapter takes its parallelism
//! from rayon's current pool, so `--threads` holds for all of them.

pub mod checksum;
#[cfg(feature = "conformance")]
pub mod conformance;
mod each;
mod error;
mod facts;
mod info;

pub use each::{Asked, answer_each};
pub use error::StoreError;
pub use facts::{IndexFacts, Location};
pub use info::{KnobRange, Parameter, StoreInfo, resolve_parameters};

use std::collections::BTreeMap;
use std::path::Path;
use vprep_core::{MatrixView, Metric, Progress};

/// A kind of vector store.
pub trait Store: Send + Sync {
    /// What it is: name, engine, knob, build parameters.
    fn info(&self) -> &StoreInfo;

    /// The version of the engine, as it says itself. A server is asked, so that an answer also
    /// means that it can be reached.
    ///
    /// # Errors
    ///
    /// If the store needs a setting that is missing ([`StoreError::NotConfigured`]), a server that
    /// does not answer ([`StoreError::Unreachable`]), or a part that is not there.
    fn version(&self) -> Result<String, StoreError>;

    /// Builds the index of `base` (`n x dim`, row number = vector id) into `dir`, an empty
    /// directory that the caller publishes. Whatever is needed to open the index again lies there;
    /// a server's address and credentials do not. A server replaces what it held under
    /// [`BuildSpec::name`] when the build has succeeded, and not before.
    ///
    /// # Errors
    ///
    /// If the engine fails, is unreachable or out of space, or the user stops the work.
    fn build(
        &self,
        base: MatrixView<'_>,
        spec: &BuildSpec,
        dir: &Path,
        progress: &dyn Progress,
    ) -> Result<(), StoreError>;

    /// Opens the index in `dir`. `base` is the matrix it was built from, for stores that keep no
    /// copy and for those that score candidates exactly.
    ///
    /// # Errors
    ///
    /// If there is no index, or it is not one of `base.rows()` rows of `base.dim()` values.
    fn open<'a>(&self, dir: &Path, base: MatrixView<'a>)
    -> Result<Box<dyn Index + 'a>, StoreError>;
}

/// What to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildSpec {
    /// What a server may call the index: any text. Another build of the same name replaces it.
    pub name: String,
    /// Metric of the dataset.
    pub metric: Metric,
    /// Whether every base vector is unit length or zero, so that cosine orders rows as the inner
    /// product does.
    pub unit_length: bool,
    /// A value for every parameter that the store declares, from [`resolve_parameters`].
    pub parameters: BTreeMap<String, u32>,
}

/// An open index.
pub trait Index: Send + Sync {
    /// What it was built from and with.
    fn facts(&self) -> &IndexFacts;

    /// The knob values that mean something for `k` neighbours in this index; none for a store
    /// without a knob. The smallest is the least value at which the engine returns `min(k, n)`
    /// rows.
    fn knob_range(&self, k: usize) -> Option<KnobRange>;

    /// Counters and sizes that a reader may want to see, such as what a cache has loaded since the
    /// index was opened. They are about this open index, so they may differ from run to run; what
    /// must be known of an answer is in [`Answers::notes`].
    fn statistics(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    /// Finds `k` neighbours of each query (`q x dim`) at a knob value, best first.
    ///
    /// # Errors
    ///
    /// If the dimension differs, the knob value is outside [`Index::knob_range`], the engine
    /// fails, or the user stops the work.
    fn search(
        &self,
        queries: MatrixView<'_>,
        k: usize,
        knob: Option<u32>,
        progress: &dyn Progress,
    ) -> Result<Answers, StoreError>;
}

/// The answers to a batch of queries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// `q x min(k, n)` row numbers, best first; -1 where the engine returned fewer.
    pub rows: Vec<i64>,
    /// `q x min(k, n)` scores in the metric's own convention (cosine and ip: similarity; l2:
    /// squared distance); NaN beside -1.
    pub scores: Vec<f32>,
    /// What a reader must know, as that a scan answered instead of the index.
    pub notes: Vec<String>,
}
