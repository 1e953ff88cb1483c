//! The four stores and their parameters.

use crate::plan::NBITS_AT_LEAST;
use std::fmt::Display;
use vprep_store::{Parameter, StoreError, StoreInfo};

/// Which of the stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Flat,
    Hnsw,
    Ivf,
    Pq,
}

pub(crate) const M: &str = "m";
pub(crate) const EF_CONSTRUCTION: &str = "ef-construction";
pub(crate) const NLIST: &str = "nlist";
pub(crate) const PQ_M: &str = "pq-m";
pub(crate) const NBITS: &str = "nbits";

const ENGINE: &str = "FAISS";

static FLAT: StoreInfo =
    StoreInfo { name: "faiss-flat", engine: ENGINE, knob: None, parameters: &[] };

static HNSW: StoreInfo = StoreInfo {
    name: "faiss-hnsw",
    engine: ENGINE,
    knob: Some("efSearch"),
    parameters: &[
        Parameter {
            name: M,
            default: 16,
            // FAISS draws levels with the logarithm of m.
            min: 2,
            max: 512,
            help: "links of a row in each upper layer; the bottom layer has twice as many",
        },
        Parameter {
            name: EF_CONSTRUCTION,
            default: 128,
            min: 1,
            max: 65_536,
            help: "candidates kept while a row looks for its links",
        },
    ],
};

static IVF: StoreInfo = StoreInfo {
    name: "faiss-ivf",
    engine: ENGINE,
    knob: Some("nprobe"),
    parameters: &[Parameter {
        name: NLIST,
        default: 0,
        min: 0,
        max: 1 << 20,
        help: "lists, at most one per row; 0 for four times the square root of the rows",
    }],
};

static PQ: StoreInfo = StoreInfo {
    name: "faiss-pq",
    engine: ENGINE,
    knob: Some("k_factor"),
    parameters: &[
        Parameter {
            name: PQ_M,
            default: 0,
            min: 0,
            max: 65_536,
            help: "parts of a vector, a divisor of dim; 0 for the largest divisor up to 64",
        },
        Parameter {
            name: NBITS,
            default: 8,
            min: NBITS_AT_LEAST,
            // Training time grows with the square of the centroids, which are 2^nbits.
            max: 10,
            help: "bits of the code of a part, one of 2^nbits centroids; fewer if rows < 39 * 2^nbits",
        },
    ],
};

impl Kind {
    /// What the store says about itself.
    pub(crate) fn info(self) -> &'static StoreInfo {
        match self {
            Self::Flat => &FLAT,
            Self::Hnsw => &HNSW,
            Self::Ivf => &IVF,
            Self::Pq => &PQ,
        }
    }

    /// An error of FAISS.
    pub(crate) fn engine(self, operation: &'static str, message: &dyn Display) -> StoreError {
        StoreError::Engine { store: self.info().name, operation, message: message.to_string() }
    }
}
