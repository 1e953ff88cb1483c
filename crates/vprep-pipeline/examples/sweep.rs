//! What a sweep over a grid of knob values costs, beside the calibration of the same store.
//!
//! `sweep DATASET STORE…` searches the calibration queries at 20 values of the knob, in geometric
//! steps from the smallest legal one to 1,000 or the largest legal one, for each k that was
//! calibrated, and prints the seconds next to those of all measurements of the calibration, the
//! held-out queries included. Both use all threads.
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::fs;
use std::path::Path;
use std::time::Instant;
use vprep_core::{MatrixView, Silent};
use vprep_data::MappedNpy;
use vprep_manifest::Splits;
use vprep_pipeline::{index_dir, read_calibration, stores};
use vprep_store::KnobRange;

/// Values of a sweep.
const VALUES: u32 = 20;
/// The largest value of a sweep: what people sweep to.
const LARGEST: u32 = 1_000;

/// The values, ascending, each once.
fn values(range: KnobRange) -> Vec<u32> {
    let (first, last) = (f64::from(range.smallest), f64::from(range.largest.min(LARGEST)));
    let step = |i: u32| first * (last / first).powf(f64::from(i) / f64::from(VALUES - 1));
    let mut values: Vec<u32> = (0..VALUES).map(|i| step(i).round() as u32).collect();
    values.dedup();
    values
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, wanted @ ..] = arguments.as_slice() else {
        return Err("usage: sweep DATASET STORE…".into());
    };
    let dir = Path::new(dir);
    let splits = Splits::parse(&fs::read_to_string(dir.join("splits.json"))?)?;
    let base = MappedNpy::<f32>::open(&dir.join("base.f32.npy"))?;
    let queries = MappedNpy::<f32>::open(&dir.join("queries.f32.npy"))?;
    let rows = splits.calibration.iter().map(|&row| queries.view().row(row as usize));
    let asked: Vec<f32> = rows.flatten().copied().collect();
    let asked = MatrixView::new(&asked, base.cols());
    println!("| store | k | values | sweep, s | calibration, s | measurements |");
    println!("|---|---|---|---|---|---|");
    for name in wanted {
        let calibration = read_calibration(dir, name)?;
        let index = stores::find(name)?.open(&dir.join(index_dir(name)), base.view())?;
        let mut ks: Vec<u32> = calibration.points.iter().map(|point| point.k).collect();
        ks.dedup();
        for k in ks {
            let Some(range) = index.knob_range(k as usize) else { continue };
            let values = values(range);
            let start = Instant::now();
            for &value in &values {
                index.search(asked, k as usize, Some(value), &Silent)?;
            }
            let swept = start.elapsed().as_secs_f64();
            let points = calibration.points.iter().filter(|point| point.k == k);
            let (count, seconds) =
                points.fold((0, 0.0), |(n, sum), point| (n + 1, sum + point.seconds));
            let number = values.len();
            println!("| {name} | {k} | {number} | {swept:.1} | {seconds:.1} | {count} |");
        }
    }
    Ok(())
}
