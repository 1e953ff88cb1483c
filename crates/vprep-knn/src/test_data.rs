//! Matrices for the tests: every kind of number that a search may be given.

use proptest::prelude::*;
use vprep_core::{UNIT_TOLERANCE, norm};

#[derive(Clone, Copy, Debug)]
enum Numbers {
    Gaussian,
    SmallIntegers,
    Equal,
    Huge,
    Tiny,
    Subnormal,
    Mixed,
    LognormalNorms,
    FarFromOrigin,
    /// One row, with the last bits of its values changed.
    Nudged,
    /// Of unit length, or so near to it that it just does or just does not count as such.
    NearlyUnit,
}

const NUMBERS: &[Numbers] = &[
    Numbers::Gaussian,
    Numbers::SmallIntegers,
    Numbers::Equal,
    Numbers::Huge,
    Numbers::Tiny,
    Numbers::Subnormal,
    Numbers::Mixed,
    Numbers::LognormalNorms,
    Numbers::FarFromOrigin,
    Numbers::Nudged,
    Numbers::NearlyUnit,
];

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }

    /// Nearly normal.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

fn row(numbers: Numbers, dim: usize, random: &mut Random) -> Vec<f32> {
    let scale = match numbers {
        Numbers::LognormalNorms => (2.0 * random.normal()).exp(),
        Numbers::Mixed => 10f64.powf(76.0 * random.unit() - 38.0),
        Numbers::Huge => 10f64.powf(18.0 + 12.0 * random.unit()),
        Numbers::Tiny => 1e-30,
        Numbers::Subnormal => 1e-41,
        _ => 1.0,
    };
    let one = |i: usize| match numbers {
        Numbers::SmallIntegers => (random.below(5) as f32) - 2.0,
        Numbers::Equal => 0.1,
        Numbers::FarFromOrigin => (1000.0 + 0.01 * random.normal()) as f32,
        Numbers::Nudged => f32::from_bits((i as f32).sin().to_bits() + random.below(2) as u32),
        _ => ((scale * random.normal()) as f32).clamp(f32::MIN, f32::MAX),
    };
    let mut row: Vec<f32> = (0..dim).map(one).collect();
    if let Numbers::NearlyUnit = numbers {
        let length = 1.0 + [0.0, UNIT_TOLERANCE, -UNIT_TOLERANCE][random.below(3)];
        let scale = length / norm(&row).max(1e-9);
        row.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as f32);
    }
    row
}

/// `rows x dim` values; in a third of the matrices some rows are zero, some repeated.
fn matrix(numbers: Numbers, rows: usize, dim: usize, random: &mut Random) -> Vec<f32> {
    let odd = random.below(3) == 0;
    let mut data = Vec::with_capacity(rows * dim);
    for i in 0..rows {
        match if odd { random.below(6) } else { 5 } {
            0 => data.resize((i + 1) * dim, 0.0),
            1 | 2 if i > 0 => {
                let earlier = random.below(i);
                data.extend_from_within(earlier * dim..(earlier + 1) * dim);
            }
            _ => data.extend(row(numbers, dim, random)),
        }
    }
    data
}

/// A dimension, queries and a base of any kinds of numbers.
pub(crate) fn data(
    most_queries: usize,
    most_rows: usize,
) -> impl Strategy<Value = (usize, Vec<f32>, Vec<f32>)> {
    let dim = prop_oneof![9 => 1usize..70, 1 => 70usize..2000];
    let kind = || prop::sample::select(NUMBERS);
    // Queries are often like the base, and sometimes not.
    let kinds = prop_oneof![3 => kind().prop_map(|k| (k, k)), 1 => (kind(), kind())];
    (dim, 1..=most_queries, 1..=most_rows, kinds, any::<u64>()).prop_map(
        |(dim, queries, rows, (a, b), seed)| {
            let mut random = Random(seed);
            let queries = matrix(a, queries, dim, &mut random);
            (dim, queries, matrix(b, rows, dim, &mut random))
        },
    )
}
