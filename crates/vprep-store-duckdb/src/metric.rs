//! vprep's metrics as those of the extension.

use vprep_core::Metric;

/// The metric of an index, as `CREATE INDEX` and the extension's catalog name it.
pub(crate) fn of_index(metric: Metric) -> &'static str {
    match metric {
        Metric::Cosine => "cosine",
        Metric::Ip => "ip",
        Metric::L2 => "l2sq",
    }
}

/// The function that orders rows by that metric, the nearest first; an index is used for its own
/// function only.
pub(crate) fn function(metric: Metric) -> &'static str {
    match metric {
        Metric::Cosine => "array_cosine_distance",
        Metric::Ip => "array_negative_inner_product",
        Metric::L2 => "array_distance",
    }
}
