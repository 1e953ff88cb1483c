//! pgvector's operators and operator classes for vprep's metrics.

use vprep_core::Metric;

/// The operator class of an index. Cosine has its own for unit vectors too, as pgvector's users
/// would have it.
pub(crate) const fn class(metric: Metric) -> &'static str {
    match metric {
        Metric::Cosine => "vector_cosine_ops",
        Metric::Ip => "vector_ip_ops",
        Metric::L2 => "vector_l2_ops",
    }
}

/// The distance operator that such an index answers.
pub(crate) const fn operator(metric: Metric) -> &'static str {
    match metric {
        Metric::Cosine => "<=>",
        Metric::Ip => "<#>",
        Metric::L2 => "<->",
    }
}
