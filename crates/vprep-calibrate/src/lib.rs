//! Finds, for a store's index, the smallest search setting that reaches each recall target, and
//! proves it on queries that it was not tuned on. It knows stores by their trait only.
//!
//! For each k and target the search doubles the knob from its smallest legal value until the
//! calibration queries reach the target, then bisects to a single value whose lower neighbour was
//! measured and misses. Between the values looked at, recall is taken to grow with the knob; what
//! is proved is that the chosen value reaches the target and the one below it does not. Recall is
//! then measured on the held-out queries, with the interval of [`interval`].
//!
//! No (k, query set, value) is measured twice: targets share measurements, and those of an
//! earlier run on the same inputs can be given back. What a cell reports does not depend on that.
//!
//! ```
//! use std::collections::BTreeMap;
//! use vprep_calibrate::{Options, Queries, Rule, calibrate};
//! use vprep_core::{MatrixView, Metric, Silent};
//! use vprep_store::{BuildSpec, Store, resolve_parameters};
//!
//! // A hundred points on a line; query i lies just above point 10 i.
//! let points: Vec<f32> = (0..100).map(|i| i as f32).collect();
//! let queries: Vec<f32> = (0..9).map(|i| 10.0 * i as f32 + 0.25).collect();
//! let truth: Vec<i32> = (0..9).flat_map(|i| [10 * i, 10 * i + 1]).collect();
//! let base = MatrixView::new(&points, 1);
//!
//! let store = vprep_store_hnsw::HnswStore::new();
//! let parameters = resolve_parameters(store.info(), &BTreeMap::new())?;
//! let dir = tempfile::tempdir()?;
//! let spec = BuildSpec { name: "example".into(), metric: Metric::L2, unit_length: false, parameters };
//! store.build(base, &spec, dir.path(), &Silent)?;
//! let index = store.open(dir.path(), base)?;
//!
//! let data = Queries {
//!     base,
//!     queries: MatrixView::new(&queries, 1),
//!     truth_ids: &truth,
//!     truth_k: 2,
//!     metric: Metric::L2,
//!     calibration: &[0, 2, 4, 6, 8],
//!     held_out: &[1, 3, 5, 7],
//! };
//! let options = Options { k: vec![2], target: vec![0.95], max_value: None, rule: Rule::Mean };
//! let (cells, points) =
//!     calibrate(&store, index.as_ref(), &data, &options, Vec::new(), &Silent)?;
//! assert!(cells[0].reached && cells[0].calibration_recall >= Some(0.95));
//! assert_eq!(cells[0].knob.as_deref(), Some("expansion_search"));
//! assert_eq!((cells[0].calibration_queries, cells[0].held_out_queries), (5, 4));
//! assert_eq!(points.len() as u32, cells[0].evaluations + 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod calibrate;
mod error;
mod input;
pub mod interval;
mod measure;
mod search;

pub use calibrate::calibrate;
pub use error::CalibrateError;
pub use input::{Options, Queries};
pub use vprep_manifest::{Cell, Point, QuerySet, Rule};
