//! Build parameters: their names, ranges and defaults, and their values as fields.

use std::collections::BTreeMap;
use vprep_core::{MatrixView, Metric};
use vprep_store::{Parameter, StoreError};
use vprep_store_hnsw::graph::GraphOptions;

/// The memory budget of `graph-manager`, in MiB.
pub(crate) const MEMORY: &str = "memory-mib";

const PARTITIONS: Parameter = Parameter {
    name: "partitions",
    default: 256,
    min: 1,
    // usearch maps two areas of memory for each graph, and Linux lets a process have 65,530
    // (vm.max_map_count).
    max: 16_384,
    help: "k-means partitions; fewer where the base has less than 39 rows for each",
};

const OVERLAP: Parameter = Parameter {
    name: "overlap",
    default: 1,
    min: 1,
    max: 8,
    help: "partitions that each row is put into, the nearest ones",
};

const M: Parameter = Parameter {
    name: "m",
    default: 16,
    min: 2,
    max: 512,
    help: "links of a row in each upper layer of a partition's graph; the bottom layer has twice as many",
};

const EF_CONSTRUCTION: Parameter = Parameter {
    name: "ef-construction",
    default: 128,
    min: 1,
    max: 65_536,
    help: "candidates kept while a row looks for its links",
};

const EF: Parameter = Parameter {
    name: "ef",
    default: 64,
    min: 1,
    max: 65_536,
    help: "candidates that a search keeps in each partition, or k where that is more",
};

const MEMORY_MIB: Parameter = Parameter {
    name: MEMORY,
    default: 256,
    min: 1,
    // 1 TiB.
    max: 1 << 20,
    help: "loaded partitions may take this many MiB; VPREP_GRAPH_MEMORY says otherwise when set",
};

/// Parameters of `partitioned-hnsw`.
pub(crate) const WHOLE: &[Parameter] = &[PARTITIONS, OVERLAP, M, EF_CONSTRUCTION, EF];

/// Parameters of `graph-manager`.
pub(crate) const MANAGED: &[Parameter] = &[PARTITIONS, OVERLAP, M, EF_CONSTRUCTION, EF, MEMORY_MIB];

/// The values that both stores have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values {
    pub(crate) partitions: u32,
    pub(crate) overlap: u32,
    pub(crate) ef: u32,
    m: u32,
    ef_construction: u32,
}

impl Values {
    /// Takes the values of a recipe or of `index.json`.
    ///
    /// # Errors
    ///
    /// If one is missing or out of range.
    pub(crate) fn new(
        store: &'static str,
        given: &BTreeMap<String, u32>,
    ) -> Result<Self, StoreError> {
        let value = |parameter: &Parameter| {
            let Parameter { name, min, max, .. } = *parameter;
            let value = given.get(name).copied().unwrap_or_default();
            if (min..=max).contains(&value) {
                return Ok(value);
            }
            Err(StoreError::ParameterRange { store, name, value, min, max })
        };
        Ok(Self {
            partitions: value(&PARTITIONS)?,
            overlap: value(&OVERLAP)?,
            ef: value(&EF)?,
            m: value(&M)?,
            ef_construction: value(&EF_CONSTRUCTION)?,
        })
    }

    /// The options of every partition's graph.
    pub(crate) fn graph(
        &self,
        store: &'static str,
        base: MatrixView<'_>,
        metric: Metric,
        unit_length: bool,
    ) -> GraphOptions {
        let (m, ef_construction) = (self.m as usize, self.ef_construction as usize);
        GraphOptions { store, metric, unit_length, dim: base.dim(), m, ef_construction }
    }
}
