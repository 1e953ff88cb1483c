//! Passes over whole matrices: norms, unit length, duplicates.

use rayon::prelude::*;
use std::collections::HashSet;
use vprep_core::{Interrupted, MatrixView, Progress, RowList, is_unit, norm};
use vprep_manifest::NormStats;
use xxhash_rust::xxh3::xxh3_128;

/// Norms and the rows that have none to speak of.
#[derive(Debug)]
pub(crate) struct Norms {
    pub(crate) stats: NormStats,
    /// All-zero rows.
    pub(crate) zero: RowList,
    /// Rows with NaN or infinity.
    pub(crate) non_finite: RowList,
    /// Whether every row that is not zero is unit length.
    pub(crate) unit: bool,
}

/// Looks at every row's norm, block by block. The sums are in row order, whatever the threads.
pub(crate) fn norms<'a>(
    blocks: impl Iterator<Item = MatrixView<'a>>,
    progress: &dyn Progress,
) -> Result<Norms, Interrupted> {
    let mut stats = NormStats { rows: 0, zero: 0, min: f64::INFINITY, mean: 0.0, max: 0.0 };
    let (mut zero, mut non_finite, mut unit) = (RowList::default(), RowList::default(), true);
    for block in blocks {
        progress.check()?;
        let norms: Vec<f64> =
            block.data().par_chunks_exact(block.dim()).with_min_len(64).map(norm).collect();
        for (row, norm) in (stats.rows..).zip(norms) {
            if !norm.is_finite() {
                non_finite.push(row);
            } else if norm == 0.0 {
                zero.push(row);
            }
            unit &= norm == 0.0 || is_unit(norm);
            stats.min = stats.min.min(norm);
            stats.max = stats.max.max(norm);
            stats.mean += norm;
        }
        stats.rows += block.rows() as u64;
    }
    stats.zero = zero.total();
    stats.mean /= stats.rows as f64;
    Ok(Norms { stats, zero, non_finite, unit })
}

/// Counts the rows that repeat an earlier row bit for bit, by a 128-bit hash of each.
pub(crate) fn duplicates<'a>(
    blocks: impl Iterator<Item = MatrixView<'a>>,
    progress: &dyn Progress,
) -> Result<u64, Interrupted> {
    let mut seen = HashSet::new();
    let mut repeated = 0;
    for block in blocks {
        progress.check()?;
        let hash = |row: &[f32]| {
            let mut bytes = Vec::with_capacity(row.len() * 4);
            row.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
            xxh3_128(&bytes)
        };
        let hashes: Vec<u128> =
            block.data().par_chunks_exact(block.dim()).with_min_len(64).map(hash).collect();
        repeated += hashes.into_iter().filter(|&hash| !seen.insert(hash)).count() as u64;
    }
    Ok(repeated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vprep_core::Silent;

    #[test]
    fn norms_and_duplicates_of_a_small_matrix() {
        let data = [3.0, 4.0, 0.0, 0.0, 3.0, 4.0, 1.0, 0.0, f32::NAN, 1.0];
        let matrix = MatrixView::new(&data, 2);
        let norms = norms(std::iter::once(matrix), &Silent).expect("not interrupted");
        assert_eq!(norms.zero.to_string(), "row 1");
        assert_eq!(norms.non_finite.to_string(), "row 4");
        assert_eq!(norms.stats.max, 5.0);
        assert!(!norms.unit);
        assert_eq!(duplicates(std::iter::once(matrix), &Silent).expect("not interrupted"), 1);
    }
}
