//! The words that every vprep crate speaks: metrics, matrices, sampling, recall, progress and the
//! kinds of failure. No I/O here, and no heavy dependency.
//!
//! Scores follow one convention everywhere: `cosine` and `ip` are similarities, larger is better;
//! `l2` is the squared distance, smaller is better. The best neighbour comes first, and equal
//! scores are ordered by row number.
//!
//! ```
//! use vprep_core::{MatrixView, Metric};
//!
//! let base = [1.0, 0.0, 0.6, 0.8, 0.0, 2.0];
//! let base = MatrixView::new(&base, 2);
//! assert_eq!(base.rows(), 3);
//!
//! let query = [0.0, 1.0];
//! assert_eq!(Metric::Ip.score(&query, base.row(2)), 2.0);
//! assert_eq!(Metric::Cosine.score(&query, base.row(2)), 1.0);
//! assert_eq!(Metric::L2.score(&query, base.row(0)), 2.0);
//! ```

mod failure;
pub mod io_words;
mod matrix;
mod metric;
mod neighbour;
mod progress;
pub mod recall;
mod row_list;
pub mod sample;

pub use failure::{Failure, Kind};
pub use matrix::MatrixView;
pub use metric::{
    Metric, UNIT_TOLERANCE, UnknownMetric, cosine_divisor, dot, is_unit, norm, squared_distance,
};
pub use neighbour::Neighbour;
pub use progress::{Interrupted, Progress, Silent, Task};
pub use row_list::RowList;
