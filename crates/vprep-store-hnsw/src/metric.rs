//! vprep's metrics as usearch's, and usearch's distances as vprep's scores.

use usearch::MetricKind;
use vprep_core::Metric;

/// The usearch metric of a dataset. Unit vectors spare the engine the norms.
pub(crate) fn kind(metric: Metric, unit_length: bool) -> MetricKind {
    match metric {
        Metric::Cosine if !unit_length => MetricKind::Cos,
        Metric::Cosine | Metric::Ip => MetricKind::IP,
        Metric::L2 => MetricKind::L2sq,
    }
}

/// The score of a usearch distance: its inner product and cosine distances are one minus the
/// similarity, its L2sq is the squared distance.
pub(crate) fn score(metric: Metric, distance: f32) -> f32 {
    match metric {
        Metric::Cosine | Metric::Ip => 1.0 - distance,
        Metric::L2 => distance,
    }
}
