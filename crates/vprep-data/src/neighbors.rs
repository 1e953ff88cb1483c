//! Neighbours as VectorDBBench publishes them: a parquet file with the columns `id` (of the query)
//! and `neighbors_id` (a list of ids of the base, best first).

use crate::{DataError, read_table};
use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type};
use std::path::Path;
use std::sync::Arc;
use vprep_core::Progress;

/// The neighbours that a file names for one query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedNeighbors {
    /// The query's id.
    pub query: i64,
    /// Ids of the base, best first.
    pub ids: Vec<i64>,
}

/// Reads a whole file of published neighbours.
///
/// # Errors
///
/// If it cannot be read, or lacks one of the columns, or one is of another type or holds nulls.
pub fn read_neighbors(
    path: &Path,
    progress: &dyn Progress,
) -> Result<Vec<PublishedNeighbors>, DataError> {
    let lists = DataType::List(Arc::new(Field::new_list_field(DataType::Int64, true)));
    let mut all = Vec::new();
    read_table(path, progress, |batch, _| {
        let column = |name: &str, kind: &DataType| {
            let column = batch.column_by_name(name).and_then(|column| cast(column, kind).ok());
            column.filter(|column| column.null_count() == 0).ok_or_else(|| {
                DataError::malformed(path, format!("no whole column `{name}` of type {kind}"))
            })
        };
        let queries = column("id", &DataType::Int64)?;
        let lists = column("neighbors_id", &lists)?;
        for (query, list) in
            queries.as_primitive::<Int64Type>().values().iter().zip(lists.as_list::<i32>().iter())
        {
            let list = list.expect("no list is null");
            let ids = list.as_primitive::<Int64Type>();
            if ids.null_count() > 0 {
                let problem = format!("query {query} has a neighbour without an id");
                return Err(DataError::malformed(path, problem));
            }
            all.push(PublishedNeighbors { query: *query, ids: ids.values().to_vec() });
        }
        Ok(())
    })?;
    Ok(all)
}
