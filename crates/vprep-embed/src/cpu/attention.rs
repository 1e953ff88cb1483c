//! Attention of one text, head by head; scores stay in the L1 cache.

use super::elementwise::exp;
use super::matrix::Rows;
use super::product::LARGEST_TILE;
use super::simd::{Kernel, LANES, Lane, Simd};
use std::ops::Range;

/// Buffers, kept between texts.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Blocks of queries, as a product reads its rows.
    queries: Vec<Lane>,
    /// Panels of keys: for each of the head's values, that value of each key.
    keys: Vec<Lane>,
    /// Panels of the head's values, key after key.
    values: Vec<Lane>,
    /// Scores of a block of queries, as a product reads its rows.
    scores: Vec<Lane>,
}

/// Sets the rows `queries` of `out` to what these queries gather from the keys and values `keys`.
/// The queries are scaled already.
pub(crate) struct Attention<'a> {
    pub(crate) q: &'a Rows,
    pub(crate) queries: Range<usize>,
    /// Keys in the first half of the columns, values in the second.
    pub(crate) kv: &'a Rows,
    pub(crate) keys: Range<usize>,
    pub(crate) heads: usize,
    pub(crate) out: &'a mut Rows,
    pub(crate) scratch: &'a mut Scratch,
}

impl Kernel for Attention<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { q, queries, kv, keys, heads, out, scratch } = self;
        let chunks = q.chunks / heads;
        let key_chunks = keys.len().div_ceil(LANES);
        let key_panels = key_chunks.div_ceil(S::PANEL);
        let value_panels = chunks.div_ceil(S::PANEL);
        let blocks = queries.len().div_ceil(S::ROWS);
        let key_panel = chunks * LANES * S::PANEL;
        let value_panel = key_chunks * LANES * S::PANEL;
        // Rows and columns that pad a block or a panel are zero, and stay so.
        reset(&mut scratch.queries, blocks * chunks * S::ROWS);
        reset(&mut scratch.keys, key_panels * key_panel);
        reset(&mut scratch.values, value_panels * value_panel);
        reset(&mut scratch.scores, key_panels * S::PANEL * S::ROWS);
        let mut tile = [Lane::default(); LARGEST_TILE];
        for head in 0..heads {
            let first = head * chunks;
            for (i, row) in queries.clone().enumerate() {
                for c in 0..chunks {
                    let to = (i / S::ROWS * chunks + c) * S::ROWS + i % S::ROWS;
                    scratch.queries[to] = q.lanes[q.at::<S>(row, first + c)];
                }
            }
            for (j, row) in keys.clone().enumerate() {
                let (panel, p, lane) = (j / LANES / S::PANEL, j / LANES % S::PANEL, j % LANES);
                for c in 0..chunks {
                    let key = &kv.lanes[kv.at::<S>(row, first + c)];
                    let to = &mut scratch.keys[panel * key_panel + c * LANES * S::PANEL..]
                        [..LANES * S::PANEL];
                    for i in 0..LANES {
                        to[i * S::PANEL + p].0[lane] = key.0[i];
                    }
                    let to = c / S::PANEL * value_panel + j * S::PANEL + c % S::PANEL;
                    scratch.values[to] = kv.lanes[kv.at::<S>(row, kv.chunks / 2 + first + c)];
                }
            }
            for (block, query) in scratch.queries.chunks_exact(chunks * S::ROWS).enumerate() {
                let rows = S::ROWS.min(queries.len() - block * S::ROWS);
                let panels = scratch.scores.chunks_exact_mut(S::PANEL * S::ROWS);
                for (scores, key) in panels.zip(scratch.keys.chunks_exact(key_panel)) {
                    s.tile(rows, query, key, scores);
                }
                let scores = &mut scratch.scores[..key_chunks * S::ROWS];
                let mut inverse = [0.0; LARGEST_TILE];
                for (r, inverse) in inverse[..rows].iter_mut().enumerate() {
                    *inverse = 1.0 / softmax(s, scores, r, keys.len());
                }
                for (panel, value) in scratch.values.chunks_exact(value_panel).enumerate() {
                    s.tile(rows, scores, value, &mut tile[..S::ROWS * S::PANEL]);
                    for r in 0..rows {
                        for p in 0..S::PANEL.min(chunks - panel * S::PANEL) {
                            let v = s.mul(s.load(&tile[p * S::ROWS + r]), s.splat(inverse[r]));
                            let row = queries.start + block * S::ROWS + r;
                            let to = out.at::<S>(row, first + panel * S::PANEL + p);
                            s.store(v, &mut out.lanes[to]);
                        }
                    }
                }
            }
        }
    }
}

fn reset(lanes: &mut Vec<Lane>, length: usize) {
    lanes.clear();
    lanes.resize(length, Lane::default());
}

/// Replaces the scores of row `r` by e^(score - largest) and returns their sum. Only the first
/// `keys` scores count; what pads the last vector becomes next to nothing.
#[inline(always)]
fn softmax<S: Simd>(s: S, scores: &mut [Lane], r: usize, keys: usize) -> f32 {
    let mut row = scores.chunks_exact_mut(S::ROWS);
    if !keys.is_multiple_of(LANES)
        && let Some(last) = row.next_back()
    {
        last[r].0[keys % LANES..].fill(f32::NEG_INFINITY);
    }
    let mut largest = s.splat(f32::NEG_INFINITY);
    for lanes in scores.chunks_exact(S::ROWS) {
        largest = s.max(largest, s.load(&lanes[r]));
    }
    let largest = s.splat(s.largest(largest));
    let mut sum = s.splat(0.0);
    for lanes in scores.chunks_exact_mut(S::ROWS) {
        let e = exp(s, s.sub(s.load(&lanes[r]), largest));
        s.store(e, &mut lanes[r]);
        sum = s.add(sum, e);
    }
    s.sum(sum)
}
