//! Plain Rust, for every other processor.

use super::{Kernel, LANES, Lane, Simd, tile};

/// Always there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

#[inline(always)]
fn each(a: [f32; LANES], b: [f32; LANES], operation: impl Fn(f32, f32) -> f32) -> [f32; LANES] {
    let mut out = a;
    for (out, b) in out.iter_mut().zip(b) {
        *out = operation(*out, b);
    }
    out
}

impl Simd for Portable {
    type V = [f32; LANES];
    const ROWS: usize = 4;
    const PANEL: usize = 1;

    fn run(self, kernel: impl Kernel) {
        kernel.run(self);
    }

    fn tile(self, rows: usize, a: &[Lane], b: &[Lane], out: &mut [Lane]) {
        match rows {
            0..=2 => tile::<Self, 2, 4, 1>(self, a, b, out),
            _ => tile::<Self, 4, 4, 1>(self, a, b, out),
        }
    }

    #[inline(always)]
    fn splat(self, x: f32) -> Self::V {
        [x; LANES]
    }

    #[inline(always)]
    fn load(self, lane: &Lane) -> Self::V {
        lane.0
    }

    #[inline(always)]
    fn store(self, v: Self::V, lane: &mut Lane) {
        lane.0 = v;
    }

    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        each(each(a, b, |a, b| a * b), c, |ab, c| ab + c)
    }

    // As the instructions of x86 do: the second operand where the comparison fails, as with NaN.
    #[inline(always)]
    fn max(self, a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn power_of_two(self, shifted: Self::V) -> Self::V {
        each(shifted, shifted, |x, _| f32::from_bits((x.to_bits() << 23).wrapping_add(0x3f80_0000)))
    }
}
