//! `.parquet`: a row is a row.

use super::columns::{Columns, joined};
use super::{IdType, Ids, Problem, Source, TextOptions};
use crate::guard::guard;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use std::fs::File;
use std::path::Path;
use vprep_core::RowList;

const ROWS: usize = 2_048;

struct Table {
    batches: ParquetRecordBatchReader,
    text: String,
    id: Option<String>,
    title: Option<String>,
    ids: IdType,
    rows: u64,
    /// Rows in all and bytes in all, to tell how far it is.
    total: u64,
    size: u64,
}

pub(super) fn open(
    path: &Path,
    options: &TextOptions,
) -> Result<(IdType, Box<dyn Source>), Problem> {
    let file = File::open(path).map_err(Problem::io("open"))?;
    let metadata = file.metadata().map_err(Problem::io("read"))?;
    if metadata.is_dir() {
        return Err(Problem::Directory { path: path.to_owned() });
    }
    guard(damaged, || open_table(file, metadata.len(), options))
}

fn open_table(
    file: File,
    size: u64,
    options: &TextOptions,
) -> Result<(IdType, Box<dyn Source>), Problem> {
    let arrow_options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata =
        ArrowReaderMetadata::load(&file, arrow_options).map_err(|e| Problem::parquet(&e))?;
    let fields = metadata.schema().fields();
    let usable: Vec<usize> = (0..fields.len())
        .filter(|&i| {
            let kind = fields[i].data_type();
            matches!(kind, DataType::Utf8) || kind.is_integer()
        })
        .collect();
    let names: Vec<&str> = usable.iter().map(|&i| fields[i].name().as_str()).collect();
    let columns = Columns::choose(&names, options)?;
    let is_text = |place: usize| *fields[usable[place]].data_type() == DataType::Utf8;
    for place in [Some(columns.text), columns.title].into_iter().flatten() {
        if !is_text(place) {
            let found = fields[usable[place]].data_type().to_string();
            return Err(Problem::NotTexts { column: names[place].to_owned(), found });
        }
    }
    let ids = match columns.id {
        None => IdType::RowNumber,
        Some(id) if is_text(id) => IdType::Text,
        Some(_) => IdType::Int,
    };
    let chosen = [Some(columns.text), columns.id, columns.title].into_iter().flatten();
    let mask = ProjectionMask::roots(metadata.parquet_schema(), chosen.map(|place| usable[place]));
    let total = u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
    let name = |place: usize| names[place].to_owned();
    let (text, id, title) = (name(columns.text), columns.id.map(name), columns.title.map(name));
    let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
        .with_projection(mask)
        .with_batch_size(ROWS)
        .build()
        .map_err(|error| Problem::parquet(&error))?;
    Ok((ids, Box::new(Table { batches, text, id, title, ids, rows: 0, total, size })))
}

fn damaged(message: String) -> Problem {
    Problem::Parquet { message }
}

impl Source for Table {
    fn next(&mut self) -> Result<Option<(Vec<String>, Ids)>, Problem> {
        let next = || {
            let batch = self.batches.next().transpose();
            batch.map_err(|error| Problem::Parquet { message: error.to_string() })
        };
        let Some(batch) = guard(damaged, next)? else {
            return match self.rows == self.total {
                true => Ok(None),
                false => Err(Problem::RowCount { expected: self.total, found: self.rows }),
            };
        };
        let column = |name: &str| column(&batch, name, self.rows);
        let texts = column(&self.text)?;
        let texts: &StringArray = texts.as_string();
        let titles = self.title.as_deref().and_then(|name| batch.column_by_name(name));
        let titles = titles.map(|titles| titles.as_string::<i32>());
        let title = |row: usize| {
            titles.filter(|titles| titles.is_valid(row)).map(|titles| titles.value(row))
        };
        let rows = (0..texts.len()).map(|row| joined(title(row), texts.value(row))).collect();
        let ids = match (&self.id, self.ids) {
            (Some(id), IdType::Text) => Ids::Text(column(id)?.as_string::<i32>().clone()),
            (Some(id), _) => {
                let found = cast(&column(id)?, &DataType::Int64)
                    .map_err(|error| Problem::Parquet { message: error.to_string() })?;
                Ids::Int(found.as_primitive::<Int64Type>().values().to_vec())
            }
            _ => Ids::RowNumber,
        };
        self.rows += batch.num_rows() as u64;
        Ok(Some((rows, ids)))
    }

    fn bytes_read(&self) -> u64 {
        (u128::from(self.size) * u128::from(self.rows) / u128::from(self.total.max(1))) as u64
    }
}

/// A column without nulls.
fn column(batch: &RecordBatch, name: &str, first: u64) -> Result<ArrayRef, Problem> {
    let column = batch.column_by_name(name).expect("it is read").clone();
    if column.null_count() == 0 {
        return Ok(column);
    }
    let mut rows = RowList::default();
    let nulls = (first..).zip(0..column.len()).filter(|(_, place)| column.is_null(*place));
    nulls.for_each(|(row, _)| rows.push(row));
    Err(Problem::NullText { rows, column: name.to_owned() })
}
