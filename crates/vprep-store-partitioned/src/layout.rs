//! `partitions.json`, the table of an index, and its checksum `partitions.json.xxh128`.

use crate::parameters::MEMORY;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use vprep_core::Metric;
use vprep_store::{BuildSpec, IndexFacts, StoreError};
use xxhash_rust::xxh3::xxh3_128;

/// The table.
pub(crate) const TABLE: &str = "partitions.json";

/// XXH3 of 128 bits over [`TABLE`], in the format of `xxh128sum`.
const CHECKSUM: &str = "partitions.json.xxh128";

/// What [`TABLE`] holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layout {
    /// Format of the index.
    pub(crate) schema: u32,
    /// Metric of the dataset.
    pub(crate) metric: Metric,
    /// Whether cosine orders rows as the inner product does.
    pub(crate) unit_length: bool,
    /// Rows of the base.
    pub(crate) rows: u64,
    /// Values in a vector.
    pub(crate) dim: u32,
    /// Build parameters asked for, without those about memory.
    pub(crate) parameters: BTreeMap<String, u32>,
    /// Partitions that each row is in.
    pub(crate) overlap: u32,
    /// Rows of the partitions.
    pub(crate) sizes: Sizes,
    /// The vectors by which partitions are ranked for a query.
    pub(crate) probes: Section,
    /// The partitions, one behind the other.
    pub(crate) partitions: Vec<Section>,
}

/// Smallest, middle and largest number of rows of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sizes {
    pub(crate) min: u32,
    /// The lower one of two in the middle.
    pub(crate) median: u32,
    pub(crate) max: u32,
}

/// A part of the file of partitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Section {
    /// Rows in it.
    pub(crate) rows: u32,
    /// Its length.
    pub(crate) bytes: u64,
    /// XXH3 of 128 bits over its bytes, in hexadecimal.
    pub(crate) xxh128: String,
}

impl Section {
    /// Describes `bytes`.
    pub(crate) fn new(rows: usize, bytes: &[u8]) -> Self {
        let xxh128 = format!("{:032x}", xxh3_128(bytes));
        Self { rows: rows as u32, bytes: bytes.len() as u64, xxh128 }
    }
}

impl Sizes {
    /// Of partitions, at least one.
    pub(crate) fn of(partitions: &[Section]) -> Self {
        let mut rows: Vec<u32> = partitions.iter().map(|partition| partition.rows).collect();
        rows.sort_unstable();
        let (min, max) = (rows.first().copied(), rows.last().copied());
        let median = rows.get(rows.len().saturating_sub(1) / 2).copied();
        let [min, median, max] = [min, median, max].map(Option::unwrap_or_default);
        Self { min, median, max }
    }
}

/// The parameters that make the index what it is.
pub(crate) fn lasting(parameters: &BTreeMap<String, u32>) -> BTreeMap<String, u32> {
    parameters
        .iter()
        .filter(|(name, _)| *name != MEMORY)
        .map(|(name, &value)| (name.clone(), value))
        .collect()
}

impl Layout {
    /// The table of an index of a base of `rows x dim`, in which each row is in `overlap`
    /// partitions.
    pub(crate) fn new(
        spec: &BuildSpec,
        (rows, dim): (usize, usize),
        overlap: usize,
        probes: Section,
        partitions: Vec<Section>,
    ) -> Self {
        Self {
            schema: 1,
            metric: spec.metric,
            unit_length: spec.unit_length,
            rows: rows as u64,
            dim: dim as u32,
            parameters: lasting(&spec.parameters),
            overlap: overlap as u32,
            sizes: Sizes::of(&partitions),
            probes,
            partitions,
        }
    }

    /// Bytes of the file of partitions.
    pub(crate) fn bytes(&self) -> u64 {
        self.partitions.iter().fold(self.probes.bytes, |sum, part| sum.saturating_add(part.bytes))
    }

    /// Rows of all partitions, a row counted in each that it is in.
    pub(crate) fn members(&self) -> u64 {
        self.partitions.iter().map(|partition| u64::from(partition.rows)).sum()
    }

    /// Writes the table and its checksum.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), StoreError> {
        let text = serde_json::to_string_pretty(self).expect("a table is JSON; this is a bug");
        let text = format!("{text}\n");
        let line = format!("{:032x}  {TABLE}\n", xxh3_128(text.as_bytes()));
        for (name, text) in [(TABLE, text), (CHECKSUM, line)] {
            let path = dir.join(name);
            File::create(&path)
                .and_then(|mut file| {
                    file.write_all(text.as_bytes())?;
                    file.sync_all()
                })
                .map_err(|source| StoreError::Io { path, source })?;
        }
        Ok(())
    }

    /// Reads the table and compares it with its checksum and the facts of the index.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoIndex`] if it is missing, damaged or of another index.
    pub(crate) fn read(
        dir: &Path,
        store: &'static str,
        facts: &IndexFacts,
    ) -> Result<Self, StoreError> {
        let no_index =
            |path: PathBuf, problem: String| StoreError::NoIndex { store, path, problem };
        let read = |name: &str| {
            let path = dir.join(name);
            std::fs::read_to_string(&path).map_err(|error| no_index(path, error.to_string()))
        };
        let (text, expected) = (read(TABLE)?, read(CHECKSUM)?);
        let damaged = |problem: String| no_index(dir.join(TABLE), problem);
        let found = format!("{:032x}", xxh3_128(text.as_bytes()));
        if expected.split_whitespace().next() != Some(&found) {
            return Err(damaged(format!("damaged: its bytes differ from {CHECKSUM}")));
        }
        let layout: Self =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        let agrees = layout.schema == 1
            && layout.metric == facts.metric
            && layout.unit_length == facts.unit_length
            && (layout.rows, layout.dim) == (facts.rows, facts.dim)
            && layout.parameters == lasting(&facts.parameters);
        if !agrees {
            return Err(damaged("metric, rows, dim or parameters differ from index.json".into()));
        }
        if layout.members() != layout.rows * u64::from(layout.overlap) {
            return Err(damaged("the partitions do not have all rows".into()));
        }
        Ok(layout)
    }
}
