//! Passes over whole matrices: norms, unit length, duplicates.

use rayon::prelude::*;
use std::collections::HashMap;
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

/// How often each row occurs, by a 128-bit hash of its bits.
pub(crate) struct Occurrences(HashMap<u128, u64>);

impl Occurrences {
    /// Rows that repeat an earlier row.
    pub(crate) fn repeated(&self) -> u64 {
        self.0.values().map(|n| n - 1).sum()
    }

    /// Different rows that occur more than once.
    pub(crate) fn groups(&self) -> u64 {
        self.0.values().filter(|&&n| n > 1).count() as u64
    }

    /// Rows that are alike, at most; 0 if there are no rows.
    pub(crate) fn largest(&self) -> u64 {
        self.0.values().copied().max().unwrap_or(0)
    }

    /// Rows of `other`, each counted as often as it occurs there, that occur here too.
    pub(crate) fn shared(&self, other: &Self) -> u64 {
        let here = |(hash, n): (&u128, &u64)| if self.0.contains_key(hash) { *n } else { 0 };
        other.0.iter().map(here).sum()
    }
}

/// Counts how often each row occurs, bit for bit.
pub(crate) fn occurrences<'a>(
    blocks: impl Iterator<Item = MatrixView<'a>>,
    progress: &dyn Progress,
) -> Result<Occurrences, Interrupted> {
    let mut seen = HashMap::new();
    for block in blocks {
        progress.check()?;
        let hash = |row: &[f32]| {
            let mut bytes = Vec::with_capacity(row.len() * 4);
            row.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
            xxh3_128(&bytes)
        };
        let hashes: Vec<u128> =
            block.data().par_chunks_exact(block.dim()).with_min_len(64).map(hash).collect();
        for hash in hashes {
            *seen.entry(hash).or_insert(0) += 1;
        }
    }
    Ok(Occurrences(seen))
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
        let count =
            |matrix| occurrences(std::iter::once(matrix), &Silent).expect("not interrupted");
        let all = count(matrix);
        assert_eq!((all.repeated(), all.groups(), all.largest()), (1, 1, 2));
        let other = count(MatrixView::new(&[3.0, 4.0, 3.0, 4.0, 9.0, 9.0], 2));
        assert_eq!((all.shared(&other), other.shared(&all)), (2, 2));
        assert_eq!(count(MatrixView::new(&[], 2)).largest(), 0);
    }
}
