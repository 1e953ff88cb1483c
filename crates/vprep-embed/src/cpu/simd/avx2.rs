//! AVX2 with FMA: two registers for the 16 lanes.

use super::{Kernel, Lane, Simd, tile};
use std::arch::x86_64::*;

/// AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }
}

#[target_feature(enable = "avx2,fma")]
fn with_avx2(simd: Avx2, kernel: impl Kernel) {
    kernel.run(simd);
}

#[target_feature(enable = "avx2,fma")]
fn tile_avx2(simd: Avx2, rows: usize, a: &[Lane], b: &[Lane], out: &mut [Lane]) {
    match rows {
        0..=2 => tile::<Avx2, 2, 6, 1>(simd, a, b, out),
        3..=4 => tile::<Avx2, 4, 6, 1>(simd, a, b, out),
        _ => tile::<Avx2, 6, 6, 1>(simd, a, b, out),
    }
}

/// Lanes 0 to 7 and 8 to 15.
type Pair = (__m256, __m256);

#[expect(unsafe_code, reason = "instructions that not every processor has")]
impl Simd for Avx2 {
    type V = Pair;
    // 12 sums, 2 columns and 1 broadcast value in 16 registers.
    const ROWS: usize = 6;
    const PANEL: usize = 1;

    // SAFETY, here and below: a value of the type exists only where `detect` found the features.
    // Loads and stores go through references to 16 aligned floats.

    fn run(self, kernel: impl Kernel) {
        unsafe { with_avx2(self, kernel) }
    }

    fn tile(self, rows: usize, a: &[Lane], b: &[Lane], out: &mut [Lane]) {
        unsafe { tile_avx2(self, rows, a, b, out) }
    }

    #[inline(always)]
    fn splat(self, x: f32) -> Pair {
        unsafe { (_mm256_set1_ps(x), _mm256_set1_ps(x)) }
    }

    #[inline(always)]
    fn load(self, lane: &Lane) -> Pair {
        let p = lane.0.as_ptr();
        unsafe { (_mm256_load_ps(p), _mm256_load_ps(p.add(8))) }
    }

    #[inline(always)]
    fn store(self, v: Pair, lane: &mut Lane) {
        let p = lane.0.as_mut_ptr();
        unsafe {
            _mm256_store_ps(p, v.0);
            _mm256_store_ps(p.add(8), v.1);
        }
    }

    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        unsafe { (_mm256_add_ps(a.0, b.0), _mm256_add_ps(a.1, b.1)) }
    }

    #[inline(always)]
    fn sub(self, a: Pair, b: Pair) -> Pair {
        unsafe { (_mm256_sub_ps(a.0, b.0), _mm256_sub_ps(a.1, b.1)) }
    }

    #[inline(always)]
    fn mul(self, a: Pair, b: Pair) -> Pair {
        unsafe { (_mm256_mul_ps(a.0, b.0), _mm256_mul_ps(a.1, b.1)) }
    }

    #[inline(always)]
    fn mul_add(self, a: Pair, b: Pair, c: Pair) -> Pair {
        unsafe { (_mm256_fmadd_ps(a.0, b.0, c.0), _mm256_fmadd_ps(a.1, b.1, c.1)) }
    }

    #[inline(always)]
    fn max(self, a: Pair, b: Pair) -> Pair {
        unsafe { (_mm256_max_ps(a.0, b.0), _mm256_max_ps(a.1, b.1)) }
    }

    #[inline(always)]
    fn min(self, a: Pair, b: Pair) -> Pair {
        unsafe { (_mm256_min_ps(a.0, b.0), _mm256_min_ps(a.1, b.1)) }
    }

    #[inline(always)]
    fn power_of_two(self, shifted: Pair) -> Pair {
        unsafe {
            let one = _mm256_set1_epi32(0x3f80_0000);
            let low = _mm256_slli_epi32::<23>(_mm256_castps_si256(shifted.0));
            let high = _mm256_slli_epi32::<23>(_mm256_castps_si256(shifted.1));
            (
                _mm256_castsi256_ps(_mm256_add_epi32(low, one)),
                _mm256_castsi256_ps(_mm256_add_epi32(high, one)),
            )
        }
    }
}
