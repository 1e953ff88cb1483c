//! `import`: vectors, ids and other columns from files of others.

use super::{Outcome, grouped, sources};
use crate::PipelineError;
use crate::dataset::Side;
use crate::facts::ImportFacts;
use crate::job::file_name;
use crate::paths::tidy;
use crate::run::Stage;
use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use vprep_core::RowList;
use vprep_data::read::{IdType, Ids, Part, ReadOptions, VectorReader, non_finite_rows};
use vprep_data::{ID, KEPT, MappedNpy, NpyWriter, PARENT_ROW, ROW, TableWriter};
use vprep_manifest::ImportTable;

pub(crate) fn run(
    side: Side,
    table: &ImportTable,
    stage: &mut Stage<'_>,
) -> Result<Outcome, PipelineError> {
    let progress = stage.context.progress;
    let options = ReadOptions {
        vector_column: table.vector_column.clone(),
        id_column: table.id_column.clone(),
        part: match side {
            Side::Base => Part::Base,
            Side::Queries => Part::Queries,
        },
    };
    let sources = sources::found(&table.files, stage)?;
    let mut readers = Vec::with_capacity(sources.len());
    for (path, _) in &sources {
        readers.push(VectorReader::open(&tidy(path), &options)?);
    }
    let dim = check(&readers, side, stage)?;
    let rows: u64 = readers.iter().map(VectorReader::rows).sum();

    let vectors = stage.outputs.create(side.vectors())?;
    let mut vectors = NpyWriter::<f32>::new(vectors, rows, dim as u64)?;
    let ids = stage.outputs.create(side.table())?;
    let mut ids = TableWriter::new(ids, fields(&readers[0]))?;
    let task = progress.task("importing", rows, "rows");
    let mut row = 0;
    for reader in &mut readers {
        let mut non_finite = RowList::default();
        while let Some(batch) = reader.next_batch()? {
            progress.check()?;
            task.advance(batch.rows as u64);
            non_finite_rows(&batch.vectors, dim, batch.first_row)
                .for_each(|row| non_finite.push(row));
            if !non_finite.is_empty() {
                // Nothing will come of it; the rest is read to name every such row.
                continue;
            }
            vectors.append(&batch.vectors)?;
            let id: ArrayRef = match batch.ids {
                Ids::RowNumber => {
                    Arc::new(Int64Array::from_iter_values(row..row + batch.rows as i64))
                }
                Ids::Int(ids) => Arc::new(Int64Array::from(ids)),
                Ids::Text(ids) => Arc::new(ids),
            };
            row += batch.rows as i64;
            ids.append(batch.rows, &[vec![id], batch.columns].concat())?;
        }
        if !non_finite.is_empty() {
            let path = reader.path().to_owned();
            return Err(PipelineError::NonFinite { path, rows: non_finite });
        }
    }
    let content = vectors.finish()?;
    stage.outputs.add(side.vectors(), content);
    let content = ids.finish()?;
    stage.outputs.add(side.table(), content);

    let left_out = readers[0].left_out();
    let what = match side {
        Side::Base => "base",
        Side::Queries => "query",
    };
    let mut summary = format!("{} {what} vectors of dim {dim}", grouped(rows));
    summary += &match readers.as_slice() {
        [one] => format!(" from {}", file_name(one.path())),
        more => format!(" from {} files", more.len()),
    };
    if !left_out.is_empty() {
        summary += &format!("; left out: {}", left_out.join(", "));
    }
    let files = sources::described(sources, side.role());
    let facts = ImportFacts { rows, dim: dim as u32, files };
    Ok(Outcome::new(&facts, summary).with_dim(dim))
}

/// Checks that the files agree with one another, with the recipe and with the other side, and
/// returns the dimension.
fn check(readers: &[VectorReader], side: Side, stage: &Stage<'_>) -> Result<usize, PipelineError> {
    let first = &readers[0];
    let dim = first.dim();
    let mismatch = |path: &Path, found, other: &Path, expected| PipelineError::DimensionMismatch {
        path: path.to_owned(),
        found,
        other: other.to_owned(),
        expected,
    };
    for reader in &readers[1..] {
        if reader.dim() != dim {
            return Err(mismatch(reader.path(), reader.dim(), first.path(), dim));
        }
        let columns = |reader: &VectorReader| (reader.ids(), reader.columns().to_vec());
        if columns(reader) != columns(first) {
            let (path, other) = (reader.path().to_owned(), first.path().to_owned());
            let [found, expected] = [reader, first].map(describe);
            return Err(PipelineError::ColumnMismatch { path, found, other, expected });
        }
    }
    let other = stage.dir.join(side.other().vectors());
    if other.exists() {
        let expected = MappedNpy::<f32>::open(&other)?.cols();
        if dim != expected {
            return Err(mismatch(first.path(), dim, &other, expected));
        }
    }
    if let Some(expected) = stage.recipe.dim.filter(|&stated| stated as usize != dim) {
        let path = first.path().to_owned();
        return Err(PipelineError::StatedDimension { path, found: dim, expected });
    }
    let rows: u64 = readers.iter().map(VectorReader::rows).sum();
    if rows > i32::MAX as u64 {
        return Err(PipelineError::TooManyRows { path: first.path().to_owned(), found: rows });
    }
    Ok(dim)
}

/// The columns of a file for people.
fn describe(reader: &VectorReader) -> String {
    let id = match reader.ids() {
        IdType::RowNumber => "no id",
        IdType::Int => "an integer id",
        IdType::Text => "a string id",
    };
    let columns: Vec<_> = reader
        .columns()
        .iter()
        .map(|field| format!("{} ({})", field.name(), field.data_type()))
        .collect();
    if columns.is_empty() { id.to_owned() } else { format!("{id}, {}", columns.join(", ")) }
}

/// The columns of the table: id, then the source's; one whose name is taken, by vprep or by a column
/// before it, gets `source_` in front.
fn fields(reader: &VectorReader) -> Vec<Arc<Field>> {
    let id = match reader.ids() {
        IdType::RowNumber | IdType::Int => DataType::Int64,
        IdType::Text => DataType::Utf8,
    };
    let mut taken: HashSet<String> = [ROW, ID, PARENT_ROW, KEPT].map(str::to_owned).into();
    // A name that no rename needs stays with its owner.
    let names = reader.columns().iter().map(|field| field.name());
    let mut free: HashSet<&String> = names.filter(|name| !taken.contains(*name)).collect();
    let mut fields = vec![Arc::new(Field::new(ID, id, false))];
    for field in reader.columns() {
        let mut name = field.name().clone();
        if !free.remove(&name) {
            while taken.contains(&name) || free.contains(&name) {
                name.insert_str(0, "source_");
            }
        }
        taken.insert(name.clone());
        fields.push(Arc::new(field.as_ref().clone().with_name(name)));
    }
    fields
}
