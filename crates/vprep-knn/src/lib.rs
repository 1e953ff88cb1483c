//! Exact k nearest neighbours: the ground truth of a dataset, and the `flat` store.
//!
//! The answer to a query is the first k rows of the base in the order of
//! [`Metric::score`](vprep_core::Metric::score), a float64 score with a fixed order of summation;
//! equal scores are ordered by row number. [`plain::search`] says the same in five lines.
//! [`Exact`] gives the same answer, bit for bit, at the speed of a single-precision matrix
//! product, on any number of threads and whatever instructions the machine has.
//!
//! # Method
//!
//! 1. Blocks of queries are multiplied with blocks of the base cheaply. What comes out is only an
//!    estimate of each inner product, but one with a proven bound on its error, so that each row's
//!    score is known to lie in an interval.
//! 2. A row is left out only when at least k + 1 other rows certainly score better: the upper end
//!    of its interval is below their lower ends. The rest is shortlisted.
//! 3. The shortlist, a few times as long as k, is scored again in f64, and these scores alone
//!    decide.
//!
//! Two passes do steps 1 and 2. The coarse one multiplies 8-bit codes, where the processor has
//! instructions for it (AVX-512 with VNNI); it answers nearly all queries of nearly all data. What
//! its bound cannot tell apart is left to the other, a product in f32, which always ends: it scores
//! in f64 as it goes where even f32 cannot tell. The bounds and their proofs are in `bounds.rs` and
//! `coarse/slack.rs`. The kernels decide how long the shortlists are, never what comes out of them.
//! One row more than k is kept so that the answer also says how far the k-th row is from the next
//! one, and whether the two are tied. The variable `VPREP_EXACT` (`f32`, `int8-portable`,
//! `int8-vnni`, `int8-avx-vnni`) forces a pass, for tests.
//!
//! Results come block by block in the order of the queries, so that memory stays bounded for any
//! number of queries, any k up to the number of rows, and any number of ties.
//!
//! ```
//! use vprep_core::{MatrixView, Metric, Silent};
//! use vprep_knn::{Exact, KnnError};
//!
//! let base = [1.0, 0.0, 0.6, 0.8, 0.8, 0.6, 0.0, 1.0];
//! let exact = Exact::new(MatrixView::new(&base, 2), Metric::Ip)?;
//!
//! let queries = [1.0, 0.0, 1.0, 1.0];
//! let mut rows = Vec::new();
//! let mut tied = Vec::new();
//! exact.search(MatrixView::new(&queries, 2), 3, &Silent, |found| {
//!     rows.extend(found.rows);
//!     tied.extend(found.tied);
//!     Ok::<(), KnnError>(())
//! })?;
//! assert_eq!(rows, [0, 2, 1, 1, 2, 0]);
//! // Rows 0 and 3 are equally near to the second query: its third neighbour is not the only one.
//! assert_eq!(tied, [false, true]);
//! # Ok::<(), KnnError>(())
//! ```

mod blocks;
mod bounds;
mod coarse;
mod error;
mod exact;
mod found;
mod kernel;
pub mod plain;
mod products;
mod shortlist;
#[cfg(test)]
mod test_data;

pub use error::KnnError;
pub use exact::Exact;
pub use found::Found;
