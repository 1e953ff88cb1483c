//! Vectors as FAISS gets them.

use rayon::prelude::*;
use std::borrow::Cow;
use vprep_core::{MatrixView, norm, sample::Sample};

/// Fewer training vectors per centroid place it badly, and FAISS warns about them on stderr
/// (`ClusteringParameters::min_points_per_centroid`).
pub(crate) const LEAST_PER_CENTROID: usize = 39;

/// Seed of the rows that k-means sees: FAISS's own (`ClusteringParameters::seed`).
const SEED: u64 = 1234;

/// The vectors, scaled to unit length if need be; zero vectors stay zero.
pub(crate) fn prepared(vectors: MatrixView<'_>, normalise: bool) -> Cow<'_, [f32]> {
    if !normalise {
        return Cow::Borrowed(vectors.data());
    }
    let mut scaled = Vec::with_capacity(vectors.data().len());
    for vector in vectors.iter() {
        let norm = norm(vector);
        let divisor = if norm == 0.0 { 1.0 } else { norm };
        scaled.extend(vector.iter().map(|&x| (f64::from(x) / divisor) as f32));
    }
    Cow::Owned(scaled)
}

/// The vectors from which k-means finds `centroids`: all rows or a sample of at most `most` per
/// centroid, and small bases repeated until there are as many as FAISS wants, which moves no
/// centroid.
pub(crate) fn training(
    base: MatrixView<'_>,
    normalise: bool,
    centroids: usize,
    most: usize,
) -> Vec<f32> {
    let rows = base.rows();
    let take = rows.min(centroids * most);
    let wanted = take.max(centroids * LEAST_PER_CENTROID) * base.dim();
    let mut data = Vec::with_capacity(wanted);
    for row in Sample::new(SEED, rows as u64, take as u64).rows() {
        let row = row as usize;
        data.extend_from_slice(&prepared(base.slice(row..row + 1), normalise));
    }
    let once = data.len();
    while data.len() < wanted {
        data.extend_from_within(..once.min(wanted - data.len()));
    }
    data
}

/// The first row with a value that is NaN or infinite.
pub(crate) fn not_finite(base: MatrixView<'_>) -> Option<usize> {
    let at = base.data().par_iter().position_first(|x| !x.is_finite());
    at.map(|at| at / base.dim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_vectors_stay_zero_and_others_get_unit_length() {
        let data = [3.0, 4.0, 0.0, 0.0, -0.5, 0.0];
        let view = MatrixView::new(&data, 2);
        assert_eq!(*prepared(view, true), [0.6, 0.8, 0.0, 0.0, -1.0, 0.0]);
        assert_eq!(*prepared(view, false), data);
    }

    #[test]
    fn small_bases_are_repeated_and_large_ones_sampled() {
        let data: Vec<f32> = (0..200u8).map(f32::from).collect();
        let base = MatrixView::new(&data, 2);
        let few = training(base.slice(0..3), false, 2, 64);
        assert_eq!(few.len(), 2 * 39 * 2);
        assert!(few.iter().copied().eq((0..6u8).map(f32::from).cycle().take(156)));
        let some = training(base, false, 1, 40);
        assert_eq!(some.len(), 40 * 2);
        assert!(some.chunks(2).all(|row| row[1] == row[0] + 1.0));
        assert!(some.chunks(2).is_sorted_by(|a, b| a[0] < b[0]));
    }

    #[test]
    fn the_row_of_a_nan_is_told() {
        assert_eq!(not_finite(MatrixView::new(&[1.0, 2.0, 3.0, f32::NAN], 2)), Some(1));
        assert_eq!(not_finite(MatrixView::new(&[1.0, 2.0], 2)), None);
    }
}
