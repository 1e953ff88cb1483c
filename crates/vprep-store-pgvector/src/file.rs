//! `pgvector.json`: which build of the table belongs to an index directory.

use crate::NAME;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use vprep_store::StoreError;

/// Name of the file.
pub(crate) const FILE: &str = "pgvector.json";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BuildFile {
    schema: u32,
    build: String,
}

/// Writes the id of a build into the directory that is being built.
pub(crate) fn write(dir: &Path, build: &str) -> Result<(), StoreError> {
    let path = dir.join(FILE);
    let content = BuildFile { schema: 1, build: build.to_owned() };
    let text = serde_json::to_string_pretty(&content).expect("text is JSON; this is a bug");
    File::create(&path)
        .and_then(|mut file| {
            file.write_all(format!("{text}\n").as_bytes())?;
            file.sync_all()
        })
        .map_err(|source| StoreError::Io { path, source })
}

/// Reads the id of the build.
pub(crate) fn read(dir: &Path) -> Result<String, StoreError> {
    let path = dir.join(FILE);
    let no_index =
        |problem: String| StoreError::NoIndex { store: NAME, path: path.clone(), problem };
    let text = std::fs::read_to_string(&path).map_err(|error| no_index(error.to_string()))?;
    let content: BuildFile =
        serde_json::from_str(&text).map_err(|error| no_index(error.to_string()))?;
    if content.schema != 1 {
        return Err(no_index(format!("schema {} is not known", content.schema)));
    }
    Ok(content.build)
}
