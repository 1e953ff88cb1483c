//! How the work is cut into pieces. No result depends on it.

use crate::shortlist::Shortlist;

/// Sizes of the pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks {
    /// Rows of the base in one product.
    pub(crate) base: usize,
    /// Queries in one product, at most.
    pub(crate) tile: usize,
    /// Queries in one product, at least, while there are idle threads.
    pub(crate) small_tile: usize,
    /// Rows of the base that every thread passes over before any goes on: a base larger than
    /// memory is read once for each block of queries, not once for each tile.
    pub(crate) chunk: usize,
    /// Bytes that the shortlists and results of one block of queries may take.
    pub(crate) bytes: usize,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { base: 1024, tile: 512, small_tile: 16, chunk: 1 << 15, bytes: 256 << 20 }
    }
}

/// A block of queries cut among threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Queries in a tile; the last one may have fewer.
    pub(crate) tile: usize,
    /// How many tasks share the base among them for each tile.
    pub(crate) strands: usize,
}

impl Blocks {
    /// How many queries are answered at once, so that memory stays bounded.
    pub(crate) fn queries_at_once(&self, k: usize, rows: usize) -> usize {
        let result = size_of::<i32>() + size_of::<f32>();
        (self.bytes / (Shortlist::bytes(k + 1, rows) + k * result)).max(1)
    }

    /// The same for a pass that takes so many bytes for each query beside its result.
    pub(crate) fn coded_queries_at_once(&self, k: usize, bytes: usize) -> usize {
        let result = size_of::<i32>() + size_of::<f32>();
        (self.bytes / (bytes + k * result)).max(1)
    }

    /// Cuts `queries` queries so that `threads` threads have the same amount of work: tiles as
    /// large as may be, and where there are too few queries for that, a share of the base each.
    pub(crate) fn cut(&self, queries: usize, threads: usize) -> Cut {
        let tiles = queries.div_ceil(self.tile).next_multiple_of(threads);
        let tile = queries.div_ceil(tiles).max(self.small_tile).min(self.tile).min(queries);
        Cut { tile, strands: threads.div_ceil(queries.div_ceil(tile)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_come_in_multiples_of_the_threads_and_few_queries_share_the_base() {
        let cut = |queries, threads| {
            let Cut { tile, strands } =
                Blocks { tile: 256, ..Blocks::default() }.cut(queries, threads);
            (tile, strands)
        };
        assert_eq!(cut(1000, 1), (250, 1));
        assert_eq!(cut(1000, 2), (250, 1));
        assert_eq!(cut(1000, 3), (167, 1));
        assert_eq!(cut(40, 2), (20, 1));
        assert_eq!(cut(20, 8), (16, 4));
        assert_eq!(cut(1, 3), (1, 3));
    }

    #[test]
    fn a_large_k_takes_fewer_queries_at_once() {
        let blocks = Blocks::default();
        assert_eq!(blocks.queries_at_once(1, 1 << 30), 163_680);
        assert_eq!(blocks.queries_at_once(100_000, 100_000), 83);
        assert_eq!(blocks.queries_at_once(i32::MAX as usize, i32::MAX as usize), 1);
    }
}
