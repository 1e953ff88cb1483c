//! The rows of a table that relevance judgements call relevant.

use super::grouped;
use crate::PipelineError;
use crate::job::file_name;
use crate::run::Stage;
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use std::collections::HashSet;
use std::path::Path;
use vprep_data::{DataError, ID, content, read_qrels, read_table};
use vprep_manifest::{Judgements, SubsetTable};

/// The rows of the base at `parent` that a subset keeps in any case, ascending, and the files that
/// say so.
pub(crate) fn rows(
    table: &SubsetTable,
    parent: &Path,
    stage: &Stage<'_>,
) -> Result<(Vec<u64>, Vec<Judgements>), PipelineError> {
    let progress = stage.context.progress;
    let mut wanted = HashSet::new();
    let mut files = Vec::new();
    for path in &table.keep_relevant {
        let file = stage.dir.join(path);
        let judged = read_qrels(&file, progress)?;
        wanted.extend(judged.into_iter().filter(|j| j.grade > 0).map(|j| j.document));
        let sha256 = content(&file, progress)?.sha256;
        files.push(Judgements { name: file_name(path), sha256 });
    }
    let mut rows = Vec::new();
    if files.is_empty() {
        return Ok((rows, files));
    }
    let mut found = HashSet::new();
    read_table(parent, progress, |batch, first| {
        visit_ids(&batch, parent, |place, id| {
            if wanted.contains(id) {
                rows.push(first + place as u64);
                found.insert(id.to_owned());
            }
        })
    })?;
    let missing: Vec<&String> = wanted.iter().filter(|id| !found.contains(*id)).collect();
    if let Some(first) = missing.iter().min() {
        let problem = format!(
            "{} of {} documents judged relevant are not in it, such as {first}; the judgements are \
             of another collection",
            grouped(missing.len() as u64),
            grouped(wanted.len() as u64)
        );
        return Err(DataError::Malformed { path: parent.to_owned(), problem }.into());
    }
    Ok((rows, files))
}

/// Calls `visit` with each row's place in the batch and its id as text.
fn visit_ids(
    batch: &RecordBatch,
    path: &Path,
    mut visit: impl FnMut(usize, &str),
) -> Result<(), DataError> {
    let column = batch.column_by_name(ID);
    if let Some(ids) = column.and_then(|column| column.as_string_opt::<i32>()) {
        (0..ids.len()).for_each(|place| visit(place, ids.value(place)));
    } else if let Some(ids) = column.and_then(|column| column.as_primitive_opt::<Int64Type>()) {
        ids.values().iter().enumerate().for_each(|(place, id)| visit(place, &id.to_string()));
    } else {
        let problem = format!("no column `{ID}` of strings or int64");
        return Err(DataError::Malformed { path: path.to_owned(), problem });
    }
    Ok(())
}
