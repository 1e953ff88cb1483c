//! `embed`, first half: texts and their ids from the files of others.

use super::{Outcome, grouped, sources};
use crate::PipelineError;
use crate::dataset::Side;
use crate::facts::TextsFacts;
use crate::job::file_name;
use crate::paths::tidy;
use crate::run::Stage;
use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field};
use std::sync::Arc;
use vprep_data::read::{IdType, Ids, TextOptions, TextReader};
use vprep_data::{ID, TEXT, TableWriter};
use vprep_manifest::TextsTable;

pub(crate) fn run(
    side: Side,
    table: &TextsTable,
    stage: &mut Stage<'_>,
) -> Result<Outcome, PipelineError> {
    let progress = stage.context.progress;
    let options = TextOptions {
        text_column: table.text_column.clone(),
        id_column: table.id_column.clone(),
        title_column: table.title_column.clone(),
    };
    let sources = sources::found(&table.texts, stage)?;
    let mut readers = Vec::with_capacity(sources.len());
    for (path, _) in &sources {
        readers.push(TextReader::open(&tidy(path), &options)?);
    }
    let ids = readers[0].ids();
    if let Some(other) = readers.iter().find(|reader| reader.ids() != ids) {
        return Err(PipelineError::ColumnMismatch {
            path: other.path().to_owned(),
            found: kind(other.ids()).to_owned(),
            other: readers[0].path().to_owned(),
            expected: kind(ids).to_owned(),
        });
    }
    let id = match ids {
        IdType::Text => DataType::Utf8,
        IdType::Int | IdType::RowNumber => DataType::Int64,
    };
    let fields = [Field::new(ID, id, false), Field::new(TEXT, DataType::Utf8, false)].map(Arc::new);
    let mut writer = TableWriter::new(stage.outputs.create(side.table())?, fields)?;
    let task = progress.task("reading texts", readers.iter().map(TextReader::size).sum(), "B");
    let (mut rows, mut characters) = (0u64, 0u64);
    for reader in &mut readers {
        let mut seen = 0;
        while let Some(batch) = reader.next_batch()? {
            progress.check()?;
            task.advance(reader.bytes_read() - seen);
            seen = reader.bytes_read();
            let count = batch.texts.len();
            let ids: ArrayRef = match batch.ids {
                Ids::RowNumber => {
                    let numbers = rows as i64..rows as i64 + count as i64;
                    Arc::new(Int64Array::from_iter_values(numbers))
                }
                Ids::Int(ids) => Arc::new(Int64Array::from(ids)),
                Ids::Text(ids) => Arc::new(ids),
            };
            rows += count as u64;
            characters += batch.texts.iter().map(|text| text.len() as u64).sum::<u64>();
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values(batch.texts));
            writer.append(count, &[ids, texts])?;
        }
    }
    if rows > i32::MAX as u64 {
        return Err(PipelineError::TooManyRows { path: readers[0].path().to_owned(), found: rows });
    }
    let content = writer.finish()?;
    stage.outputs.add(side.table(), content);
    let mut summary = format!("{} texts of {} bytes", grouped(rows), grouped(characters));
    summary += &match readers.as_slice() {
        [one] => format!(" from {}", file_name(one.path())),
        more => format!(" from {} files", more.len()),
    };
    let facts = TextsFacts { rows, files: sources::described(sources, side.role()) };
    Ok(Outcome::new(&facts, summary))
}

fn kind(ids: IdType) -> &'static str {
    match ids {
        IdType::RowNumber => "no id",
        IdType::Int => "an integer id",
        IdType::Text => "a string id",
    }
}
