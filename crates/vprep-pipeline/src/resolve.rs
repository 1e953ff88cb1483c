//! Recipes as a dataset holds them: patterns expanded, paths relative to its directory, defaults
//! filled in.

use crate::dataset::{self, DATASET_TOML, read_dataset};
use crate::{PipelineError, paths, stages};
use std::path::{Path, PathBuf};
use vprep_data::read::expand;
use vprep_manifest::Recipe;

/// A recipe with its patterns expanded, its paths relative to the dataset, and its build
/// parameters filled in.
///
/// # Errors
///
/// If the recipe lacks something, `dir` holds another dataset, a pattern matches nothing, or a
/// store or a parameter is not known.
pub fn resolve(recipe: &Recipe, recipe_dir: &Path, dir: &Path) -> Result<Recipe, PipelineError> {
    let whole = recipe;
    let resolve_files = |files: &mut Vec<PathBuf>| {
        let (fetched, mut others): (Vec<_>, Vec<_>) =
            files.drain(..).partition(|path| whole.is_fetched(path));
        if !others.is_empty() {
            others = source_files(&others, recipe_dir, dir)?;
        }
        *files = [fetched, others].concat();
        Ok::<(), PipelineError>(())
    };
    let mut recipe = recipe.clone();
    if let Some(table) = &recipe.fetch {
        stages::fetch::source(table)?;
    }
    recipe.check_whole().map_err(|error| PipelineError::Usage(error.to_string()))?;
    if dir.join(DATASET_TOML).exists() {
        let found = read_dataset(dir)?.name;
        if found != recipe.name {
            let (path, wanted) = (dir.to_owned(), recipe.name);
            return Err(PipelineError::OtherDataset { path, found, wanted });
        }
    }
    if let Some(import) = &mut recipe.import {
        for table in [&mut import.base, &mut import.queries].into_iter().flatten() {
            resolve_files(&mut table.files)?;
        }
    }
    if let Some(embed) = &mut recipe.embed {
        for table in [&mut embed.base, &mut embed.queries].into_iter().flatten() {
            resolve_files(&mut table.texts)?;
        }
        embed.model = model(&embed.model, recipe_dir, dir)?;
    }
    if let Some(table) = &mut recipe.subset {
        resolve_files(&mut table.keep_relevant)?;
    }
    if let Some(table) = &mut recipe.validate {
        let mut neighbors = table.neighbors.take().into_iter().collect();
        resolve_files(&mut neighbors)?;
        table.neighbors = neighbors.pop();
    }
    if let Some(from) = recipe.subset.as_mut().and_then(|subset| subset.from.as_mut()) {
        *from = parent_dataset(&recipe_dir.join(&from), dir)?;
    }
    stages::build::resolve(recipe)
}

/// A model as a dataset names it: the id of a hub model, or a directory relative to the dataset,
/// which begins with a dot then.
///
/// # Errors
///
/// If it is a directory that is not there.
pub fn model(model: &str, from: &Path, dir: &Path) -> Result<String, PipelineError> {
    let path = from.join(model);
    if !stages::model::is_directory(model) && !path.is_dir() {
        return Ok(model.to_owned());
    }
    let path = paths::relative(&path, dir)?;
    let text = path.to_str().expect("checked to be UTF-8");
    Ok(if path.is_absolute() || text.starts_with('.') { text.into() } else { format!("./{text}") })
}

/// Source files or patterns, relative to `from`, in numeric order and relative to the dataset.
///
/// # Errors
///
/// If one is missing, a pattern matches nothing, or one is a file that vprep itself makes there.
pub fn source_files(
    files: &[PathBuf],
    from: &Path,
    dir: &Path,
) -> Result<Vec<PathBuf>, PipelineError> {
    let own = dataset::outputs_in(dir)?;
    if paths::relative(from, dir).is_ok_and(|path| path.as_os_str().is_empty())
        && files.iter().all(|file| !dir.join(file).exists())
    {
        // A dataset.toml names the files themselves. They may be gone: what was made of them
        // stands until something needs them again.
        return Ok(files.to_vec());
    }
    let relative = |file: &PathBuf| {
        let path = paths::relative(file, dir)?;
        match own.iter().any(|output| path == Path::new(output)) {
            true => Err(PipelineError::OwnSource { path: file.clone() }),
            false => Ok(path),
        }
    };
    expand(files, from)?.iter().map(relative).collect()
}

/// The directory of a parent, relative to the dataset.
///
/// # Errors
///
/// If it is no dataset, or the dataset itself.
pub fn parent_dataset(parent: &Path, dir: &Path) -> Result<PathBuf, PipelineError> {
    read_dataset(parent)?;
    let path = paths::relative(parent, dir)?;
    if path.as_os_str().is_empty() {
        return Err(PipelineError::OwnParent { path: dir.to_owned() });
    }
    Ok(path)
}
