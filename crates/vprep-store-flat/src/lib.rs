//! The store `flat`: exact search through [`vprep_knn`], built in. It has no knob and no build
//! parameter, its recall is 1, and the other stores are measured against its speed.
//!
//! An index directory holds `index.json` and nothing else: the base is the index.
//!
//! ```
//! use std::collections::BTreeMap;
//! use vprep_core::{MatrixView, Metric, Silent};
//! use vprep_store::{BuildSpec, Store};
//! use vprep_store_flat::FlatStore;
//!
//! let rows = [1.0, 0.0, 0.6, 0.8, 0.0, 1.0];
//! let base = MatrixView::new(&rows, 2);
//! let store = FlatStore::new();
//! let parameters = BTreeMap::new();
//! let spec = BuildSpec { name: "example".into(), metric: Metric::Cosine, unit_length: true, parameters };
//! let dir = tempfile::tempdir()?;
//! store.build(base, &spec, dir.path(), &Silent)?;
//!
//! let index = store.open(dir.path(), base)?;
//! let answers = index.search(MatrixView::new(&[0.0, 1.0], 2), 2, None, &Silent)?;
//! assert_eq!(answers.rows, [2, 1]);
//! assert_eq!(answers.scores, [1.0, 0.8]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod index;

use index::FlatIndex;
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, Index, IndexFacts, Location, Store, StoreError, StoreInfo};

const NAME: &str = "flat";

/// Exact search.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlatStore;

static INFO: StoreInfo = StoreInfo { name: NAME, engine: "vprep-knn", knob: None, parameters: &[] };

/// The engine has the version of vprep itself.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl FlatStore {
    /// The store.
    pub const fn new() -> Self {
        Self
    }
}

impl Store for FlatStore {
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
        progress.check()?;
        let location = Location::Path(".".to_owned());
        IndexFacts::new(&INFO, VERSION.to_owned(), base, spec, location).write(dir)
    }

    fn open<'a>(
        &self,
        dir: &Path,
        base: MatrixView<'a>,
    ) -> Result<Box<dyn Index + 'a>, StoreError> {
        Ok(Box::new(FlatIndex::open(dir, base)?))
    }
}
