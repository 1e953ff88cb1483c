//! The HNSW graph as both stores describe it: parameters, knob and limits.

use std::collections::BTreeMap;
use vprep_core::MatrixView;
use vprep_store::{KnobRange, Parameter, StoreError};

/// The knob, as Qdrant calls it.
pub(crate) const KNOB: &str = "hnsw_ef";

const M: &str = "m";
const EF_CONSTRUCTION: &str = "ef-construction";

/// Build parameters of both stores.
pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: M,
        default: 16,
        min: 2,
        max: 512,
        help: "links of a row in each upper layer; the bottom layer has twice as many",
    },
    Parameter {
        name: EF_CONSTRUCTION,
        default: 128,
        // Qdrant refuses less.
        min: 4,
        max: 65_536,
        help: "candidates kept while a row looks for its links",
    },
];

/// KiB of vectors from which on Qdrant is told to build a graph: its smallest value, as 0 means
/// never.
pub(crate) const INDEXING_THRESHOLD_KIB: u64 = 1;

/// KiB of vectors that a segment may hold, so many that one segment takes any base: 4 TiB.
pub(crate) const MAX_SEGMENT_KIB: u64 = u32::MAX as u64;

/// Values of a vector that Qdrant takes at most, by its documentation of collections.
const MAX_DIM: usize = 65_536;

/// Values of the build parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Graph {
    pub(crate) m: u32,
    pub(crate) ef_construction: u32,
}

impl Graph {
    /// Reads them from a build or an index; none if one is missing.
    pub(crate) fn of(parameters: &BTreeMap<String, u32>) -> Option<Self> {
        let value = |name: &str| parameters.get(name).copied();
        Some(Self { m: value(M)?, ef_construction: value(EF_CONSTRUCTION)? })
    }
}

/// Qdrant searches with max(`hnsw_ef`, k) candidates, so a value below `min(k, rows)` would be
/// another name for `min(k, rows)`; and with as many candidates as rows nothing is left to find.
pub(crate) fn knob_range(k: usize, rows: usize) -> KnobRange {
    let largest = u32::try_from(rows).unwrap_or(u32::MAX).max(1);
    let smallest = u32::try_from(k).unwrap_or(u32::MAX).clamp(1, largest);
    KnobRange { smallest, largest, step: 1 }
}

/// Checks that Qdrant can hold the base.
pub(crate) fn check_shape(store: &'static str, base: MatrixView<'_>) -> Result<(), StoreError> {
    let unsupported = |problem: String| Err(StoreError::Unsupported { store, problem });
    if base.rows() == 0 {
        return unsupported("the base has no rows".to_owned());
    }
    if u32::try_from(base.rows()).is_err() {
        return unsupported("Qdrant numbers rows in 32 bits, and the base has more".to_owned());
    }
    if base.dim() > MAX_DIM {
        return unsupported(format!("dim {} is more than Qdrant's {MAX_DIM}", base.dim()));
    }
    Ok(())
}

/// Whether `rows` vectors of `dim` values fill `kib` KiB.
pub(crate) fn fills(rows: u64, dim: u32, kib: u64) -> bool {
    rows.saturating_mul(u64::from(dim)).saturating_mul(4) >= kib * 1_024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knob_starts_at_k_and_ends_at_the_rows() {
        assert_eq!(knob_range(10, 300), KnobRange { smallest: 10, largest: 300, step: 1 });
        assert_eq!(knob_range(10, 3), KnobRange { smallest: 3, largest: 3, step: 1 });
        assert_eq!(knob_range(0, 0), KnobRange { smallest: 1, largest: 1, step: 1 });
    }

    #[test]
    fn what_qdrant_cannot_hold_is_refused() {
        let wide = vec![0.0; MAX_DIM + 1];
        for (base, problem) in [
            (MatrixView::new(&[], 3), "no rows"),
            (MatrixView::new(&wide, wide.len()), "dim 65537 is more than Qdrant's 65536"),
        ] {
            let error = check_shape("qdrant", base).expect_err(problem).to_string();
            assert!(error.contains(problem), "{error}");
        }
        assert!(check_shape("qdrant", MatrixView::new(&wide[1..], MAX_DIM)).is_ok());
    }

    #[test]
    fn sizes_are_those_of_f32() {
        assert!(fills(64, 4, 1));
        assert!(!fills(63, 4, 1));
        assert!(fills(u64::MAX, u32::MAX, 1));
    }
}
