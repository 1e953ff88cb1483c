//! What a job reads.

use super::{Input, Job, file_name, jobs};
use crate::dataset::{MANIFEST, SPLITS, Side, TRUTH_IDS, TRUTH_SCORES, index_dir};
use crate::stages;
use std::path::{Path, PathBuf};
use vprep_manifest::{NormalizeTable, RAW, Recipe, ZeroRule};

impl Job {
    /// What the job reads.
    pub(crate) fn reads(&self, recipe: &Recipe, dir: &Path) -> Vec<Input> {
        let own =
            |paths: &[&str]| paths.iter().map(|path| Input::Own((*path).to_owned())).collect();
        match self {
            Self::Import(_, table) => sources(&table.files, "", recipe, dir),
            Self::Texts(_, table) => sources(&table.texts, "", recipe, dir),
            Self::Embed(side, table) => {
                let mut inputs: Vec<Input> = own(&[side.table()]);
                if stages::model::is_directory(&table.model) {
                    let model = dir.join(&table.model);
                    inputs.extend(stages::model::files_of(&model).into_iter().map(|name| {
                        let path = model.join(&name);
                        Input::Outside { name: format!("model:{name}"), path }
                    }));
                }
                inputs
            }
            Self::Fetch(_) | Self::Synth(_) => Vec::new(),
            Self::Normalize(side, NormalizeTable { zero: ZeroRule::Drop }) => {
                own(&[side.vectors(), side.table()])
            }
            Self::Normalize(side, _) => own(&[side.vectors()]),
            Self::Subset(table) => {
                let mut inputs: Vec<Input> = match &table.from {
                    Some(from) => {
                        let parent = dir.join(from);
                        let outside = |name: String| {
                            let path = parent.join(&name);
                            Input::Outside { name: format!("parent:{name}"), path }
                        };
                        self.writes(dir).into_iter().map(outside).collect()
                    }
                    None => own(&[Side::Base.vectors(), Side::Base.table()]),
                };
                inputs.extend(sources(&table.keep_relevant, "judgements", recipe, dir));
                inputs
            }
            Self::SubsetTexts(table) => {
                let mut inputs: Vec<Input> = own(&[Side::Base.table()]);
                inputs.extend(sources(&table.keep_relevant, "judgements", recipe, dir));
                inputs
            }
            Self::Split(_) => own(&[Side::Queries.vectors()]),
            Self::Truth(_) => own(&[Side::Base.vectors(), Side::Queries.vectors()]),
            Self::Build(..) => own(&[Side::Base.vectors()]),
            Self::Calibrate(store, _) => own(&[
                Side::Base.vectors(),
                Side::Queries.vectors(),
                TRUTH_IDS,
                TRUTH_SCORES,
                SPLITS,
                &index_dir(store),
            ]),
            Self::Manifest => {
                let mut files: Vec<String> = jobs(recipe, dir)
                    .iter()
                    .take_while(|job| **job != Self::Manifest)
                    .filter(|job| !job.outputs_may_go())
                    .flat_map(|job| job.writes(dir))
                    .collect();
                files.sort();
                files.dedup();
                files.into_iter().map(Input::Own).collect()
            }
            Self::Validate(_) => {
                let mut inputs = Self::Manifest.reads(recipe, dir);
                inputs.push(Input::Own(MANIFEST.to_owned()));
                let neighbors = recipe.validate.as_ref().and_then(|table| table.neighbors.clone());
                inputs.extend(sources(neighbors.as_slice(), "neighbors", recipe, dir));
                inputs
            }
        }
    }
}

/// Files that a job reads from outside the dataset, numbered so that their order is kept, and the
/// directory of fetched files if any of them is one.
fn sources(files: &[PathBuf], what: &str, recipe: &Recipe, dir: &Path) -> Vec<Input> {
    let (fetched, files): (Vec<_>, Vec<_>) = files.iter().partition(|path| recipe.is_fetched(path));
    let outside = |(i, path): (usize, &PathBuf)| Input::Outside {
        name: format!("{what}{i:08}:{}", file_name(path)),
        path: dir.join(path),
    };
    let own = (!fetched.is_empty()).then(|| Input::Own(RAW.to_owned()));
    own.into_iter().chain(files.into_iter().enumerate().map(outside)).collect()
}
