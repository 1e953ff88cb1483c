//! Writing the base into the table.

use crate::engine::Engine;
use crate::table::{ROW, TABLE, VECTOR};
use crate::{NAME, engine_error, table};
use arrow::array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use lancedb::Table;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use vprep_core::{MatrixView, Metric, Progress};
use vprep_store::StoreError;

/// Values in a batch: 8 MiB of f32.
const BATCH_VALUES: usize = 2 << 20;

/// Refuses a base of which LanceDB would leave rows out, or could not number them.
pub(crate) fn check(
    base: MatrixView<'_>,
    metric: Metric,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    let unsupported = |problem| Err(StoreError::Unsupported { store: NAME, problem });
    if u32::try_from(base.rows()).is_err() {
        return unsupported(
            "a partition numbers rows in 32 bits, and the base has more".to_owned(),
        );
    }
    let mut zero = true;
    for start in (0..base.rows()).step_by(batch_rows(base.dim())) {
        progress.check()?;
        for (row, vector) in (start..).zip(batch(base, start).iter()) {
            if vector.iter().any(|value| !value.is_finite()) {
                return unsupported(format!("NaN or infinity in row {row} of the base"));
            }
            zero &= vector.iter().all(|&value| value == 0.0);
        }
    }
    match (base.rows(), metric, zero) {
        (0, ..) => unsupported("the base has no rows".to_owned()),
        (_, Metric::Cosine, true) => unsupported("every vector is zero".to_owned()),
        _ => Ok(()),
    }
}

/// Creates the table in the database at `place` and writes all rows, batch by batch.
pub(crate) fn fill(
    engine: &Engine,
    base: MatrixView<'_>,
    place: String,
    progress: &dyn Progress,
) -> Result<Table, StoreError> {
    const WRITING: &str = "writing the table";
    let schema = schema(base.dim()).map_err(|e| engine_error(WRITING, &e))?;
    let (sender, receiver) = sync_channel(1);
    let reader: Box<dyn RecordBatchReader + Send> =
        Box::new(RecordBatchIterator::new(receiver, schema.clone()));
    let writing = engine.begin(async move {
        let database = table::connect(&place, 0).await?;
        database.create_table(TABLE, reader).execute().await
    });

    let task = progress.task("filling lancedb", base.rows() as u64, "rows");
    for start in (0..base.rows()).step_by(batch_rows(base.dim())) {
        let vectors = batch(base, start);
        let next = to_arrow(vectors, start, &schema);
        // Nobody listens any more if the engine has failed.
        if progress.check().is_err() || sender.send(next).is_err() {
            break;
        }
        task.advance(vectors.rows() as u64);
    }
    drop(sender);
    // Says why a user's wish or the engine ended it early.
    engine.watch(WRITING, writing, progress)
}

/// Rows of a batch.
fn batch_rows(dim: usize) -> usize {
    (BATCH_VALUES / dim).max(1)
}

/// The rows from `start` on that make one batch.
fn batch(base: MatrixView<'_>, start: usize) -> MatrixView<'_> {
    base.slice(start..base.rows().min(start + batch_rows(base.dim())))
}

/// One row number and `dim` values of f32 for each row.
fn schema(dim: usize) -> Result<SchemaRef, ArrowError> {
    let dim = i32::try_from(dim).map_err(|e| ArrowError::SchemaError(e.to_string()))?;
    let vector = DataType::FixedSizeList(Arc::new(item()), dim);
    let fields = vec![Field::new(ROW, DataType::Int64, false), Field::new(VECTOR, vector, false)];
    Ok(Arc::new(Schema::new(fields)))
}

fn item() -> Field {
    Field::new("item", DataType::Float32, true)
}

fn to_arrow(
    vectors: MatrixView<'_>,
    start: usize,
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let rows = Int64Array::from_iter_values((start as i64..).take(vectors.rows()));
    let values: ArrayRef = Arc::new(Float32Array::from(vectors.data().to_vec()));
    let dim = vectors.dim() as i32;
    let vectors = FixedSizeListArray::try_new(Arc::new(item()), dim, values, None)?;
    RecordBatch::try_new(schema.clone(), vec![Arc::new(rows), Arc::new(vectors)])
}
