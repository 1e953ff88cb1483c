//! Which centroids a row is nearest to, found exactly.

use vprep_core::{MatrixView, Metric, Progress, Silent, Task};
use vprep_knn::{Exact, KnnError};
use vprep_store::StoreError;

/// The `nearest` nearest centroids of each row, best first, equal ones by number: `rows x nearest`
/// numbers, the same whatever the threads. `between` is the metric between rows and centroids, and
/// `task` advances by one for each row.
///
/// # Errors
///
/// If a row has NaN or infinity, or the user stops the work.
pub(crate) fn nearest(
    store: &'static str,
    centroids: MatrixView<'_>,
    between: Metric,
    rows: MatrixView<'_>,
    nearest: usize,
    progress: &dyn Progress,
    task: &dyn Task,
) -> Result<Vec<u32>, StoreError> {
    let mut numbers = Vec::with_capacity(rows.rows() * nearest);
    let exact = Exact::new(centroids, between).map_err(|e| error(store, &e))?;
    exact
        .search(rows, nearest, &Quiet(progress), |found| {
            task.advance(found.queries.len() as u64);
            numbers.extend(found.rows.iter().map(|&number| number as u32));
            Ok(())
        })
        .map_err(|e| error(store, &e))?;
    Ok(numbers)
}

/// The rows of each of `lists` lists, ascending, where `numbers` names `nearest` lists for each row.
pub(crate) fn lists(numbers: &[u32], nearest: usize, lists: usize) -> Vec<Vec<u32>> {
    let mut rows_of = vec![Vec::new(); lists];
    for (row, numbers) in (0u32..).zip(numbers.chunks_exact(nearest)) {
        numbers.iter().for_each(|&list| rows_of[list as usize].push(row));
    }
    rows_of
}

/// An error of exact search, in the words of stores.
fn error(store: &'static str, error: &KnnError) -> StoreError {
    match *error {
        KnnError::Interrupted(interrupted) => interrupted.into(),
        KnnError::NotFinite { .. } => StoreError::Unsupported { store, problem: error.to_string() },
        _ => StoreError::Engine { store, operation: "clustering", message: error.to_string() },
    }
}

/// Progress whose tasks nobody sees: they are part of a larger one.
struct Quiet<'a>(&'a dyn Progress);

impl Progress for Quiet<'_> {
    fn task(&self, _: &str, _: u64, _: &'static str) -> Box<dyn Task> {
        Box::new(Silent)
    }

    fn is_interrupted(&self) -> bool {
        self.0.is_interrupted()
    }
}
