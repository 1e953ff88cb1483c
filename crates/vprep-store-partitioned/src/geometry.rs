//! How a metric compares vectors with centroids.

use vprep_core::{Metric, norm};

/// The metric between vectors and centroids. Under cosine and inner product rows are put together
/// by direction (spherical k-means: Dhillon and Modha, "Concept decompositions for large sparse text
/// data using clustering", Machine Learning 42, 2001), so centroids are of unit length and the
/// inner product orders them as the cosine does, whatever the norm of the vector. FAISS does so for
/// its inner-product indexes too.
pub(crate) const fn between(metric: Metric) -> Metric {
    match metric {
        Metric::Cosine | Metric::Ip => Metric::Ip,
        Metric::L2 => Metric::L2,
    }
}

/// Scales a vector to unit length; a zero vector stays as it is.
pub(crate) fn normalize(vector: &mut [f32]) {
    let length = norm(vector);
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    }
}

/// The mean of some vectors of `dim` values, summed in f64 in their order; none of no vector.
pub(crate) fn mean<'a>(
    vectors: impl ExactSizeIterator<Item = &'a [f32]>,
    dim: usize,
) -> Option<Vec<f32>> {
    let count = vectors.len();
    let mut sum = vec![0.0; dim];
    for vector in vectors {
        for (sum, &value) in sum.iter_mut().zip(vector) {
            *sum += f64::from(value);
        }
    }
    (count > 0).then(|| sum.into_iter().map(|sum: f64| (sum / count as f64) as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_vector_has_no_direction() {
        let mut zero = [0.0; 3];
        normalize(&mut zero);
        assert_eq!(zero, [0.0; 3]);
        let mut other = [0.0, 3.0, 4.0];
        normalize(&mut other);
        assert_eq!(other, [0.0, 0.6, 0.8]);
    }

    #[test]
    fn a_mean_is_that_of_the_vectors_given() {
        assert_eq!(mean([].into_iter(), 2), None);
        let vectors: [&[f32]; 2] = [&[1.0, 2.0], &[3.0, 6.0]];
        assert_eq!(mean(vectors.into_iter(), 2), Some(vec![2.0, 4.0]));
    }
}
