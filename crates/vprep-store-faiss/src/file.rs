//! `index.faiss`, its checksum, and `faiss.json`.

use crate::kind::Kind;
use crate::native;
use crate::plan::Plan;
use faiss::index::IndexImpl;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use vprep_core::Progress;
use vprep_store::{StoreError, checksum};

/// The index, as FAISS writes it.
pub(crate) const INDEX: &str = "index.faiss";

/// What it is.
pub(crate) const PLAN: &str = "faiss.json";

/// Writes the index, its checksum and its plan, all on the disk when this returns.
pub(crate) fn save(
    index: &IndexImpl,
    plan: &Plan,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    progress.check()?;
    let path = dir.join(INDEX);
    native::write(index, &path).map_err(|source| StoreError::Io { path: path.clone(), source })?;
    checksum::write(&path, progress)?;

    let path = dir.join(PLAN);
    let text = serde_json::to_string_pretty(plan).expect("a plan is JSON; this is a bug");
    File::create(&path)
        .and_then(|mut file| {
            file.write_all(format!("{text}\n").as_bytes())?;
            file.sync_all()
        })
        .map_err(|source| StoreError::Io { path, source })
}

/// Reads the plan of the index in `dir`.
pub(crate) fn plan(kind: Kind, dir: &Path) -> Result<Plan, StoreError> {
    let path = dir.join(PLAN);
    let text = std::fs::read_to_string(&path).map_err(|e| no_index(kind, &path, &e))?;
    serde_json::from_str(&text).map_err(|e| no_index(kind, &path, &e))
}

/// Reads an index that is byte for byte the one saved.
pub(crate) fn load(kind: Kind, dir: &Path) -> Result<IndexImpl, StoreError> {
    let path = dir.join(INDEX);
    checksum::verify(kind.info().name, &path)?;
    native::read(&path).map_err(|e| no_index(kind, &path, &e))
}

/// What lies at `path` is no index of `kind`.
pub(crate) fn no_index(kind: Kind, path: &Path, problem: &dyn std::fmt::Display) -> StoreError {
    let (path, problem) = (path.to_owned(), problem.to_string());
    StoreError::NoIndex { store: kind.info().name, path, problem }
}
