//! AVX2 with VNNI: what processors without AVX-512 have of it.

#![expect(unsafe_code, reason = "instructions that not every processor has")]

use super::{Coded, PerRow, QUERIES, QueryPanel, ROWS, RowPanel, portable};
use std::arch::x86_64::*;
use vprep_core::Metric;

/// Rows in a vector of 32-bit lanes.
const LANES: usize = 8;
/// Vectors of a panel that are summed at a time: with half of the queries they make 12 sums, which
/// leaves 4 of 16 registers.
const VECTORS: usize = 2;
const HALF: usize = QUERIES / 2;

/// A value proves that the processor has the instructions: `detect` alone makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AvxVnni(());

impl AvxVnni {
    pub(super) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("avxvnni")
            && is_x86_feature_detected!("fma");
        all.then_some(Self(()))
    }

    // SAFETY, of all three: `self` proves that the features are there.

    #[inline]
    pub(super) fn tile(
        self,
        rows: RowPanel<'_>,
        queries: QueryPanel<'_>,
        cuts: impl FnOnce() -> [f32; QUERIES],
        out: &mut [PerRow; QUERIES],
    ) -> [u32; QUERIES] {
        unsafe { tile(rows, queries, cuts, out) }
    }

    pub(super) fn code(self, values: &[f32], codes: &mut [i8]) -> Coded {
        unsafe { code(values, codes) }
    }

    pub(super) fn score(self, metric: Metric, a: &[f32], b: &[f32]) -> f64 {
        unsafe { score(metric, a, b) }
    }
}

#[target_feature(enable = "avx2,avxvnni,fma")]
fn code(values: &[f32], codes: &mut [i8]) -> Coded {
    portable::code(values, codes)
}

#[target_feature(enable = "avx2,avxvnni,fma")]
fn score(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    portable::score(metric, a, b)
}

#[target_feature(enable = "avx2,avxvnni,fma")]
fn tile(
    rows: RowPanel<'_>,
    queries: QueryPanel<'_>,
    cuts: impl FnOnce() -> [f32; QUERIES],
    out: &mut [PerRow; QUERIES],
) -> [u32; QUERIES] {
    let (cuts, mut hits) = (cuts(), [0; QUERIES]);
    // The estimates that were not wanted are overwritten by those of the next panel.
    for vector in (0..ROWS / LANES).step_by(VECTORS) {
        for query in [0, HALF] {
            let sums = sums(rows, queries, vector, query);
            for (q, sums) in (query..).zip(sums) {
                hits[q] |= estimate(rows, &queries, &cuts, (q, vector), sums, &mut out[q]);
            }
        }
    }
    hits
}

/// The sums of [`HALF`] queries from `query` on with the rows of [`VECTORS`] vectors from `vector`
/// on.
#[inline]
#[target_feature(enable = "avx2,avxvnni,fma")]
fn sums(
    rows: RowPanel<'_>,
    queries: QueryPanel<'_>,
    vector: usize,
    query: usize,
) -> [[__m256i; VECTORS]; HALF] {
    let mut sums = [[_mm256_setzero_si256(); VECTORS]; HALF];
    for (sums, &start) in sums.iter_mut().zip(&queries.start[query..]) {
        *sums = [_mm256_set1_epi32(start); VECTORS];
    }
    for (row, codes) in rows.codes.iter().zip(queries.codes) {
        // SAFETY: `row` is 128 aligned bytes: four vectors, and there are two from `vector` on.
        let (low, high) = unsafe {
            let row = row.0.as_ptr().cast::<__m256i>().add(vector);
            (_mm256_load_si256(row), _mm256_load_si256(row.add(1)))
        };
        for (q, sums) in (query..).zip(&mut sums) {
            let codes = _mm256_set1_epi32(i32::from_ne_bytes(codes[q].map(|code| code as u8)));
            sums[0] = _mm256_dpbusd_avx_epi32(sums[0], low, codes);
            sums[1] = _mm256_dpbusd_avx_epi32(sums[1], high, codes);
        }
    }
    sums
}

/// Turns the sums of a query `q` into estimates in `out`, and gives a bit for each that is not below
/// its cut.
#[inline]
#[target_feature(enable = "avx2,avxvnni,fma")]
fn estimate(
    rows: RowPanel<'_>,
    queries: &QueryPanel<'_>,
    cuts: &[f32; QUERIES],
    (q, vector): (usize, usize),
    sums: [__m256i; VECTORS],
    out: &mut PerRow,
) -> u32 {
    let (query, cut) = (_mm256_set1_ps(queries.scale[q]), _mm256_set1_ps(cuts[q]));
    let mut hits = 0;
    for (i, sum) in (vector..).zip(sums) {
        // SAFETY: a `PerRow` is 32 aligned floats: four vectors, of which `i` is one.
        let (scale, offset, out) = unsafe {
            let load = |per_row: &PerRow| _mm256_load_ps(per_row.0.as_ptr().add(i * LANES));
            (load(rows.scale), load(rows.offset), out.0.as_mut_ptr().add(i * LANES))
        };
        let product = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale);
        let estimate = _mm256_fmsub_ps(product, query, offset);
        let mask = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_NLT_UQ>(estimate, cut));
        hits |= (mask as u32) << (i * LANES);
        // SAFETY: as above.
        unsafe { _mm256_store_ps(out, estimate) };
    }
    hits
}
