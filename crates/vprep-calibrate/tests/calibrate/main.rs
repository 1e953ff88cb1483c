//! The calibration on a store whose recall is known, and on a real one.

mod curves;
mod double;
mod hnsw;
mod inputs;
mod properties;
