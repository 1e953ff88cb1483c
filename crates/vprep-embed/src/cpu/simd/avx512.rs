//! AVX-512.

use super::{Kernel, Lane, Simd, tile};
use std::arch::x86_64::*;

/// AVX-512 F, which brings everything used here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(crate) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }
}

#[target_feature(enable = "avx512f,avx2,fma")]
fn with_avx512(simd: Avx512, kernel: impl Kernel) {
    kernel.run(simd);
}

#[target_feature(enable = "avx512f,avx2,fma")]
fn tile_avx512(simd: Avx512, rows: usize, a: &[Lane], b: &[Lane], out: &mut [Lane]) {
    match rows {
        0..=2 => tile::<Avx512, 2, 14, 2>(simd, a, b, out),
        3..=4 => tile::<Avx512, 4, 14, 2>(simd, a, b, out),
        5..=6 => tile::<Avx512, 6, 14, 2>(simd, a, b, out),
        7..=8 => tile::<Avx512, 8, 14, 2>(simd, a, b, out),
        9..=10 => tile::<Avx512, 10, 14, 2>(simd, a, b, out),
        11..=12 => tile::<Avx512, 12, 14, 2>(simd, a, b, out),
        _ => tile::<Avx512, 14, 14, 2>(simd, a, b, out),
    }
}

#[expect(unsafe_code, reason = "instructions that not every processor has")]
impl Simd for Avx512 {
    type V = __m512;
    // 28 sums, 2 columns and 1 broadcast value in 32 registers.
    const ROWS: usize = 14;
    const PANEL: usize = 2;

    // SAFETY, here and below: a value of the type exists only where `detect` found the features.
    // Loads and stores go through references to 16 aligned floats.

    fn run(self, kernel: impl Kernel) {
        unsafe { with_avx512(self, kernel) }
    }

    fn tile(self, rows: usize, a: &[Lane], b: &[Lane], out: &mut [Lane]) {
        unsafe { tile_avx512(self, rows, a, b, out) }
    }

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn load(self, lane: &Lane) -> __m512 {
        unsafe { _mm512_load_ps(lane.0.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, v: __m512, lane: &mut Lane) {
        unsafe { _mm512_store_ps(lane.0.as_mut_ptr(), v) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_min_ps(a, b) }
    }

    #[inline(always)]
    fn power_of_two(self, shifted: __m512) -> __m512 {
        unsafe {
            let exponent = _mm512_slli_epi32::<23>(_mm512_castps_si512(shifted));
            _mm512_castsi512_ps(_mm512_add_epi32(exponent, _mm512_set1_epi32(0x3f80_0000)))
        }
    }
}
