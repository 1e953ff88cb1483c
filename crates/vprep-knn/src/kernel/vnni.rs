//! AVX-512 with VNNI.

#![expect(unsafe_code, reason = "instructions that not every processor has")]

use super::{Coded, PerRow, QUERIES, QueryPanel, RowPanel, portable};
use std::arch::x86_64::*;
use vprep_core::Metric;

/// A value proves that the processor has the instructions: `detect` alone makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vnni(());

impl Vnni {
    pub(super) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni")
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

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]
fn code(values: &[f32], codes: &mut [i8]) -> Coded {
    portable::code(values, codes)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]
fn score(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    portable::score(metric, a, b)
}

#[target_feature(enable = "avx512f,avx512vnni,fma")]
fn tile(
    rows: RowPanel<'_>,
    queries: QueryPanel<'_>,
    cuts: impl FnOnce() -> [f32; QUERIES],
    out: &mut [PerRow; QUERIES],
) -> [u32; QUERIES] {
    let mut sums = [[_mm512_setzero_si512(); 2]; QUERIES];
    for (sums, &start) in sums.iter_mut().zip(queries.start) {
        *sums = [_mm512_set1_epi32(start); 2];
    }
    let mut next = queries.next.as_ptr();
    for (row, query) in rows.codes.iter().zip(queries.codes) {
        // It may be asked for any address: a prefetch reads nothing that anyone sees.
        _mm_prefetch::<_MM_HINT_T0>(next.cast());
        next = next.wrapping_add(1);
        // SAFETY: `row` is 128 aligned bytes.
        let (low, high) = unsafe {
            let row = row.0.as_ptr().cast::<__m512i>();
            (_mm512_load_si512(row), _mm512_load_si512(row.add(1)))
        };
        for q in 0..QUERIES {
            let codes = _mm512_set1_epi32(i32::from_ne_bytes(query[q].map(|code| code as u8)));
            sums[q][0] = _mm512_dpbusd_epi32(sums[q][0], low, codes);
            sums[q][1] = _mm512_dpbusd_epi32(sums[q][1], high, codes);
        }
    }
    // SAFETY, here and below: a `PerRow` is 32 aligned floats.
    let load = |per_row: &PerRow| unsafe {
        let floats = per_row.0.as_ptr();
        [_mm512_load_ps(floats), _mm512_load_ps(floats.add(16))]
    };
    let (scale, offset) = (load(rows.scale), load(rows.offset));
    let (cuts, mut hits) = (cuts(), [0; QUERIES]);
    for q in 0..QUERIES {
        let (query, cut) = (_mm512_set1_ps(queries.scale[q]), _mm512_set1_ps(cuts[q]));
        let mut masks = [0; 2];
        let mut estimates = [_mm512_setzero_ps(); 2];
        for half in 0..2 {
            let product = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[q][half]), scale[half]);
            estimates[half] = _mm512_fmsub_ps(product, query, offset[half]);
            masks[half] = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(estimates[half], cut);
        }
        hits[q] = u32::from(masks[0]) | u32::from(masks[1]) << 16;
        if hits[q] != 0 {
            let floats = out[q].0.as_mut_ptr();
            unsafe {
                _mm512_store_ps(floats, estimates[0]);
                _mm512_store_ps(floats.add(16), estimates[1]);
            }
        }
    }
    hits
}

/// Asks for a row, or the beginning of a long one: the rest follows by the processor's own guess.
pub(super) fn prefetch(row: &[f32]) {
    for line in row.chunks(16).take(64) {
        // SAFETY: SSE is part of x86-64, and a prefetch of a borrowed slice reads no more than it.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) };
    }
}
