//! The whole way on a real store, with every number measured again by other means.

use std::collections::{BTreeMap, HashSet};
use vprep_calibrate::{Options, Queries, Rule, calibrate};
use vprep_core::sample::mix;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_store::{BuildSpec, Index, Store};
use vprep_store_hnsw::HnswStore;

const DIM: usize = 24;
const ROWS: usize = 6_000;
const QUERIES: usize = 400;

/// Seeded points around sixty centres.
fn clustered(stream: u64, rows: usize) -> Vec<f32> {
    let normal = |seed: u64| {
        let uniform = |i| (mix(mix(seed) ^ i) >> 11) as f64 / (1u64 << 53) as f64;
        (0..12).map(uniform).sum::<f64>() - 6.0
    };
    let point = |row: u64| {
        let place = mix(stream << 32 | row);
        let centre = mix(place ^ 1) % 60;
        (0..DIM as u64)
            .map(move |i| (normal(centre << 8 | i) + 0.6 * normal(place ^ (i << 40))) as f32)
    };
    (0..rows as u64).flat_map(point).collect()
}

/// The k nearest rows by plain f64 sums.
fn nearest(base: &[f32], query: &[f32], k: usize) -> Vec<i32> {
    let mut all: Vec<(f64, i32)> = (0..)
        .zip(base.chunks_exact(DIM))
        .map(|(row, vector)| {
            let terms =
                vector.iter().zip(query).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2));
            (terms.sum(), row)
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all[..k].iter().map(|&(_, row)| row).collect()
}

/// Recall by row number, query by query.
fn recall(
    index: &dyn Index,
    queries: &[f32],
    truth: &[i32],
    set: &[u64],
    k: usize,
    value: u32,
) -> f64 {
    let hits = |&query: &u64| {
        let query = query as usize;
        let vector = MatrixView::new(&queries[query * DIM..][..DIM], DIM);
        let answers = index.search(vector, k, Some(value), &Silent).expect("an answer");
        let found: HashSet<i64> = answers.rows.into_iter().collect();
        let wanted = &truth[query * 100..][..k];
        wanted.iter().filter(|&&row| found.contains(&i64::from(row))).count()
    };
    set.iter().map(hits).sum::<usize>() as f64 / (set.len() * k) as f64
}

#[test]
fn cells_hold_when_measured_again() {
    let (base, queries) = (clustered(1, ROWS), clustered(2, QUERIES));
    let truth: Vec<i32> =
        queries.chunks_exact(DIM).flat_map(|query| nearest(&base, query, 100)).collect();
    let (calibration, held_out): (Vec<u64>, Vec<u64>) =
        (0..QUERIES as u64).partition(|query| query % 2 == 0);

    let store = HnswStore::new();
    let parameters = BTreeMap::from([("m".to_owned(), 4), ("ef-construction".to_owned(), 20)]);
    let spec =
        BuildSpec { name: String::new(), metric: Metric::L2, unit_length: false, parameters };
    let dir = tempfile::tempdir().unwrap();
    let view = MatrixView::new(&base, DIM);
    // One thread, so that the graph is the same every time.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| store.build(view, &spec, dir.path(), &Silent)).unwrap();
    let index = store.open(dir.path(), view).unwrap();

    let data = Queries {
        base: view,
        queries: MatrixView::new(&queries, DIM),
        truth_ids: &truth,
        truth_k: 100,
        metric: Metric::L2,
        calibration: &calibration,
        held_out: &held_out,
    };
    let options = Options {
        k: vec![10, 100],
        target: vec![0.8, 0.9, 0.95],
        max_value: None,
        rule: Rule::Mean,
    };
    let (cells, points) =
        calibrate(&store, index.as_ref(), &data, &options, Vec::new(), &Silent).unwrap();

    let again =
        |set, k: u32, value| recall(index.as_ref(), &queries, &truth, set, k as usize, value);
    let mut proved = 0;
    for cell in &cells {
        assert!(cell.reached, "{cell:?}");
        let (k, value) = (cell.k, cell.value.unwrap());
        let tuned = again(&calibration, k, value);
        assert!(tuned >= cell.target);
        assert_eq!(Some(tuned), cell.calibration_recall);
        assert_eq!(Some(again(&held_out, k, value)), cell.held_out_recall);
        let smallest = index.knob_range(k as usize).unwrap().smallest;
        if value > smallest {
            assert!((cell.held_out_recall.unwrap() - cell.target).abs() < 0.08, "{cell:?}");
            let below = again(&calibration, k, value - 1);
            assert!(below < cell.target);
            assert_eq!(Some(below), cell.value_below_recall);
            proved += 1;
        }
        let bound = 2.0 * f64::from(ROWS as u32 - smallest + 1).log2() + 4.0;
        assert!(f64::from(cell.evaluations) <= bound);
    }
    assert!(proved >= 4, "the data must ask for more than the smallest values: {cells:?}");

    // An earlier run's points make the same cells without a search.
    let (same, _) =
        calibrate(&store, index.as_ref(), &data, &options, points.clone(), &Silent).unwrap();
    assert_eq!(same, cells);
}
