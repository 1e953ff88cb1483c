//! Matrices in the layouts that the products read without any repacking.

use super::simd::{LANES, Lane, Simd};

/// Activations, one row for each token. Rows lie in blocks of `S::ROWS`; a block holds its rows'
/// first 16 columns, row after row, then their next 16 columns, and so on. A block is what
/// [`Simd::tile`] reads.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) lanes: Vec<Lane>,
    /// Columns, in vectors of 16.
    pub(crate) chunks: usize,
    /// Rows in use.
    pub(crate) rows: usize,
}

impl Rows {
    /// Makes room; what the rows hold is unspecified.
    pub(crate) fn resize<S: Simd>(&mut self, rows: usize, columns: usize) {
        assert!(columns.is_multiple_of(LANES), "checked when the model was loaded; this is a bug");
        self.chunks = columns / LANES;
        self.rows = rows;
        let lanes = rows.div_ceil(S::ROWS) * S::ROWS * self.chunks;
        if self.lanes.len() < lanes {
            self.lanes.resize(lanes, Lane::default());
        }
    }

    /// Where the 16 columns `chunk` of `row` lie.
    #[inline(always)]
    pub(crate) fn at<S: Simd>(&self, row: usize, chunk: usize) -> usize {
        (row / S::ROWS * self.chunks + chunk) * S::ROWS + row % S::ROWS
    }

    /// The block of rows that begins with row `block * S::ROWS`.
    #[inline(always)]
    pub(crate) fn block<S: Simd>(&self, block: usize) -> &[Lane] {
        let size = S::ROWS * self.chunks;
        &self.lanes[block * size..][..size]
    }
}

/// The weights of a linear layer: panels of `16 * S::PANEL` outputs; a panel holds for each input
/// the weights of its outputs. Columns that are lacking in the last panel are zero.
#[derive(Debug)]
pub(crate) struct Panels {
    pub(crate) lanes: Vec<Lane>,
    /// Outputs, in vectors of 16.
    pub(crate) chunks: usize,
    /// Vectors in a panel.
    pub(crate) size: usize,
}

impl Panels {
    /// Packs a matrix as PyTorch keeps it: `outputs x inputs`, row after row.
    pub(crate) fn pack<S: Simd>(weights: &[f32], outputs: usize, inputs: usize) -> Self {
        assert_eq!(weights.len(), outputs * inputs, "checked by the caller; this is a bug");
        let chunks = outputs / LANES;
        let mut lanes = Vec::with_capacity(chunks.next_multiple_of(S::PANEL) * inputs);
        for panel in 0..chunks.div_ceil(S::PANEL) {
            for input in 0..inputs {
                for chunk in (0..S::PANEL).map(|p| panel * S::PANEL + p) {
                    let mut lane = Lane::default();
                    if chunk < chunks {
                        for (i, x) in lane.0.iter_mut().enumerate() {
                            *x = weights[(chunk * LANES + i) * inputs + input];
                        }
                    }
                    lanes.push(lane);
                }
            }
        }
        Self { lanes, chunks, size: S::PANEL * inputs }
    }
}

/// A vector, 16 values each.
pub(crate) fn lanes(values: &[f32]) -> Vec<Lane> {
    let (lanes, rest) = values.as_chunks::<LANES>();
    assert!(rest.is_empty(), "checked when the model was loaded; this is a bug");
    lanes.iter().map(|&lane| Lane(lane)).collect()
}
