//! Recall and the latency of single queries, for stores of a dataset at given knob values.
//!
//! `quality DATASET K STORE[:VALUE]…` opens the index of each store, asks all held-out queries one
//! by one on one thread, and prints a row of a Markdown table: recall@K, and the median and the
//! 99th percentile of a query's wall time. Stores that load on demand are asked twice: the first
//! pass is called cold, the second warm.
#![expect(clippy::print_stdout, reason = "a program for people")]

use rayon::ThreadPoolBuilder;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use vprep_core::recall::Truth;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_data::MappedNpy;
use vprep_manifest::{Recipe, Splits};
use vprep_pipeline::{index_dir, stores};
use vprep_store::Index;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What is asked of every store.
struct Questions<'a> {
    metric: Metric,
    base: MatrixView<'a>,
    queries: MatrixView<'a>,
    truth: &'a MappedNpy<i32>,
    /// Rows of `queries`.
    asked: &'a [u64],
    k: usize,
}

/// What came of one pass over the queries.
struct Pass {
    recall: f64,
    /// Wall time of each query, ascending.
    times: Vec<Duration>,
}

impl Questions<'_> {
    fn ask(&self, index: &dyn Index, value: Option<u32>) -> Result<Pass, Failure> {
        let width = self.k.min(self.base.rows());
        let (mut hits, mut times) = (0u64, Vec::with_capacity(self.asked.len()));
        for &row in self.asked {
            let query = self.queries.slice(row as usize..row as usize + 1);
            let start = Instant::now();
            let answers = index.search(query, self.k, value, &Silent)?;
            times.push(start.elapsed());
            let rows = &self.truth.values()[row as usize * self.truth.cols()..][..width];
            let (metric, base, query) = (self.metric, self.base, query.row(0));
            let truth = Truth { metric, base, query, rows };
            hits += u64::from(truth.hits(&answers.rows).with_ties);
        }
        times.sort_unstable();
        Ok(Pass { recall: hits as f64 / (self.asked.len() * width) as f64, times })
    }
}

impl Pass {
    /// The time that a part of the queries stays below, in microseconds.
    fn quantile(&self, part: f64) -> f64 {
        let i = ((self.times.len() as f64 * part).ceil() as usize).clamp(1, self.times.len()) - 1;
        self.times[i].as_secs_f64() * 1e6
    }
}

fn run(dir: &Path, k: usize, stores: &[String]) -> Result<(), Failure> {
    let recipe = Recipe::parse(&fs::read_to_string(dir.join("dataset.toml"))?)?;
    let splits = Splits::parse(&fs::read_to_string(dir.join("splits.json"))?)?;
    let base = MappedNpy::<f32>::open(&dir.join("base.f32.npy"))?;
    let queries = MappedNpy::<f32>::open(&dir.join("queries.f32.npy"))?;
    let truth = MappedNpy::<i32>::open(&dir.join("truth.ids.npy"))?;
    let questions = Questions {
        metric: recipe.metric,
        base: base.view(),
        queries: queries.view(),
        truth: &truth,
        asked: &splits.held_out,
        k,
    };
    println!("| store | knob | recall@{k} | p50, µs | p99, µs |");
    println!("|---|---|---|---|---|");
    for wanted in stores {
        let (name, value) = wanted.split_once(':').unwrap_or((wanted, ""));
        let value = if value.is_empty() { None } else { Some(value.parse()?) };
        let store = stores::find(name)?;
        let index = store.open(&dir.join(index_dir(name)), base.view())?;
        let knob = match (store.info().knob, value) {
            (Some(knob), Some(value)) => format!("{knob} {value}"),
            _ => "none".to_owned(),
        };
        let first = questions.ask(index.as_ref(), value)?;
        let loads = !index.statistics().is_empty();
        let second = if loads { Some(questions.ask(index.as_ref(), value)?) } else { None };
        let passes = [(if loads { " (cold)" } else { "" }, Some(first)), (" (warm)", second)];
        for (state, pass) in passes {
            let Some(pass) = pass else { continue };
            let (p50, p99) = (pass.quantile(0.5), pass.quantile(0.99));
            println!("| {name}{state} | {knob} | {:.4} | {p50:.0} | {p99:.0} |", pass.recall);
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, k, stores @ ..] = arguments.as_slice() else {
        return Err("usage: quality DATASET K STORE[:VALUE]…".into());
    };
    let k = k.parse()?;
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| run(Path::new(dir), k, stores))
}
