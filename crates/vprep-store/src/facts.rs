//! `indexes/<store>/index.json`: what an index was built from and with.

use crate::{BuildSpec, StoreError, StoreInfo};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use vprep_core::{MatrixView, Metric};

/// Facts about an index, kept beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexFacts {
    /// Format of this file.
    pub schema: u32,
    /// Name of the store.
    pub store: String,
    /// Engine.
    pub engine: String,
    /// Version of the engine that built it.
    pub version: String,
    /// Metric of the dataset.
    pub metric: Metric,
    /// Whether cosine orders rows as the inner product does here.
    pub unit_length: bool,
    /// Rows of the index.
    pub rows: u64,
    /// Values in a vector.
    pub dim: u32,
    /// Build parameters.
    pub parameters: BTreeMap<String, u32>,
    /// Where another program finds the index.
    pub location: Location,
}

/// Where an index lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Location {
    /// This file or folder of the index directory; `.` for an index that is the base itself.
    Path(String),
    /// This table or collection of a server.
    Collection(String),
}

impl IndexFacts {
    const FILE: &str = "index.json";

    /// The facts of an index at `location` that version `version` of `info`'s store builds from
    /// `base`.
    pub fn new(
        info: &StoreInfo,
        version: String,
        base: MatrixView<'_>,
        spec: &BuildSpec,
        location: Location,
    ) -> Self {
        Self {
            schema: 1,
            store: info.name.to_owned(),
            engine: info.engine.to_owned(),
            version,
            metric: spec.metric,
            unit_length: spec.unit_length,
            rows: base.rows() as u64,
            dim: base.dim() as u32,
            parameters: spec.parameters.clone(),
            location,
        }
    }

    /// Writes `index.json` into the directory that is being built.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, dir: &Path) -> Result<(), StoreError> {
        let path = dir.join(Self::FILE);
        let text = serde_json::to_string_pretty(self).expect("facts are JSON; this is a bug");
        File::create(&path)
            .and_then(|mut file| file.write_all(format!("{text}\n").as_bytes()))
            .map_err(|source| StoreError::Io { path, source })
    }

    /// Reads `index.json` and checks that it is an index of `store` over `base`.
    ///
    /// # Errors
    ///
    /// If it is missing or unreadable, or its shape is not that of the base.
    pub fn read(dir: &Path, store: &'static str, base: MatrixView<'_>) -> Result<Self, StoreError> {
        let path = dir.join(Self::FILE);
        let no_index = |problem: String| StoreError::NoIndex { store, path: path.clone(), problem };
        let text = std::fs::read_to_string(&path).map_err(|error| no_index(error.to_string()))?;
        let facts: Self =
            serde_json::from_str(&text).map_err(|error| no_index(error.to_string()))?;
        if facts.store != store || facts.schema != 1 {
            return Err(no_index(format!("an index of `{}`, not of `{store}`", facts.store)));
        }
        if (facts.rows, facts.dim) != (base.rows() as u64, base.dim() as u32) {
            return Err(StoreError::WrongIndex {
                store,
                path: dir.to_owned(),
                found: format!("{} rows of dim {}", facts.rows, facts.dim),
                expected: format!("{} rows of dim {}", base.rows(), base.dim()),
            });
        }
        Ok(facts)
    }
}
