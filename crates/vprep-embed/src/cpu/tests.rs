//! Kernels against float64, with every instruction set that the processor has.

use super::attention::{Attention, Scratch};
use super::elementwise::{exp, gelu};
use super::matrix::{Panels, Rows, lanes};
use super::norm::{LayerNorm, Norm};
use super::product::{Finish, Product};
use super::simd::{self, Kernel, LANES, Lane, Portable, Simd};
use proptest::prelude::*;
use vprep_core::sample::mix;

/// Runs the same check with each instruction set.
macro_rules! with_each {
    ($check:ident($($argument:expr),*)) => {
        #[cfg(target_arch = "x86_64")]
        {
            simd::Avx512::detect().map(|s| $check(s, $($argument),*));
            simd::Avx2::detect().map(|s| $check(s, $($argument),*));
        }
        $check(Portable, $($argument),*);
    };
}

/// Seeded values from -1 to 1.
fn values(count: usize, seed: u64) -> Vec<f32> {
    let unit = |i: usize| (mix(seed ^ mix(i as u64)) >> 40) as f32 / (1 << 23) as f32 - 1.0;
    (0..count).map(unit).collect()
}

fn rows<S: Simd>(values: &[f32], columns: usize) -> Rows {
    let mut rows = Rows::default();
    rows.resize::<S>(values.len() / columns, columns);
    for (row, values) in values.chunks(columns).enumerate() {
        for (chunk, values) in values.chunks(LANES).enumerate() {
            let at = rows.at::<S>(row, chunk);
            rows.lanes[at].0.copy_from_slice(values);
        }
    }
    rows
}

fn row<S: Simd>(x: &Rows, row: usize) -> Vec<f64> {
    let lane = |chunk| x.lanes[x.at::<S>(row, chunk)].0.map(f64::from);
    (0..x.chunks).flat_map(lane).collect()
}

struct Each<'a>(&'a mut [Lane], Function);

#[derive(Clone, Copy)]
enum Function {
    Exp,
    Gelu,
}

impl Kernel for Each<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for lane in self.0 {
            let v = match self.1 {
                Function::Exp => exp(s, s.load(lane)),
                Function::Gelu => gelu(s, s.load(lane)),
            };
            s.store(v, lane);
        }
    }
}

fn apply<S: Simd>(s: S, function: Function, x: f32) -> f64 {
    let mut lane = [Lane([x; LANES])];
    s.run(Each(&mut lane, function));
    assert!(lane[0].0.iter().all(|y| y.to_bits() == lane[0].0[0].to_bits()));
    f64::from(lane[0].0[0])
}

/// erf by its series up to 3 and its continued fraction beyond (Abramowitz and Stegun 7.1.6 and
/// 7.1.14), in f64.
fn erf(x: f64) -> f64 {
    let z = x.abs();
    let value = if z < 3.0 {
        let (mut term, mut sum) = (z, z);
        for n in 1..100 {
            term *= 2.0 * z * z / f64::from(2 * n + 1);
            sum += term;
        }
        2.0 / std::f64::consts::PI.sqrt() * (-z * z).exp() * sum
    } else {
        let tail = (1..60).rev().fold(z, |below, n| z + f64::from(n) / 2.0 / below);
        1.0 - (-z * z).exp() / std::f64::consts::PI.sqrt() / tail
    };
    value.copysign(x)
}

fn check_exp<S: Simd>(s: S, x: f32) {
    let (found, exact) = (apply(s, Function::Exp, x), f64::from(x).exp());
    assert!((found / exact - 1.0).abs() < 1.2e-7 + 1e-7, "exp({x}) = {found}, not {exact}");
}

fn check_gelu<S: Simd>(s: S, x: f32) {
    let wide = f64::from(x);
    let exact = wide / 2.0 * (1.0 + erf(wide / 2f64.sqrt()));
    let found = apply(s, Function::Gelu, x);
    assert!((found - exact).abs() < 6e-7 + 6e-8 * exact.abs(), "gelu({x}) = {found}, not {exact}");
}

fn check_norm<S: Simd>(s: S, columns: usize, seed: u64) {
    let x = values(5 * columns, seed);
    let (scale, shift) = (values(columns, seed + 1), values(columns, seed + 2));
    let norm = Norm { scale: lanes(&scale), shift: lanes(&shift), epsilon: 1e-12 };
    let mut found = rows::<S>(&x, columns);
    s.run(LayerNorm { norm: &norm, x: &mut found, rows: 1..5 });
    assert_eq!(row::<S>(&found, 0), x[..columns].iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
    for r in 1..5 {
        let x: Vec<f64> = x[r * columns..][..columns].iter().map(|&x| f64::from(x)).collect();
        let n = columns as f64;
        let mean = x.iter().sum::<f64>() / n;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        for (i, found) in row::<S>(&found, r).into_iter().enumerate() {
            let unit = (x[i] - mean) / (variance + 1e-12).sqrt();
            let exact = unit * f64::from(scale[i]) + f64::from(shift[i]);
            assert!((found - exact).abs() < 2e-6, "{found}, not {exact}");
        }
    }
}

fn check_product<S: Simd>(s: S, count: usize, inner: usize, columns: usize, seed: u64) {
    let (a, w) = (values(count * inner, seed), values(columns * inner, seed + 1));
    let (bias, old) = (values(columns, seed + 2), values(count * columns, seed + 3));
    let weights = Panels::pack::<S>(&w, columns, inner);
    let (a_rows, bias_lanes) = (rows::<S>(&a, inner), lanes(&bias));
    let run = |finish: Finish<'_>| {
        let mut out = rows::<S>(&old, columns);
        s.run(Product {
            a: &a_rows,
            from: 0..count,
            weights: &weights,
            out: &mut out,
            to: 0,
            finish,
        });
        (0..count).flat_map(|r| row::<S>(&out, r)).collect::<Vec<f64>>()
    };
    let plain = run(Finish::None);
    let biased = run(Finish::Bias(&bias_lanes));
    let residual = run(Finish::Residual(&bias_lanes));
    for (i, plain) in plain.iter().enumerate() {
        let (r, c) = (i / columns, i % columns);
        let exact = vprep_core::dot(&a[r * inner..][..inner], &w[c * inner..][..inner]);
        let (bias, old) = (f64::from(bias[c]), f64::from(old[i]));
        // Half an ulp for each of the steps of the sum, whose partial sums are below `inner`.
        let bound = 6e-8 * (inner as f64).powf(1.5);
        assert!((plain - exact).abs() < bound, "{plain}, not {exact}");
        assert!((biased[i] - exact - bias).abs() < bound + 1e-6);
        assert!((residual[i] - exact - bias - old).abs() < bound + 1e-6);
    }
}

fn check_attention<S: Simd>(s: S, length: usize, heads: usize, head: usize, seed: u64) {
    let hidden = heads * head;
    // Rows before and after the text must not matter.
    let total = length + 5;
    let (q, kv) = (values(total * hidden, seed), values(total * 2 * hidden, seed + 1));
    let (q_rows, kv_rows) = (rows::<S>(&q, hidden), rows::<S>(&kv, 2 * hidden));
    let mut out = Rows::default();
    out.resize::<S>(total, hidden);
    let text = 3..3 + length;
    s.run(Attention {
        q: &q_rows,
        queries: text.clone(),
        kv: &kv_rows,
        keys: text.clone(),
        heads,
        out: &mut out,
        scratch: &mut Scratch::default(),
    });
    for r in text.clone() {
        let found = row::<S>(&out, r);
        for h in 0..heads {
            let query = &q[r * hidden + h * head..][..head];
            let key = |j: usize| &kv[j * 2 * hidden + h * head..][..head];
            let weights: Vec<f64> =
                text.clone().map(|j| vprep_core::dot(query, key(j)).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for i in 0..head {
                let value = |j: usize| f64::from(kv[j * 2 * hidden + hidden + h * head + i]);
                let exact: f64 =
                    text.clone().zip(&weights).map(|(j, w)| w * value(j)).sum::<f64>() / sum;
                let found = found[h * head + i];
                assert!((found - exact).abs() < 3e-6, "{found}, not {exact}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn exp_is_exact_to_an_ulp(x in -86.0f32..0.0) {
        with_each!(check_exp(x));
    }

    #[test]
    fn gelu_is_exact_to_six_ten_millionths(x in -9.0f32..9.0) {
        with_each!(check_gelu(x));
    }

    #[test]
    fn layer_norm_agrees_with_f64(chunks in 1usize..50, seed in any::<u32>()) {
        with_each!(check_norm(chunks * LANES, seed.into()));
    }

    #[test]
    fn products_agree_with_f64(
        count in 1usize..40, inner in 1usize..8, columns in 1usize..8, seed in any::<u32>(),
    ) {
        with_each!(check_product(count, inner * LANES, columns * LANES, seed.into()));
    }

    #[test]
    fn attention_agrees_with_f64(
        length in 1usize..90, heads in 1usize..4, chunks in 1usize..5, seed in any::<u32>(),
    ) {
        with_each!(check_attention(length, heads, chunks * LANES, seed.into()));
    }
}

#[test]
fn what_is_not_finite_stays_so() {
    fn check<S: Simd>(s: S) {
        for x in [f32::NAN, f32::INFINITY] {
            assert!(!apply(s, Function::Gelu, x).is_finite(), "{x}");
        }
        assert!(apply(s, Function::Exp, f32::NAN).is_nan());
    }
    with_each!(check());
}
