//! Vectors of 16 f32 lanes on whatever the processor has.
//!
//! Kernels are written once, over [`Simd`], and compiled for each instruction set; which one runs
//! is chosen at run time. Every operation is one IEEE operation per lane, and there are always 16
//! lanes, so that a kernel gives the same bits with AVX-512 and with AVX2. The portable set has no
//! fused multiply-add and may differ in the last bit.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use portable::Portable;

/// Lanes of a vector.
pub(crate) const LANES: usize = 16;

/// A vector in memory: one cache line.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lane(pub(crate) [f32; LANES]);

/// Work that runs with the instructions of a set switched on. `run` must be `#[inline(always)]`,
/// and so must be what it calls: else it is compiled without them.
pub(crate) trait Kernel {
    fn run<S: Simd>(self, simd: S);
}

/// An instruction set. A value proves that the processor has it.
pub(crate) trait Simd: Copy + Send + Sync {
    /// A vector in registers.
    type V: Copy;
    /// Rows of the largest tile of a matrix product that stays in registers.
    const ROWS: usize;
    /// Vectors in a row of that tile.
    const PANEL: usize;

    /// Runs a kernel with the instructions switched on.
    fn run(self, kernel: impl Kernel);

    /// Multiplies a block of rows with a panel of columns; see [`tile`] for the layouts. `rows`
    /// says how many rows matter, at most `ROWS`.
    fn tile(self, rows: usize, a: &[Lane], b: &[Lane], out: &mut [Lane]);

    fn splat(self, x: f32) -> Self::V;
    fn load(self, lane: &Lane) -> Self::V;
    fn store(self, v: Self::V, lane: &mut Lane);
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`, rounded once where the instruction exists.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// 2^n for lanes that hold `n + 1.5 * 2^23`, n from -126 to 127.
    fn power_of_two(self, shifted: Self::V) -> Self::V;

    /// The sum of the lanes, always in the same order.
    #[inline(always)]
    fn sum(self, v: Self::V) -> f32 {
        let mut lane = Lane::default();
        self.store(v, &mut lane);
        let l = lane.0;
        let mut quads = [0.0; 4];
        for i in 0..4 {
            quads[i] = (l[i] + l[i + 8]) + (l[i + 4] + l[i + 12]);
        }
        (quads[0] + quads[2]) + (quads[1] + quads[3])
    }

    /// The largest lane.
    #[inline(always)]
    fn largest(self, v: Self::V) -> f32 {
        let mut lane = Lane::default();
        self.store(v, &mut lane);
        let mut largest = lane.0[0];
        for x in lane.0 {
            largest = if x > largest { x } else { largest };
        }
        largest
    }
}

/// Multiplies the first `R` rows of a block of `B` rows with a panel of `P` vectors of columns.
///
/// `a` holds, for each 16 values of the inner dimension, those values of the block's rows, row
/// after row; `b` holds for each inner index the `P` vectors of its row; `out` gets the
/// first vector of each of the block's rows, then the second. Each output is one chain of
/// multiply-adds in the order of the inner index, whatever `R` is, so that a row's result does not
/// depend on the rows beside it.
#[inline(always)]
fn tile<S: Simd, const R: usize, const B: usize, const P: usize>(
    s: S,
    a: &[Lane],
    b: &[Lane],
    out: &mut [Lane],
) {
    let mut sums = [[s.splat(0.0); P]; R];
    let inner = b.as_chunks::<P>().0.as_chunks::<LANES>().0;
    for (rows, columns) in a.as_chunks::<B>().0.iter().zip(inner) {
        for (i, columns) in columns.iter().enumerate() {
            let mut loaded = [s.splat(0.0); P];
            for p in 0..P {
                loaded[p] = s.load(&columns[p]);
            }
            for r in 0..R {
                let x = s.splat(rows[r].0[i]);
                for p in 0..P {
                    sums[r][p] = s.mul_add(x, loaded[p], sums[r][p]);
                }
            }
        }
    }
    for (p, lanes) in out.as_chunks_mut::<B>().0.iter_mut().enumerate() {
        for (lane, sums) in lanes.iter_mut().zip(&sums) {
            s.store(sums[p], lane);
        }
    }
}
