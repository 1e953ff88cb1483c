//! `.parquet`: a column of lists, an id, and other columns.
//!
//! The types are those of the parquet schema; the Arrow schema that some writers add is ignored,
//! so that a table reads the same whoever wrote it: strings, not large strings or dictionaries;
//! lists, not large or fixed-size lists.
//!
//! Memory holds one batch, and for each column one page, about 1 MB as most writers cut them; it
//! does not grow with row groups.

use super::batch::{Batch, Ids, batch_rows};
use super::columns::{Choice, id_type};
use super::convert::{append_f16, append_f64, overflows, rows_where};
use super::reader::{Layout, Opened, Source};
use super::{Format, IdType, MAX_DIM, Problem, ReadOptions};
use crate::guard::guard;
use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Field, Fields, Float16Type, Float32Type, Float64Type, Int8Type, Int64Type, UInt8Type,
};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;
use vprep_core::RowList;

const MAGIC: &[u8] = b"PAR1";

/// Columns are indices into the batches that are read.
struct Table {
    batches: ParquetRecordBatchReader,
    dim: usize,
    vector: usize,
    id: Option<usize>,
    kept: Vec<usize>,
}

pub(super) fn open(mut file: File, size: u64, options: &ReadOptions) -> Opened {
    check_magic(&mut file, size)?;
    guard(damaged, || open_table(&file, options))
}

fn open_table(file: &File, options: &ReadOptions) -> Opened {
    let arrow_options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata =
        ArrowReaderMetadata::load(file, arrow_options).map_err(|e| Problem::parquet(&e))?;
    let fields = metadata.schema().fields();
    let choice = Choice::new(fields, options)?;
    let rows = count_rows(&metadata)?;
    let dim = first_length(file, &metadata, choice.vector)?;

    let mut read: Vec<usize> = choice.kept.iter().copied().chain(choice.id).collect();
    read.push(choice.vector);
    read.sort_unstable();
    let place = |column: usize| read.binary_search(&column).expect("it is read");
    let source = Table {
        batches: batches(file, &metadata, &read, batch_rows(dim))?,
        dim,
        vector: place(choice.vector),
        id: choice.id.map(place),
        kept: choice.kept.iter().map(|&column| place(column)).collect(),
    };
    let layout = Layout {
        rows,
        dim,
        ids: choice.id.map_or(IdType::RowNumber, |id| {
            id_type(fields[id].data_type()).expect("the choice is of ids")
        }),
        columns: choice.kept.iter().map(|&column| plain_field(&fields[column])).collect(),
        left_out: names(fields, &choice.left_out),
    };
    Ok((layout, Box::new(source)))
}

/// Tells other files and cut ones apart, which the library calls by one name.
fn check_magic(file: &mut File, size: u64) -> Result<(), Problem> {
    let mut magic = [0; MAGIC.len()];
    if size < MAGIC.len() as u64 {
        return Err(Problem::NotParquet);
    }
    file.read_exact(&mut magic).map_err(Problem::io("read"))?;
    if magic != MAGIC {
        return Err(Problem::NotParquet);
    }
    file.seek(SeekFrom::End(-(MAGIC.len() as i64)))
        .and_then(|_| file.read_exact(&mut magic))
        .map_err(Problem::io("read"))?;
    // An encrypted footer has its own mark, and its own error.
    if (magic != MAGIC && magic != *b"PARE") || size < 12 {
        return Err(Problem::ParquetCut);
    }
    Ok(())
}

fn count_rows(metadata: &ArrowReaderMetadata) -> Result<u64, Problem> {
    let metadata = metadata.metadata();
    let mut groups = metadata.row_groups().iter();
    let found = groups.try_fold(0u64, |sum, group| {
        u64::try_from(group.num_rows()).ok().and_then(|rows| sum.checked_add(rows))
    });
    let expected = u64::try_from(metadata.file_metadata().num_rows()).ok();
    match (expected, found) {
        (Some(0), Some(0)) => Err(Problem::Empty { rows: 0, dim: 0 }),
        (Some(expected), Some(found)) if expected == found => Ok(found),
        (Some(expected), Some(found)) => Err(Problem::RowCount { expected, found }),
        _ => Err(Problem::Parquet { message: "its row counts are negative".to_owned() }),
    }
}

/// Reads the columns at `columns` of the schema, ascending, in batches of `rows`.
fn batches(
    file: &File,
    metadata: &ArrowReaderMetadata,
    columns: &[usize],
    rows: usize,
) -> Result<ParquetRecordBatchReader, Problem> {
    let file = file.try_clone().map_err(Problem::io("read"))?;
    let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.iter().copied());
    ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
        .with_projection(mask)
        .with_batch_size(rows)
        .build()
        .map_err(|error| Problem::parquet(&error))
}

/// The length of the vector in row 0.
fn first_length(
    file: &File,
    metadata: &ArrowReaderMetadata,
    vector: usize,
) -> Result<usize, Problem> {
    let expected = 1;
    let Some(batch) = batches(file, metadata, &[vector], 1)?.next() else {
        return Err(Problem::RowCount { expected, found: 0 });
    };
    let batch = batch.map_err(|error| Problem::parquet(&error))?;
    let list = as_list(batch.column(0));
    if list.is_null(0) {
        return Err(Problem::NullVector { rows: [0].into_iter().collect() });
    }
    match list.value_length(0) as u64 {
        0 => Err(Problem::EmptyVector { row: 0 }),
        dim if dim > MAX_DIM => Err(Problem::Dimension { format: Format::Parquet, dim }),
        dim => Ok(dim as usize),
    }
}

impl Source for Table {
    fn next(&mut self, first_row: u64) -> Result<Option<Batch>, Problem> {
        let next = || self.batches.next().transpose().map_err(|e| Problem::parquet(&e));
        let batch = guard(damaged, next)?;
        let Some(batch) = batch else { return Ok(None) };
        let vectors = vectors(as_list(batch.column(self.vector)), self.dim, first_row)?;
        let ids = match self.id {
            Some(id) => ids(batch.column(id), batch.schema_ref().field(id).name(), first_row)?,
            None => Ids::RowNumber,
        };
        let columns = self.kept.iter().map(|&column| batch.column(column).clone()).collect();
        Ok(Some(Batch { first_row, rows: batch.num_rows(), vectors, ids, columns }))
    }
}

fn as_list(column: &ArrayRef) -> &ListArray {
    column.as_list_opt().expect("the choice is of lists")
}

/// The values of a column of vectors, each of which must be whole and have `dim` of them.
fn vectors(list: &ListArray, dim: usize, first_row: u64) -> Result<Vec<f32>, Problem> {
    if let Some(nulls) = list.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        return Err(Problem::NullVector { rows: null_rows(&nulls, 1, first_row) });
    }
    let offsets = list.value_offsets();
    for (row, bounds) in (first_row..).zip(offsets.windows(2)) {
        match bounds[1] - bounds[0] {
            0 => return Err(Problem::EmptyVector { row }),
            length if length as usize == dim => {}
            length => {
                let (length, expected) = (i64::from(length), dim as u64);
                return Err(Problem::Ragged { row, length, expected });
            }
        }
    }
    let start = offsets[0] as usize;
    let values = list.values().slice(start, list.len() * dim);
    if let Some(nulls) = values.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        return Err(Problem::NullValue { rows: null_rows(&nulls, dim, first_row) });
    }
    let mut out = Vec::with_capacity(values.len());
    match values.data_type() {
        DataType::Float32 => out.extend_from_slice(values.as_primitive::<Float32Type>().values()),
        DataType::Float16 => append_f16(values.as_primitive::<Float16Type>().values(), &mut out),
        DataType::Int8 => {
            out.extend(values.as_primitive::<Int8Type>().values().iter().map(|&v| f32::from(v)));
        }
        DataType::UInt8 => {
            out.extend(values.as_primitive::<UInt8Type>().values().iter().map(|&v| f32::from(v)));
        }
        DataType::Float64 => {
            let values = values.as_primitive::<Float64Type>().values();
            if !append_f64(values.iter().copied(), &mut out) {
                let rows = rows_where(values, dim, first_row, |&value| overflows(value));
                return Err(Problem::Overflow { rows });
            }
        }
        other => unreachable!("the choice is of vectors, not of lists of {other}"),
    }
    Ok(out)
}

fn ids(column: &ArrayRef, name: &str, first_row: u64) -> Result<Ids, Problem> {
    if let Some(nulls) = column.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        let rows = null_rows(&nulls, 1, first_row);
        return Err(Problem::NullId { rows, column: name.to_owned() });
    }
    if let Some(text) = column.as_string_opt() {
        return Ok(Ids::Text(text.clone()));
    }
    // An integer that does not fit becomes null.
    let numbers = cast(column, &DataType::Int64).map_err(|error| Problem::parquet(&error))?;
    if let Some(nulls) = numbers.nulls().filter(|nulls| nulls.null_count() > 0) {
        let rows = null_rows(nulls, 1, first_row);
        return Err(Problem::IdRange { rows, column: name.to_owned() });
    }
    Ok(Ids::Int(numbers.as_primitive::<Int64Type>().values().to_vec()))
}

/// The rows of `width` values each that hold a null.
fn null_rows(nulls: &NullBuffer, width: usize, first_row: u64) -> RowList {
    let valid: Vec<bool> = nulls.iter().collect();
    rows_where(&valid, width, first_row, |valid| !valid)
}

/// The error for a file on which the library stumbled.
fn damaged(message: String) -> Problem {
    Problem::Parquet { message }
}

/// A column's name and type without what its writer added, so that files that agree in both agree.
fn plain_field(field: &Field) -> Arc<Field> {
    Arc::new(Field::new(field.name(), field.data_type().clone(), true))
}

fn names(fields: &Fields, columns: &[usize]) -> Vec<String> {
    columns.iter().map(|&column| fields[column].name().clone()).collect()
}
