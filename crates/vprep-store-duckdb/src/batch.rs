//! Vectors on their way into a table.

use crate::engine;
use duckdb::Appender;
use duckdb::arrow::array::{FixedSizeListArray, Float32Array, Int64Array};
use duckdb::arrow::datatypes::{DataType, Field, Schema};
use duckdb::arrow::error::ArrowError;
use duckdb::arrow::record_batch::RecordBatch;
use std::sync::Arc;
use vprep_core::MatrixView;
use vprep_store::StoreError;

/// Appends vectors, numbered from `first` on, to a table of a BIGINT and a FLOAT\[dim\].
pub(crate) fn append(
    appender: &mut Appender<'_>,
    vectors: MatrixView<'_>,
    first: usize,
) -> Result<(), StoreError> {
    let batch = record_batch(vectors, first as i64).map_err(|e| engine("copying rows", &e))?;
    appender.append_record_batch(batch).map_err(|e| engine("copying rows", &e))
}

fn record_batch(vectors: MatrixView<'_>, first: i64) -> Result<RecordBatch, ArrowError> {
    let numbers = Int64Array::from_iter_values(first..first + vectors.rows() as i64);
    let values = Float32Array::from(vectors.data().to_vec());
    let item = Arc::new(Field::new_list_field(DataType::Float32, false));
    // The table has been made with this dimension, so it is a small number.
    let dim = i32::try_from(vectors.dim()).unwrap_or(i32::MAX);
    let lists = FixedSizeListArray::try_new(Arc::clone(&item), dim, Arc::new(values), None)?;
    let schema = Schema::new(vec![
        Field::new("number", DataType::Int64, false),
        Field::new("vector", DataType::FixedSizeList(item, dim), false),
    ]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(numbers), Arc::new(lists)])
}
