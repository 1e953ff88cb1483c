//! Asking the index.

use crate::table::{ROW, VECTOR, distance};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use futures_util::TryStreamExt;
use lancedb::Table;
use lancedb::query::{ExecutableQuery, QueryBase, Select, VectorQuery};
use vprep_core::Metric;

/// The column that LanceDB adds to answers.
const DISTANCE: &str = "_distance";

/// A query for the `k` nearest rows, with `ef` candidates in the only partition. It is answered by
/// the index or not at all.
pub(crate) fn nearest(
    table: &Table,
    vector: &[f32],
    metric: Metric,
    k: usize,
    ef: usize,
) -> lancedb::Result<VectorQuery> {
    let query = table.query().nearest_to(vector)?.column(VECTOR).distance_type(distance(metric));
    Ok(query.nprobes(1)?.ef(ef).limit(k).fast_search().select(Select::columns(&[ROW, DISTANCE])))
}

/// The rows that a query finds.
pub(crate) async fn rows(query: VectorQuery) -> lancedb::Result<Vec<i64>> {
    let batches: Vec<_> = query.execute().await?.try_collect().await?;
    let mut rows = Vec::new();
    for batch in batches {
        let column = batch.column_by_name(ROW).and_then(|c| c.as_primitive_opt::<Int64Type>());
        let column = column.ok_or_else(|| lancedb::Error::Runtime {
            message: format!("answers without the column {ROW} of int64"),
        })?;
        rows.extend_from_slice(column.values());
    }
    Ok(rows)
}
