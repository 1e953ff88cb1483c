//! The fast, inexact part: inner products in f32.

use gemm::{Parallelism, gemm};
use vprep_core::MatrixView;

/// Sets `out[q * base.rows() + i]` to the inner product of query `q` and base row `i`, in f32, in
/// an order of summation that nothing here relies on. Runs on the calling thread.
///
/// # Panics
///
/// If the dimensions differ, or `out` has not `queries.rows() * base.rows()` values.
#[expect(unsafe_code, reason = "gemm takes pointers and strides")]
pub(crate) fn inner_products(queries: MatrixView<'_>, base: MatrixView<'_>, out: &mut [f32]) {
    let dim = base.dim();
    assert_eq!(queries.dim(), dim, "queries and base of different dimension; this is a bug");
    assert_eq!(out.len(), queries.rows() * base.rows(), "no room for products; this is a bug");
    // SAFETY: `out` is a dense column-major base.rows() x queries.rows() matrix, by the assertion
    // above; both inputs are dense row-major matrices of as many values as their shape says, by
    // MatrixView. No stride leads outside. `out` is borrowed mutably, so it overlaps neither.
    unsafe {
        gemm(
            base.rows(),
            queries.rows(),
            dim,
            out.as_mut_ptr(),
            base.rows() as isize,
            1,
            false,
            base.data().as_ptr(),
            1,
            dim as isize,
            queries.data().as_ptr(),
            dim as isize,
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
