//! What runs on vector units: products of 8-bit codes, coding, and scores in f64.
//!
//! Each instruction set has the same three operations. Those of [`portable`] are the plain twins
//! that the others are compared with.

#[cfg(target_arch = "x86_64")]
mod avx_vnni;
mod portable;
#[cfg(target_arch = "x86_64")]
mod vnni;

use vprep_core::Metric;

/// Rows of the base in a panel: two vectors of 32-bit lanes.
pub(crate) const ROWS: usize = 32;
/// Queries in a panel: with [`ROWS`] rows they make 24 sums, which leaves 8 of 32 registers.
pub(crate) const QUERIES: usize = 12;
/// Codes that one instruction multiplies and sums in each lane.
pub(crate) const GROUP: usize = 4;

/// Four codes, 128 more than their values, of each row of a panel.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCodes(pub(crate) [u8; ROWS * GROUP]);

/// Four codes of each query of a panel.
pub(crate) type QueryCodes = [[i8; GROUP]; QUERIES];

/// One number for each row of a panel.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PerRow(pub(crate) [f32; ROWS]);

/// A panel of the base: `codes` for each group of dimensions, and what turns sums into estimates.
#[derive(Clone, Copy)]
pub(crate) struct RowPanel<'a> {
    pub(crate) codes: &'a [RowCodes],
    pub(crate) scale: &'a PerRow,
    pub(crate) offset: &'a PerRow,
}

/// A panel of queries, with as many groups.
#[derive(Clone, Copy)]
pub(crate) struct QueryPanel<'a> {
    pub(crate) codes: &'a [QueryCodes],
    /// The codes of the panel that will be multiplied next, to have them ready.
    pub(crate) next: &'a [QueryCodes],
    /// -128 times the sum of a query's codes, which undoes the 128 in the rows' codes.
    pub(crate) start: &'a [i32; QUERIES],
    pub(crate) scale: &'a [f32; QUERIES],
}

/// A vector in codes: each value is about `scale` times its code, from -127 to 127.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coded {
    /// The norm of the vector, bit for bit `vprep_core::norm`; not finite if a value is not.
    pub(crate) norm: f64,
    pub(crate) scale: f32,
    /// At least the norm of what the codes leave over.
    pub(crate) residual: f64,
}

/// The instructions that do the coarse pass.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Vnni(vnni::Vnni),
    #[cfg(target_arch = "x86_64")]
    AvxVnni(avx_vnni::AvxVnni),
}

impl Unit {
    /// The names by which [`Unit::named`] knows them.
    pub(crate) const NAMES: [&str; 3] = ["int8-portable", "int8-vnni", "int8-avx-vnni"];

    /// The fast instructions of this machine, if it has any: the plain ones are slower than an f32
    /// product.
    pub(crate) fn detect() -> Option<Self> {
        Self::named("int8-vnni").or_else(|| Self::named("int8-avx-vnni"))
    }

    /// The instructions of a name, if this machine has them.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "int8-portable" => Some(Self::Portable),
            #[cfg(target_arch = "x86_64")]
            "int8-vnni" => vnni::Vnni::detect().map(Self::Vnni),
            #[cfg(target_arch = "x86_64")]
            "int8-avx-vnni" => avx_vnni::AvxVnni::detect().map(Self::AvxVnni),
            _ => None,
        }
    }

    /// All that this machine has, the plain ones first.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Self::NAMES.into_iter().filter_map(Self::named)
    }

    /// Sets `out[q]` to the estimates of query `q` where a row's is not below `cuts()[q]`, and returns
    /// which rows those are, a bit each. `out` of other queries may be anything. `cuts` runs on the
    /// instructions of the unit if it can be inlined.
    #[inline]
    pub(crate) fn tile(
        self,
        rows: RowPanel<'_>,
        queries: QueryPanel<'_>,
        cuts: impl FnOnce() -> [f32; QUERIES],
        out: &mut [PerRow; QUERIES],
    ) -> [u32; QUERIES] {
        debug_assert_eq!(rows.codes.len(), queries.codes.len());
        match self {
            Self::Portable => portable::tile(rows, queries, cuts, out),
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(vnni) => vnni.tile(rows, queries, cuts, out),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(vnni) => vnni.tile(rows, queries, cuts, out),
        }
    }

    /// Codes a vector. `codes` may be longer; the rest is left as it is.
    pub(crate) fn code(self, values: &[f32], codes: &mut [i8]) -> Coded {
        match self {
            Self::Portable => portable::code(values, codes),
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(vnni) => vnni.code(values, codes),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(vnni) => vnni.code(values, codes),
        }
    }

    /// Inner product, or squared distance for L2, bit for bit as `vprep_core` defines them.
    pub(crate) fn score(self, metric: Metric, a: &[f32], b: &[f32]) -> f64 {
        match self {
            Self::Portable => portable::score(metric, a, b),
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(vnni) => vnni.score(metric, a, b),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(vnni) => vnni.score(metric, a, b),
        }
    }
}

/// Rows that score in f64 while the next ones are on their way from memory.
pub(crate) fn prefetch(row: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    vnni::prefetch(row);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

#[cfg(test)]
mod tests;
