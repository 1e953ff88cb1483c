//! The store `qdrant-edge`: Qdrant's engine in process.

mod build;
mod engine;
mod files;
mod index;

use crate::graph::{KNOB, PARAMETERS};
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, Index, Store, StoreError, StoreInfo};

const NAME: &str = "qdrant-edge";

/// The version of the engine, which does not tell it.
const VERSION: &str = "0.7.2";

static INFO: StoreInfo =
    StoreInfo { name: NAME, engine: "qdrant-edge", knob: Some(KNOB), parameters: PARAMETERS };

/// Qdrant's engine in process.
#[derive(Clone, Copy, Debug, Default)]
pub struct EdgeStore;

impl EdgeStore {
    /// The store.
    pub const fn new() -> Self {
        Self
    }
}

impl Store for EdgeStore {
    fn info(&self) -> &StoreInfo {
        &INFO
    }

    fn version(&self) -> Result<String, StoreError> {
        Ok(VERSION.to_owned())
    }

    fn build(
        &self,
        base: MatrixView<'_>,
        spec: &BuildSpec,
        dir: &Path,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        build::build(base, spec, dir, progress)
    }

    fn open<'a>(
        &self,
        dir: &Path,
        base: MatrixView<'a>,
    ) -> Result<Box<dyn Index + 'a>, StoreError> {
        Ok(Box::new(index::EdgeIndex::open(dir, base)?))
    }
}
