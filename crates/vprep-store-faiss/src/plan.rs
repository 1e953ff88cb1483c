//! What is built from a base and parameters: the sizes that the adapter chooses and the metric as
//! FAISS knows it. It follows from the facts alone, and lies beside the index as `faiss.json`.

use crate::kind::{EF_CONSTRUCTION, Kind, M, NBITS, NLIST, PQ_M};
use crate::vectors::LEAST_PER_CENTROID;
use faiss::MetricType;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use vprep_core::Metric;
use vprep_store::{IndexFacts, StoreError};

/// The largest number of parts of a quantised vector unless told.
const PQ_M_AT_MOST: u32 = 64;

/// The fewest bits of a code.
pub(crate) const NBITS_AT_LEAST: u32 = 4;

/// What an index is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    /// Format of this record.
    schema: u32,
    /// The string from which FAISS's `index_factory` makes such an index.
    pub(crate) factory: String,
    /// The build parameters, as asked.
    parameters: BTreeMap<String, u32>,
    /// The sizes of the index, as used.
    pub(crate) layout: Layout,
    /// How FAISS compares vectors.
    pub(crate) metric: Comparison,
    /// Whether rows were scaled to unit length, so that the inner product is the cosine.
    pub(crate) normalised: bool,
}

/// The kind of an index with its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub(crate) enum Layout {
    Flat,
    Hnsw { m: u32, ef_construction: u32 },
    Ivf { nlist: u32 },
    Pq { m: u32, nbits: u32 },
}

/// FAISS's metrics that vprep uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Comparison {
    L2,
    InnerProduct,
}

impl Plan {
    /// The plan for the index that `facts` describe.
    ///
    /// # Errors
    ///
    /// If FAISS cannot build it: no rows, too many of them, or `pq-m` does not divide the dimension.
    pub(crate) fn new(kind: Kind, facts: &IndexFacts) -> Result<Self, StoreError> {
        let layout = Layout::new(kind, facts)?;
        Ok(Self {
            schema: 1,
            factory: layout.factory(),
            parameters: facts.parameters.clone(),
            layout,
            metric: match facts.metric {
                Metric::L2 => Comparison::L2,
                Metric::Cosine | Metric::Ip => Comparison::InnerProduct,
            },
            normalised: facts.metric == Metric::Cosine && !facts.unit_length,
        })
    }
}

impl Layout {
    fn new(kind: Kind, facts: &IndexFacts) -> Result<Self, StoreError> {
        let unsupported =
            |problem: String| Err(StoreError::Unsupported { store: kind.info().name, problem });
        let parameter = |name: &str| {
            let value = facts.parameters.get(name).copied();
            value.ok_or_else(|| kind.engine("setup", &format!("no value for the parameter {name}")))
        };
        let rows = facts.rows;
        if rows == 0 {
            return unsupported("it has no rows".to_owned());
        }
        Ok(match kind {
            Kind::Flat => Self::Flat,
            Kind::Hnsw if rows > i32::MAX as u64 => {
                let most = i32::MAX;
                return unsupported(format!("{rows} rows; FAISS's graph has at most {most}"));
            }
            Kind::Hnsw => {
                Self::Hnsw { m: parameter(M)?, ef_construction: parameter(EF_CONSTRUCTION)? }
            }
            Kind::Ivf => {
                let asked = match parameter(NLIST)? {
                    0 => (4.0 * (rows as f64).sqrt()).round() as u64,
                    asked => u64::from(asked),
                };
                Self::Ivf { nlist: u32::try_from(asked.min(rows)).unwrap_or(u32::MAX) }
            }
            Kind::Pq => {
                let (dim, nbits) = (facts.dim, parameter(NBITS)?);
                let m = match parameter(PQ_M)? {
                    0 => (1..=dim.min(PQ_M_AT_MOST)).rev().find(|m| dim % m == 0).unwrap_or(1),
                    asked => asked,
                };
                if dim % m != 0 {
                    return unsupported(format!("its dim {dim} is not a multiple of pq-m = {m}"));
                }
                // No more centroids than the rows can place.
                let centroids = rows / LEAST_PER_CENTROID as u64;
                let most = centroids.checked_ilog2().unwrap_or(0).max(NBITS_AT_LEAST);
                Self::Pq { m, nbits: nbits.min(most) }
            }
        })
    }

    /// FAISS's name for it. `np` leaves out the polysemous training, which only another kind of
    /// search would use.
    fn factory(self) -> String {
        match self {
            Self::Flat => "Flat".to_owned(),
            Self::Hnsw { m, .. } => format!("HNSW{m},Flat"),
            Self::Ivf { nlist } => format!("IVF{nlist},Flat"),
            Self::Pq { m, nbits } => format!("PQ{m}x{nbits}np"),
        }
    }
}

impl Comparison {
    /// As FAISS calls it.
    pub(crate) fn engine(self) -> MetricType {
        match self {
            Self::L2 => MetricType::L2,
            Self::InnerProduct => MetricType::InnerProduct,
        }
    }
}
