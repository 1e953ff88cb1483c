//! The store `qdrant`: a Qdrant server over gRPC.

mod build;
mod collection;
mod connection;
mod index;
mod names;
mod settings;

use crate::graph::{KNOB, PARAMETERS};
use connection::Connection;
use settings::Settings;
use std::path::Path;
use vprep_core::{MatrixView, Progress, Silent};
use vprep_store::{BuildSpec, Index, Store, StoreError, StoreInfo};

const NAME: &str = "qdrant";

static INFO: StoreInfo =
    StoreInfo { name: NAME, engine: "Qdrant", knob: Some(KNOB), parameters: PARAMETERS };

/// A Qdrant server over gRPC.
#[derive(Clone, Debug)]
pub struct QdrantStore {
    settings: Settings,
}

impl QdrantStore {
    /// The server that the environment names: its URL in `VPREP_QDRANT_URL`, its API key in
    /// `VPREP_QDRANT_API_KEY`, else in `QDRANT_API_KEY`. Without a URL every use of the store
    /// gives [`StoreError::NotConfigured`].
    pub fn from_env() -> Self {
        Self { settings: Settings::from_env() }
    }

    /// The server at `url`, such as `http://localhost:6334`. The key goes to the server and
    /// nowhere else.
    pub fn new(url: &str, api_key: Option<&str>) -> Self {
        Self { settings: Settings::new(Some(url), api_key) }
    }
}

impl Store for QdrantStore {
    fn info(&self) -> &StoreInfo {
        &INFO
    }

    fn version(&self) -> Result<String, StoreError> {
        Connection::new(&self.settings)?.version(&Silent)
    }

    fn build(
        &self,
        base: MatrixView<'_>,
        spec: &BuildSpec,
        dir: &Path,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        progress.check()?;
        build::build(&Connection::new(&self.settings)?, base, spec, dir, progress)
    }

    fn open<'a>(
        &self,
        dir: &Path,
        base: MatrixView<'a>,
    ) -> Result<Box<dyn Index + 'a>, StoreError> {
        Ok(Box::new(index::ServerIndex::open(&self.settings, dir, base)?))
    }
}
