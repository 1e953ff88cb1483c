//! What LanceDB says about a table and its index, against what they should be.

use crate::table::{INDEX, VECTOR};
use crate::{EF_CONSTRUCTION, M, query};
use lancedb::Table;
use lancedb::index::IndexType;
use lancedb::query::ExecutableQuery;
use serde_json::Value;
use vprep_core::Metric;
use vprep_store::IndexFacts;

/// The node of a query plan that searches the graph of a partition.
const INDEX_SEARCH: &str = "ANNSubIndex";

/// Finds out whether `table` holds the rows of `facts`, all of them indexed as `facts` say, and
/// whether a query is answered by the index. Gives what is wrong.
pub(crate) async fn problem(table: &Table, facts: &IndexFacts) -> lancedb::Result<Option<String>> {
    let rows = table.count_rows(None).await?;
    if rows as u64 != facts.rows {
        return Ok(Some(format!("the table holds {rows} rows, not {}", facts.rows)));
    }
    let indexes = table.list_indices().await?;
    let [index] = indexes.as_slice() else {
        return Ok(Some(format!("the table has {} indexes, not one", indexes.len())));
    };
    if index.name != INDEX || index.columns != [VECTOR] {
        return Ok(Some(format!("the index {} is on {:?}", index.name, index.columns)));
    }
    if index.index_type != IndexType::IvfHnswFlat {
        return Ok(Some(format!("the index is {}, not IVF_HNSW_FLAT", index.index_type)));
    }
    if (index.num_indexed_rows, index.num_unindexed_rows) != (Some(facts.rows), Some(0)) {
        let indexed = index.num_indexed_rows.unwrap_or_default();
        return Ok(Some(format!("{indexed} of {rows} rows are indexed")));
    }
    let details = index.index_details.as_deref().unwrap_or_default();
    if !agrees(details, facts) {
        return Ok(Some(format!("metric or parameters differ from index.json: {details}")));
    }
    let any = vec![1.0; facts.dim as usize];
    let plan = query::nearest(table, &any, facts.metric, 1, 1)?.explain_plan(false).await?;
    Ok((!plan.contains(INDEX_SEARCH)).then(|| format!("the index is not used: {plan}")))
}

/// Whether an index described by `details` (JSON of Lance) has the metric and parameters of
/// `facts`.
fn agrees(details: &str, facts: &IndexFacts) -> bool {
    let Ok(details) = serde_json::from_str::<Value>(details) else { return false };
    let number = |pointer| details.pointer(pointer).and_then(Value::as_u64);
    let parameter = |name: &str| facts.parameters.get(name).copied().map(u64::from);
    let metric = match facts.metric {
        Metric::Cosine => "COSINE",
        Metric::Ip => "DOT",
        Metric::L2 => "L2",
    };
    details["metric_type"].as_str() == Some(metric)
        && number("/hnsw/max_connections") == parameter(M)
        && number("/hnsw/construction_ef") == parameter(EF_CONSTRUCTION)
}
