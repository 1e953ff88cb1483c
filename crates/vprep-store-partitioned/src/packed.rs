//! `partitions.bin`: the probes and then each partition, one behind the other.
//!
//! The probes are `partitions x dim` f32, little-endian. A partition is the numbers of its rows,
//! ascending, as u32, little-endian, and then the graph of these rows as usearch writes it. One file
//! for all is on the disk with one `fsync`, however many partitions there are.

use crate::layout::{Layout, Section};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use vprep_store::StoreError;
use vprep_store_hnsw::graph::{Graph, GraphOptions};

/// The file.
pub(crate) const PACKED: &str = "partitions.bin";

/// The file while it is written.
pub(crate) struct Writer {
    file: File,
    path: PathBuf,
}

impl Writer {
    pub(crate) fn create(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(PACKED);
        let file =
            File::create(&path).map_err(|source| StoreError::Io { path: path.clone(), source })?;
        Ok(Self { file, path })
    }

    /// Appends a part of `rows` rows.
    pub(crate) fn append(&mut self, rows: usize, bytes: &[u8]) -> Result<Section, StoreError> {
        self.file
            .write_all(bytes)
            .map_err(|source| StoreError::Io { path: self.path.clone(), source })?;
        Ok(Section::new(rows, bytes))
    }

    /// Returns when the file is on the disk.
    pub(crate) fn finish(self) -> Result<(), StoreError> {
        let Self { file, path } = self;
        file.sync_all().map_err(|source| StoreError::Io { path, source })
    }
}

/// The bytes of probes.
pub(crate) fn of_probes(probes: &[f32]) -> Vec<u8> {
    probes.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The bytes of a partition.
pub(crate) fn of_partition(rows: &[u32], graph: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(rows) + graph.len());
    bytes.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
    bytes.extend_from_slice(graph);
    bytes
}

/// A loaded partition.
pub(crate) struct Partition {
    rows: Vec<u32>,
    graph: Graph,
}

impl Partition {
    /// Finds at most `k` neighbours among the rows of the partition, as [`Graph::search`] does, by
    /// their row numbers in the base.
    pub(crate) fn search(
        &self,
        query: &[f32],
        k: usize,
        ef: u32,
    ) -> Result<Vec<(i64, f32)>, StoreError> {
        let mut found = self.graph.search(query, k.min(self.rows.len()), ef)?;
        found.iter_mut().for_each(|(row, _)| *row = i64::from(self.rows[*row as usize]));
        Ok(found)
    }
}

/// The file of an open index. It stays open, so what is read later is of the same build.
pub(crate) struct Packed {
    file: File,
    path: PathBuf,
    options: GraphOptions,
    /// Where each partition starts, and what it should be.
    partitions: Vec<(u64, Section)>,
}

impl Packed {
    /// Opens the file in `dir`, whose table is `layout`.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoIndex`] if there is none of that length.
    pub(crate) fn open(
        dir: &Path,
        layout: &Layout,
        options: GraphOptions,
    ) -> Result<Self, StoreError> {
        let path = dir.join(PACKED);
        let mut start = layout.probes.bytes;
        let place = |section: &Section| {
            let place = (start, section.clone());
            start = start.saturating_add(section.bytes);
            place
        };
        let partitions = layout.partitions.iter().map(place).collect();
        let no_index =
            |problem| StoreError::NoIndex { store: options.store, path: path.clone(), problem };
        let file = File::open(&path).map_err(|error| no_index(error.to_string()))?;
        let length = file.metadata().map_err(|error| no_index(error.to_string()))?.len();
        if length != layout.bytes() {
            let expected = layout.bytes();
            return Err(no_index(format!("damaged: {length} bytes, but {expected} were written")));
        }
        Ok(Self { file, path, options, partitions })
    }

    /// How many partitions there are.
    pub(crate) fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Bytes of a partition in the file.
    pub(crate) fn bytes(&self, partition: usize) -> u64 {
        self.partitions[partition].1.bytes
    }

    /// The store that errors name.
    pub(crate) fn store(&self) -> &'static str {
        self.options.store
    }

    /// Reads the probes, `partitions x dim`.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoIndex`] if they are damaged.
    pub(crate) fn probes(&self, section: &Section) -> Result<Vec<f32>, StoreError> {
        let bytes = self.read(0, section)?;
        let (values, rest) = bytes.as_chunks();
        if !rest.is_empty() || values.len() != self.partitions.len() * self.options.dim {
            return Err(self.damaged("there is not one probe for each partition"));
        }
        Ok(values.iter().map(|&value| f32::from_le_bytes(value)).collect())
    }

    /// Reads a partition.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoIndex`] if it is damaged.
    pub(crate) fn load(&self, partition: usize) -> Result<Partition, StoreError> {
        let (start, section) = &self.partitions[partition];
        let bytes = self.read(*start, section)?;
        let rows = section.rows as usize;
        let Some((numbers, graph)) = bytes.split_at_checked(rows * size_of::<u32>()) else {
            return Err(self.damaged("a partition is shorter than its row numbers"));
        };
        let numbers = numbers.as_chunks().0;
        let numbers = numbers.iter().map(|&number| u32::from_le_bytes(number)).collect();
        let graph = self.options.load(graph, rows, &self.path)?;
        Ok(Partition { rows: numbers, graph })
    }

    /// Reads a part and compares it with its checksum.
    fn read(&self, start: u64, section: &Section) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; section.bytes as usize];
        self.file
            .read_exact_at(&mut bytes, start)
            .map_err(|error| self.damaged(&error.to_string()))?;
        if Section::new(section.rows as usize, &bytes) != *section {
            return Err(self.damaged("damaged: its bytes differ from their checksum"));
        }
        Ok(bytes)
    }

    fn damaged(&self, problem: &str) -> StoreError {
        let (store, path) = (self.options.store, self.path.clone());
        StoreError::NoIndex { store, path, problem: problem.to_owned() }
    }
}
