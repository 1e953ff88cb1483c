//! `synth`: seeded clustered vectors, for tests and benchmarks.
//!
//! A vector is a cluster's centre, plus a step in a latent space of [`LATENT`] dimensions that all
//! clusters share, plus a little noise in every dimension: like embeddings, far fewer ways to vary
//! than values, so that approximate search is neither trivial nor hopeless. All randomness comes
//! from counters through SplitMix64, and normal values are sums of uniform integers, so the bytes
//! depend on neither threads nor a machine's mathematical library.

use super::{Outcome, grouped};
use crate::PipelineError;
use crate::dataset::Side;
use crate::run::Stage;
use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field};
use rayon::prelude::*;
use std::sync::Arc;
use vprep_core::sample::mix;
use vprep_data::{ID, NpyWriter, TableWriter};
use vprep_manifest::SynthTable;

/// Dimensions of the space in which the vectors of a cluster differ.
const LATENT: usize = 24;
/// Size of the noise in every dimension, against 1 for a latent dimension.
const NOISE: f32 = 0.1;
const BLOCK: usize = 4_096;

/// What a stream of random numbers is for; each is independent of the others.
#[derive(Clone, Copy)]
enum Stream {
    Centre = 1,
    Axis,
    Base,
    Queries,
}

pub(crate) fn run(table: &SynthTable, stage: &mut Stage<'_>) -> Result<Outcome, PipelineError> {
    let progress = stage.context.progress;
    let model = Model::new(table);
    let task = progress.task("making vectors", table.rows + table.queries, "rows");
    for (side, rows, stream) in
        [(Side::Base, table.rows, Stream::Base), (Side::Queries, table.queries, Stream::Queries)]
    {
        let vectors = stage.outputs.create(side.vectors())?;
        let mut vectors = NpyWriter::<f32>::new(vectors, rows, u64::from(table.dim))?;
        let ids = stage.outputs.create(side.table())?;
        let id = Arc::new(Field::new(ID, DataType::Int64, false));
        let mut ids = TableWriter::new(ids, [id])?;
        let mut buffer = vec![0.0; BLOCK * model.dim];
        for first in (0..rows).step_by(BLOCK) {
            progress.check()?;
            let count = (rows - first).min(BLOCK as u64);
            let out = &mut buffer[..count as usize * model.dim];
            out.par_chunks_exact_mut(model.dim)
                .enumerate()
                .for_each(|(i, out)| model.vector(stream, first + i as u64, out));
            vectors.append(out)?;
            let numbers = Int64Array::from_iter_values(first as i64..(first + count) as i64);
            ids.append(count as usize, &[Arc::new(numbers) as ArrayRef])?;
            task.advance(count);
        }
        let content = vectors.finish()?;
        stage.outputs.add(side.vectors(), content);
        let content = ids.finish()?;
        stage.outputs.add(side.table(), content);
    }
    let summary = format!(
        "{} base vectors, {} queries, dim {}, {} clusters",
        grouped(table.rows),
        grouped(table.queries),
        table.dim,
        grouped(model.clusters)
    );
    Ok(Outcome::new(table, summary).with_dim(model.dim))
}

struct Model {
    dim: usize,
    seed: u64,
    clusters: u64,
    /// `LATENT x dim`.
    axes: Vec<f32>,
}

impl Model {
    fn new(table: &SynthTable) -> Self {
        let dim = table.dim as usize;
        let clusters = table.clusters.unwrap_or(table.rows.isqrt()).max(1);
        let axes = (0..LATENT as u64)
            .flat_map(|axis| normals(table.seed, Stream::Axis, axis).take(dim))
            .collect();
        Self { dim, seed: table.seed, clusters, axes }
    }

    fn vector(&self, stream: Stream, row: u64, out: &mut [f32]) {
        let cluster = draw(self.seed, stream, row, u64::MAX) % self.clusters;
        let mut own = normals(self.seed, stream, row);
        let latent: Vec<f32> = own.by_ref().take(LATENT).collect();
        for (x, centre) in out.iter_mut().zip(normals(self.seed, Stream::Centre, cluster)) {
            *x = centre;
        }
        for (axis, step) in self.axes.chunks_exact(self.dim).zip(latent) {
            out.iter_mut().zip(axis).for_each(|(x, a)| *x += step * a * 0.25);
        }
        out.iter_mut().zip(own).for_each(|(x, noise)| *x += noise * NOISE);
    }
}

/// The `i`-th random number of item `item` of a stream.
fn draw(seed: u64, stream: Stream, item: u64, i: u64) -> u64 {
    mix(mix(mix(seed ^ mix(stream as u64)) ^ item) ^ mix(i))
}

/// Values of mean 0 and variance 1: the sum of eight uniform 16-bit integers (Irwin-Hall), which
/// integer arithmetic gives exactly.
fn normals(seed: u64, stream: Stream, item: u64) -> impl Iterator<Item = f32> {
    (0..).map(move |i| {
        let lanes = |x: u64| (0..4).map(|lane| (x >> (16 * lane)) & 0xFFFF).sum::<u64>();
        let sum =
            lanes(draw(seed, stream, item, 2 * i)) + lanes(draw(seed, stream, item, 2 * i + 1));
        // Mean 8 * 65535 / 2; variance 8 * (65536^2 - 1) / 12, whose root is 53509.9.
        (sum as f32 - 262_140.0) * (1.0 / 53_509.91)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_have_mean_0_and_variance_1() {
        let values: Vec<f64> = normals(3, Stream::Base, 5).take(100_000).map(f64::from).collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.01, "{mean} {variance}");
    }

    #[test]
    fn a_row_depends_on_its_number_alone() {
        let table = SynthTable { rows: 100, dim: 7, queries: 1, seed: 1, clusters: None };
        let model = Model::new(&table);
        let (mut a, mut b) = ([0.0; 7], [0.0; 7]);
        model.vector(Stream::Base, 42, &mut a);
        model.vector(Stream::Base, 42, &mut b);
        assert_eq!(a, b);
        model.vector(Stream::Queries, 42, &mut b);
        assert_ne!(a, b);
    }
}
