//! The files that a stage reads: others' files, and those that were fetched.

use crate::PipelineError;
use crate::facts::FetchStageFacts;
use crate::job::file_name;
use crate::record;
use crate::run::Stage;
use std::path::PathBuf;
use vprep_data::read::expand;
use vprep_data::{Content, content, slashed};
use vprep_manifest::{RAW, Role, SourceFile};

/// The files to read, in order, with their digests. Those of a pattern among fetched files are
/// found now, when they are there.
pub(crate) fn found(
    files: &[PathBuf],
    stage: &Stage<'_>,
) -> Result<Vec<(PathBuf, Content)>, PipelineError> {
    let is_fetched = |path: &&PathBuf| stage.recipe.is_fetched(path);
    let fetched: Vec<PathBuf> = files.iter().filter(is_fetched).cloned().collect();
    let mut sources = Vec::new();
    if !fetched.is_empty() {
        let known = record::read(stage.dir, "fetch").map(|record| record.facts);
        let known = known.and_then(|facts| serde_json::from_value::<FetchStageFacts>(facts).ok());
        let known = known.map(|facts| facts.fetched.files).unwrap_or_default();
        for path in expand(&fetched, stage.dir)? {
            let below = path.strip_prefix(stage.dir.join(RAW)).map(slashed).unwrap_or_default();
            let content = match known.iter().find(|file| file.path == below) {
                Some(file) => Content { bytes: file.bytes, sha256: file.sha256.clone() },
                None => content(&path, stage.context.progress)?,
            };
            sources.push((path, content));
        }
    }
    let outside = files.iter().filter(|path| !is_fetched(path));
    let contents = stage.inputs.iter().filter(|(name, _)| *name != RAW).map(|(_, c)| c.clone());
    sources.extend(outside.map(|path| stage.dir.join(path)).zip(contents));
    Ok(sources)
}

/// The same for the manifest.
pub(crate) fn described(sources: Vec<(PathBuf, Content)>, role: Role) -> Vec<SourceFile> {
    let describe = |(path, content): (PathBuf, Content)| SourceFile {
        role,
        name: file_name(&path),
        bytes: content.bytes,
        sha256: content.sha256,
    };
    sources.into_iter().map(describe).collect()
}
