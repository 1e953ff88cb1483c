//! Exact search on request, for `benches/speed.py`, and the peaks of this machine beside it.
//!
//! `search BASE.npy QUERIES.npy METRIC K [OUT.i32]` reads lines `ROWS COUNT` and answers each with
//! the seconds that the first COUNT queries took over the first ROWS rows; queries are repeated if
//! there are fewer. It writes the rows found to OUT. The line `peak` is answered with the GFLOP/s of
//! a matrix product in f32 on all threads.
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::io::{BufRead, Write};
use std::time::Instant;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_data::MappedNpy;
use vprep_knn::{Exact, KnnError};

/// The best of several products of matrices that fit the caches.
fn peak() -> f64 {
    const N: usize = 2048;
    const DIM: usize = 768;
    let (a, b, mut out) = (vec![0.5f32; N * DIM], vec![0.5f32; N * DIM], vec![0f32; N * N]);
    let threads = gemm::Parallelism::Rayon(rayon::current_num_threads());
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let start = Instant::now();
        let (n, dim) = (N as isize, DIM as isize);
        let (out, a, b) = (out.as_mut_ptr(), a.as_ptr(), b.as_ptr());
        #[expect(unsafe_code, reason = "gemm takes pointers and strides")]
        // SAFETY: the shapes and strides are those of three dense matrices.
        unsafe {
            gemm::gemm(
                N, N, DIM, out, n, 1, false, a, 1, dim, b, dim, 1, 0.0, 1.0, false, false, false,
                threads,
            );
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    2.0 * (N * N * DIM) as f64 / best / 1e9
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [base, queries, metric, k, out @ ..] = arguments.as_slice() else {
        return Err("usage: search BASE.npy QUERIES.npy METRIC K [OUT.i32]".into());
    };
    let (base, queries) =
        (MappedNpy::<f32>::open(base.as_ref())?, MappedNpy::<f32>::open(queries.as_ref())?);
    let (metric, k): (Metric, usize) = (metric.parse()?, k.parse()?);
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line == "peak" {
            println!("{}", peak());
            continue;
        }
        let numbers: Vec<usize> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let [rows, count] = numbers[..] else { return Err("not `ROWS COUNT`".into()) };
        let dim = base.cols();
        let values: Vec<f32> =
            queries.view().data().iter().copied().cycle().take(count * dim).collect();
        let mut found = Vec::with_capacity(count * k);
        let start = Instant::now();
        let exact = Exact::new(base.view().slice(0..rows), metric)?;
        exact.search(MatrixView::new(&values, dim), k, &Silent, |block| {
            found.extend(block.rows);
            Ok::<(), KnnError>(())
        })?;
        let seconds = start.elapsed().as_secs_f64();
        if let [out] = out {
            let mut file = std::fs::File::create(out)?;
            found.iter().try_for_each(|row: &i32| file.write_all(&row.to_le_bytes()))?;
        }
        println!("{seconds}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
