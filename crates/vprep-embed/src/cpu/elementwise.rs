//! Functions of single values: exp and GELU, 16 values at a time.

use super::simd::Simd;

/// e^x = 2^n e^r with n whole and |r| <= ln(2)/2: Cephes' reduction. The polynomial interpolates
/// e^r at Chebyshev nodes (numpy's `chebfit`). Relative error below 1.2e-7 for x from -87 to 0;
/// below -87 the result is that of -87, about 1.6e-38.
#[inline(always)]
pub(crate) fn exp<S: Simd>(s: S, x: S::V) -> S::V {
    // Adding 1.5 * 2^23 rounds to a whole number, which then stands in the low bits.
    const SHIFT: f32 = 12_582_912.0;
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    // ln(2) in two parts; the first is 355/512, so that n times it is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    const POLYNOMIAL: [f32; 7] =
        [1.0, 1.0, 0.5, 0.166_664_15, 0.041_666_217, 0.008_375_129, 0.001_394_858_1];
    // The second operand is kept where it is NaN.
    let x = s.max(s.splat(-87.0), x);
    let shifted = s.mul_add(x, s.splat(LOG2_E), s.splat(SHIFT));
    let n = s.sub(shifted, s.splat(SHIFT));
    let r = s.mul_add(n, s.splat(-LN2_HIGH), x);
    let r = s.mul_add(n, s.splat(-LN2_LOW), r);
    s.mul(polynomial(s, r, &POLYNOMIAL), s.power_of_two(shifted))
}

/// x/2 (1 + erf(x / sqrt(2))): GELU as BERT defines it. Absolute error below 5e-7 up to |x| = 5.5,
/// and exactly x or 0 beyond.
///
/// erf(x / sqrt(2)) / x is an even function; in u = 2 (x / 5.5)^2 - 1 it is interpolated at
/// Chebyshev nodes (numpy's `chebfit`, degree 16, of mpmath's erf). At 5.5 erf is 1 in f32.
#[inline(always)]
pub(crate) fn gelu<S: Simd>(s: S, x: S::V) -> S::V {
    const BOUND: f32 = 5.5;
    const POLYNOMIAL: [f32; 17] = [
        2.571_038_6e-1,
        -1.283_446_3e-1,
        9.547_467e-2,
        -7.758_759e-2,
        6.415_382e-2,
        -5.207_23e-2,
        4.061_463_5e-2,
        -3.012_504_8e-2,
        2.093_727_3e-2,
        -1.330_135_7e-2,
        8.148_259_5e-3,
        -5.317_405e-3,
        2.814_852_9e-3,
        -7.135_092e-4,
        3.678_333_3e-4,
        -5.713_526_6e-4,
        2.361_599_9e-4,
    ];
    let clamped = s.max(s.splat(-BOUND), s.min(s.splat(BOUND), x));
    let square = s.mul(clamped, clamped);
    let u = s.mul_add(square, s.splat(2.0 / (BOUND * BOUND)), s.splat(-1.0));
    let erf = s.mul(polynomial(s, u, &POLYNOMIAL), clamped);
    let erf = s.max(s.splat(-1.0), s.min(s.splat(1.0), erf));
    let half = s.mul(x, s.splat(0.5));
    s.mul_add(half, erf, half)
}

/// Horner's rule; coefficients from the constant one on.
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(s: S, x: S::V, coefficients: &[f32; N]) -> S::V {
    let mut sum = s.splat(coefficients[N - 1]);
    for i in (0..N - 1).rev() {
        sum = s.mul_add(sum, x, s.splat(coefficients[i]));
    }
    sum
}
