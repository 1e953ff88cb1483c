//! Qdrant as two stores: `qdrant-edge`, its engine in process, and `qdrant`, a server over gRPC.
//! Both build one HNSW graph over f32 vectors and have the knob `hnsw_ef`, the number of
//! candidates that a search keeps.
//!
//! Qdrant draws the layers of its graph at random, without a seed, so the same base gives another
//! index every time, on one thread too.
//!
//! It searches by the graph only where the vectors are worth it: it builds none for less than
//! 1 KiB of them, and a server scans less than 10 KiB. Answers then carry a note that says so.
//! Cosine vectors are stored with unit length; a zero vector stays zero and is like nothing.
//!
//! # `qdrant-edge`
//!
//! An index directory holds `shard`, a shard as the engine writes it but without its write-ahead
//! log, the checksums of its files in `shard.xxh128` (as `xxh128sum` prints them), and
//! `index.json`. While it is built, the directory also holds that log, somewhat larger than the
//! base.
//!
//! ```
//! use std::collections::BTreeMap;
//! use vprep_core::{MatrixView, Metric, Silent};
//! use vprep_store::{BuildSpec, Store, resolve_parameters};
//! use vprep_store_qdrant::EdgeStore;
//!
//! let rows = [1.0, 0.0, 0.6, 0.8, 0.0, 1.0];
//! let base = MatrixView::new(&rows, 2);
//! let store = EdgeStore::new();
//! let parameters = resolve_parameters(store.info(), &BTreeMap::new())?;
//! let spec = BuildSpec { name: "example".into(), metric: Metric::Ip, unit_length: true, parameters };
//! let dir = tempfile::tempdir()?;
//! store.build(base, &spec, dir.path(), &Silent)?;
//!
//! let index = store.open(dir.path(), base)?;
//! let answers = index.search(MatrixView::new(&[0.0, 1.0], 2), 2, Some(3), &Silent)?;
//! assert_eq!(answers.rows, [2, 1]);
//! assert_eq!(answers.scores, [1.0, 0.8]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # `qdrant`
//!
//! The server's URL is in the environment variable `VPREP_QDRANT_URL`, its API key, if it wants
//! one, in `VPREP_QDRANT_API_KEY` or `QDRANT_API_KEY`. Each build makes a collection of its own;
//! an alias that is made from the name of the index then moves to it at once, and the collection
//! before it is deleted. An index directory holds `index.json` with the name of the collection.

mod edge;
mod graph;
mod ranking;
mod server;

pub use edge::EdgeStore;
pub use server::QdrantStore;
