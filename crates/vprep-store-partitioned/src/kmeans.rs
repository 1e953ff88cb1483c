//! K-means centroids, the same whatever the threads.

use crate::assign::{lists, nearest};
use crate::geometry::{between, mean, normalize};
use rayon::prelude::*;
use vprep_core::sample::Sample;
use vprep_core::{MatrixView, Metric, Progress, Silent};
use vprep_store::StoreError;

/// Rows for each centroid that are enough to train on, and the fewest that make sense:
/// `max_points_per_centroid` and `min_points_per_centroid` of FAISS's `ClusteringParameters`.
const MOST_ROWS: usize = 256;
const LEAST_ROWS: usize = 39;

/// Rounds at most; `niter` of FAISS's `ClusteringParameters`.
const ROUNDS: u64 = 25;

/// Draws the rows to train on, and from them those to start from.
const SEED: u64 = 0x7661_7065_7270;

/// A split moves two centroids apart by this part of their values, as in FAISS's `Clustering`.
const SPLIT: f32 = 1.0 / 1024.0;

/// How many centroids `rows` rows allow where `asked` are asked for.
pub(crate) fn allowed(asked: u32, rows: usize) -> usize {
    (asked as usize).min(rows / LEAST_ROWS).max(1)
}

/// Finds `count` centroids (`count x dim`) of a base, at least as many rows.
///
/// # Errors
///
/// If a row has NaN or infinity, or the user stops the work.
pub(crate) fn train(
    store: &'static str,
    base: MatrixView<'_>,
    metric: Metric,
    count: usize,
    progress: &dyn Progress,
) -> Result<Vec<f32>, StoreError> {
    let spherical = between(metric) == Metric::Ip;
    let rows = drawn(base, base.rows().min(MOST_ROWS * count));
    let rows = if spherical { unit(rows, base.dim()) } else { rows };
    let rows = MatrixView::new(&rows, base.dim());
    let mut centroids = drawn(rows, count);

    let task = progress.task("training centroids", ROUNDS, "rounds");
    let mut before = Vec::new();
    for _ in 0..ROUNDS {
        let view = MatrixView::new(&centroids, base.dim());
        let numbers = nearest(store, view, between(metric), rows, 1, progress, &Silent)?;
        if numbers == before {
            break;
        }
        update(&mut centroids, rows, &lists(&numbers, 1, count), spherical);
        before = numbers;
        task.advance(1);
    }
    Ok(centroids)
}

/// A seeded sample of rows, copied, in row order.
fn drawn(rows: MatrixView<'_>, take: usize) -> Vec<f32> {
    let sample = Sample::new(SEED, rows.rows() as u64, take as u64);
    sample.rows().flat_map(|row| rows.row(row as usize)).copied().collect()
}

/// Scales each row to unit length.
fn unit(mut rows: Vec<f32>, dim: usize) -> Vec<f32> {
    rows.par_chunks_exact_mut(dim).for_each(normalize);
    rows
}

/// Moves each centroid to the mean of its rows. One without rows takes half of the largest list.
fn update(centroids: &mut [f32], rows: MatrixView<'_>, lists: &[Vec<u32>], spherical: bool) {
    let dim = rows.dim();
    centroids.par_chunks_exact_mut(dim).zip(lists).for_each(|(centroid, list)| {
        let members = list.iter().map(|&row| rows.row(row as usize));
        if let Some(mean) = mean(members, dim) {
            centroid.copy_from_slice(&mean);
        }
    });
    let mut sizes: Vec<usize> = lists.iter().map(Vec::len).collect();
    for empty in 0..sizes.len() {
        if sizes[empty] > 0 {
            continue;
        }
        // The first of the largest.
        let Some(largest) = (0..sizes.len()).rev().max_by_key(|&list| sizes[list]) else { break };
        for i in 0..dim {
            let value = centroids[largest * dim + i];
            let step = if i % 2 == 0 { SPLIT } else { -SPLIT };
            centroids[empty * dim + i] = value * (1.0 + step);
            centroids[largest * dim + i] = value * (1.0 - step);
        }
        sizes[empty] = sizes[largest] / 2;
        sizes[largest] -= sizes[empty];
    }
    if spherical {
        centroids.par_chunks_exact_mut(dim).for_each(normalize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vprep_core::sample::mix;

    /// Rows of two values around four corners.
    fn corners(rows: u64) -> Vec<f32> {
        let noise = |bits: u64| (mix(bits) >> 40) as f32 / (1 << 24) as f32 - 0.5;
        (0..rows)
            .flat_map(|row| {
                let (x, y) = ((row % 2) as f32, (row / 2 % 2) as f32);
                [10.0 * x + noise(2 * row), 10.0 * y + noise(2 * row + 1)]
            })
            .collect()
    }

    #[test]
    fn clear_clusters_are_found_on_any_number_of_threads() {
        let data = corners(4_000);
        let base = MatrixView::new(&data, 2);
        let train = || train("s", base, Metric::L2, 4, &Silent).expect("finite");
        let centroids = train();
        for (x, y) in [(0.0, 0.0), (0.0, 10.0), (10.0, 0.0), (10.0, 10.0f32)] {
            let near = |c: &[f32]| (c[0] - x).abs() < 0.1 && (c[1] - y).abs() < 0.1;
            assert_eq!(centroids.chunks(2).filter(|c| near(c)).count(), 1, "{centroids:?}");
        }
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(train), centroids);
        }
    }

    #[test]
    fn a_centroid_without_rows_takes_half_of_the_largest_list() {
        let rows = [1.0, 1.0, 1.0, 3.0, 9.0, 9.0f32];
        let mut centroids = vec![0.0, 9.0, 50.0, 60.0];
        let lists = [vec![0, 1, 2, 3], vec![4, 5], vec![], vec![]];
        update(&mut centroids, MatrixView::new(&rows, 1), &lists, false);
        let step = |x: f32| 1.5 * (1.0 + x * SPLIT);
        // The first list is halved, and then the first of three of two rows.
        assert_eq!(centroids[1], 9.0);
        assert_eq!(centroids[2], step(1.0));
        assert!(centroids[0] < centroids[3] && centroids[3] < 1.5, "{centroids:?}");
    }

    #[test]
    fn partitions_are_as_many_as_the_rows_allow() {
        assert_eq!(allowed(256, 1), 1);
        assert_eq!(allowed(256, 390), 10);
        assert_eq!(allowed(256, 1_000_000), 256);
    }

    #[test]
    fn not_a_number_is_refused_as_data() {
        let data = [1.0, f32::NAN, 3.0];
        let error = train("s", MatrixView::new(&data, 1), Metric::L2, 1, &Silent).unwrap_err();
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error}");
    }
}
