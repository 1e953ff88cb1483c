//! The operations in plain code, which the compiler may turn into any instructions.

use super::{Coded, PerRow, QUERIES, QueryPanel, ROWS, RowPanel};
use vprep_core::{Metric, dot, squared_distance};

pub(super) fn tile(
    rows: RowPanel<'_>,
    queries: QueryPanel<'_>,
    cuts: impl FnOnce() -> [f32; QUERIES],
    out: &mut [PerRow; QUERIES],
) -> [u32; QUERIES] {
    let (cuts, mut hits) = (cuts(), [0; QUERIES]);
    for q in 0..QUERIES {
        for r in 0..ROWS {
            let mut sum = queries.start[q];
            for (row, query) in rows.codes.iter().zip(queries.codes) {
                for (i, &code) in query[q].iter().enumerate() {
                    sum += i32::from(row.0[r * 4 + i]) * i32::from(code);
                }
            }
            let estimate = sum as f32 * rows.scale.0[r] * queries.scale[q] - rows.offset.0[r];
            out[q].0[r] = estimate;
            let below = estimate < cuts[q];
            hits[q] |= u32::from(!below) << r;
        }
    }
    hits
}

/// 1.5 * 2^23: a number added to it is rounded to an integer, which the low bits then hold.
const ROUND: f32 = 12_582_912.0;

#[inline(always)]
pub(super) fn code(values: &[f32], codes: &mut [i8]) -> Coded {
    let largest = values.iter().fold(0, |max, x| (x.to_bits() & 0x7fff_ffff).max(max));
    let largest = f32::from_bits(largest);
    let norm = dot(values, values).sqrt();
    if largest == 0.0 {
        codes[..values.len()].fill(0);
        return Coded { norm, scale: 0.0, residual: 0.0 };
    }
    let (scale, inverse) = (largest / 127.0, 127.0 / largest);
    let mut squares = [0.0f32; 16];
    let one = |value: f32, code: &mut i8, square: &mut f32| {
        let rounded = value * inverse + ROUND;
        *code = rounded.to_bits() as i8;
        let rest = value - scale * (rounded - ROUND);
        *square += rest * rest;
    };
    let (blocks, rest) = values.as_chunks::<16>();
    let (code_blocks, code_rest) = codes[..values.len()].as_chunks_mut::<16>();
    for (values, codes) in blocks.iter().zip(code_blocks) {
        for i in 0..16 {
            one(values[i], &mut codes[i], &mut squares[i]);
        }
    }
    for ((&value, code), square) in rest.iter().zip(code_rest).zip(&mut squares) {
        one(value, code, square);
    }
    // The sum of squares and each rest are rounded in f32: see the documentation of `Slack`.
    let sum: f64 = squares.iter().map(|&square| f64::from(square)).sum();
    let unit = 2f64.powi(-24);
    let residual = sum.sqrt() * (1.0 + (values.len() as f64 + 8.0) * unit) + 4.0 * unit * norm;
    Coded { norm, scale, residual }
}

#[inline(always)]
pub(super) fn score(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    match metric {
        Metric::Cosine | Metric::Ip => dot(a, b),
        Metric::L2 => squared_distance(a, b),
    }
}
