//! Stopping in the middle.

use crate::{DIM, spec, vectors};
use vprep_core::MatrixView;
use vprep_store::conformance::stopping;
use vprep_store_duckdb::DuckdbStore;

#[test]
fn building_and_searching_stop_in_the_middle() {
    let data = vectors(20_000);
    let base = MatrixView::new(&data, DIM);
    let (store, scratch) = (DuckdbStore::new(), tempfile::tempdir().unwrap());
    // While rows are copied, and while the index is built.
    stopping(&store, scratch.path(), base, &spec(&[]), &[1, 6]);
}
