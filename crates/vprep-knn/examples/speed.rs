//! How fast exact search is, and how fast the bare matrix product of the same shape.
//!
//! `cargo run --release -p vprep-knn --example speed -- [rows] [dim] [queries] [k]`
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::time::Instant;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_knn::{Exact, KnnError};

/// SplitMix64 to roughly normal values, some shared direction as embeddings have it, unit rows.
fn vectors(rows: usize, dim: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32
    };
    let shared: Vec<f32> = (0..dim).map(|i| (i as f32).sin()).collect();
    let mut data = Vec::with_capacity(rows * dim);
    for _ in 0..rows {
        let row: Vec<f32> =
            shared.iter().map(|x| x + uniform() + uniform() + uniform() - 1.5).collect();
        let norm = vprep_core::norm(&row) as f32;
        data.extend(row.iter().map(|x| x / norm));
    }
    data
}

fn product(queries: MatrixView<'_>, base: MatrixView<'_>) -> f64 {
    let mut out = vec![0f32; queries.rows() * base.rows()];
    let threads = gemm::Parallelism::Rayon(rayon::current_num_threads());
    let (n, dim) = (base.rows(), base.dim() as isize);
    let start = Instant::now();
    #[expect(unsafe_code, reason = "gemm takes pointers and strides")]
    // SAFETY: the shapes and strides are those of three dense matrices.
    unsafe {
        let (a, b) = (base.data().as_ptr(), queries.data().as_ptr());
        let out = out.as_mut_ptr();
        gemm::gemm(
            n,
            queries.rows(),
            base.dim(),
            out,
            n as isize,
            1,
            false,
            a,
            1,
            dim,
            b,
            dim,
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            threads,
        );
    }
    start.elapsed().as_secs_f64()
}

fn main() -> Result<(), KnnError> {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let argument = |i: usize, default| arguments.get(i).copied().unwrap_or(default);
    let (rows, dim) = (argument(0, 100_000), argument(1, 384));
    let (count, k) = (argument(2, 1000), argument(3, 100));
    let (base, queries) = (vectors(rows, dim, 1), vectors(count, dim, 2));
    let (base, queries) = (MatrixView::new(&base, dim), MatrixView::new(&queries, dim));
    println!("{rows} x {dim}, {count} queries, k = {k}, {} threads", rayon::current_num_threads());

    // In turn, and the best of each, so that other load on the machine falls out.
    let mut best = [f64::INFINITY; 4];
    for _ in 0..5 {
        best[0] = best[0].min(product(queries, base));
        for (metric, best) in Metric::ALL.into_iter().zip(&mut best[1..]) {
            let start = Instant::now();
            let exact = Exact::new(base, metric, &Silent)?;
            exact.search(queries, k, &Silent, |_| Ok::<(), KnnError>(()))?;
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    let flops = 2.0 * rows as f64 * dim as f64 * count as f64;
    let names = Metric::ALL.into_iter().map(Metric::name);
    for (name, seconds) in ["product"].into_iter().chain(names).zip(best) {
        println!("{name:>8} {seconds:8.3} s {:8.1} GFLOP/s", flops / seconds / 1e9);
    }
    Ok(())
}
