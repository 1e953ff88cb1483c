//! Linking the rows that a build lost.
//!
//! While a row of several layers is being added, usearch links its upper layers before it clears
//! and fills its bottom one. A row added by another thread in between can come down to it, find no
//! way on, link to it alone, and lose that link again when the bottom layer is cleared. No search
//! reaches such a row any more, whatever the knob. A build on 16 threads loses a few rows in a
//! thousand; one on a single thread can lose a row too, when all rows that link to it find closer
//! ones.

use crate::engine;
use vprep_core::{MatrixView, Progress};
use vprep_store::StoreError;

/// Rounds of looking for lost rows. One is enough unless many rows are equal.
const ROUNDS: usize = 8;

/// Takes out every row that cannot be reached and adds it again, now that nothing else is added.
/// Gives up on rows, as hundreds of equal ones, that stay lost.
pub(crate) fn repair(
    store: &'static str,
    index: &usearch::Index,
    base: MatrixView<'_>,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    // What cannot be linked must not cost more than the build.
    let at_most = (base.rows() / 100).max(100);
    let mut before = usize::MAX;
    for _ in 0..ROUNDS {
        let lost = lost_rows(store, index, base.rows(), progress)?;
        if lost.is_empty() || lost.len() >= before {
            break;
        }
        before = lost.len();
        for &row in lost.iter().take(at_most) {
            progress.check()?;
            index.remove(row).map_err(|e| engine(store, "taking a row out", &e))?;
            index
                .add(row, base.row(row as usize))
                .map_err(|e| engine(store, "adding a row", &e))?;
        }
    }
    Ok(())
}

/// The rows that no path of bottom links from a row of the top layer leads to, ascending.
fn lost_rows(
    store: &'static str,
    index: &usearch::Index,
    rows: usize,
    progress: &dyn Progress,
) -> Result<Vec<u64>, StoreError> {
    const CHECK_EVERY: usize = 4_096;
    // The first of those with the most layers.
    let top = (0..rows as u64).rev().max_by_key(|&row| index.level_of_key(row));
    let mut reached = vec![false; rows];
    let mut waiting: Vec<u64> = top.into_iter().collect();
    top.into_iter().for_each(|row| reached[row as usize] = true);
    let mut visited = 0usize;
    while let Some(row) = waiting.pop() {
        visited += 1;
        if visited.is_multiple_of(CHECK_EVERY) {
            progress.check()?;
        }
        for next in index.neighbors(row, 0) {
            let seen = reached.get_mut(next as usize).ok_or_else(|| {
                engine(store, "reading the graph", &"a link to no row of the base")
            })?;
            if !std::mem::replace(seen, true) {
                waiting.push(next);
            }
        }
    }
    Ok((0..rows as u64).filter(|&row| !reached[row as usize]).collect())
}
