//! The exact search against the plain reference: equal, not near.

use super::*;
use crate::plain;
use crate::test_data::data;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use vprep_core::{Failure, Kind, Neighbour, Silent};

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads")
}

/// All blocks in one.
fn search(exact: &Exact<'_>, queries: MatrixView<'_>, k: usize) -> Result<Found, KnnError> {
    let mut all = Found::default();
    exact
        .search(queries, k, &Silent, |found| {
            assert_eq!(found.queries.start, all.queries.end);
            assert_eq!(found.tied.len(), found.queries.len());
            all.queries.end = found.queries.end;
            all.rows.extend(found.rows);
            all.scores.extend(found.scores);
            all.gaps.extend(found.gaps);
            all.tied.extend(found.tied);
            Ok(())
        })
        .map(|()| all)
}

/// What the search must return, from the reference.
fn expected(base: MatrixView<'_>, queries: MatrixView<'_>, metric: Metric, k: usize) -> Found {
    let mut all = Found { queries: 0..queries.rows(), ..Found::default() };
    for query in queries.iter() {
        let best: Vec<Neighbour> = plain::search(base, query, metric, k + 1);
        all.rows.extend(best[..k].iter().map(|n| n.row as i32));
        all.scores.extend(best[..k].iter().map(|n| n.score as f32));
        let gap = |next: &Neighbour| (next.score - best[k - 1].score).abs();
        all.gaps.push(best.get(k).map_or(f64::INFINITY, gap));
        all.tied.push(best.get(k).is_some_and(|next| next.score == best[k - 1].score));
    }
    all
}

/// Bits, so that infinities and signs of zero count.
fn bits(found: &Found) -> (Vec<u32>, Vec<u64>, &[i32], &[bool], usize) {
    let scores = found.scores.iter().map(|s| s.to_bits()).collect();
    let gaps = found.gaps.iter().map(|gap| gap.to_bits()).collect();
    (scores, gaps, &found.rows, &found.tied, found.queries.end)
}

fn blocks() -> impl Strategy<Value = Blocks> {
    let small = (1usize..200, 1usize..9, 1usize..5, 1usize..500, 0usize..30_000).prop_map(
        |(base, tile, small_tile, chunk, bytes)| Blocks {
            base,
            tile,
            small_tile: small_tile.min(tile),
            chunk,
            bytes,
        },
    );
    prop_oneof![1 => Just(Blocks::default()), 3 => small]
}

/// The coarse pass, with whatever instructions there are, or none.
fn plans() -> impl Strategy<Value = Plan> {
    let units = vec![None, Some(Unit::Portable), Unit::detect()];
    (prop::sample::select(units), 1usize..4, 1usize..200, 1usize..9000).prop_map(
        |(unit, step, chunk, turn)| Plan { unit, queries: 1, step, chunk, turn, times: 1 },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn equals_the_reference_however_the_work_is_cut(
        (dim, queries, base) in data(40, 500),
        metric in prop::sample::select(&Metric::ALL),
        blocks in blocks(),
        plan in plans(),
        threads in 1usize..=3,
        k in any::<prop::sample::Index>(),
        which in 0..6,
    ) {
        let (queries, base) = (MatrixView::new(&queries, dim), MatrixView::new(&base, dim));
        let n = base.rows();
        let k = match which {
            0 => 1,
            1 => n,
            2 => (n - 1).max(1),
            3 => 1 + k.index(n),
            _ => 1 + k.index(n.min(12)),
        };
        let found = pool(threads).install(|| {
            let exact = Exact::new(base, metric).expect("a good base");
            search(&Exact { blocks, plan, ..exact }, queries, k).expect("a good search")
        });
        let expected = expected(base, queries, metric, k);
        prop_assert_eq!(bits(&found), bits(&expected));
    }
}

/// Rows that no bound can tell apart do not fill the memory: they are scored as they come.
#[test]
fn many_ties_are_many_exact_scores() {
    let base = vec![0.3; 30_000 * 3];
    let base = MatrixView::new(&base, 3);
    for metric in Metric::ALL {
        let exact = Exact::new(base, metric).expect("a good base");
        let found = search(&exact, MatrixView::new(&[0.1, 0.2, 0.3], 3), 5).expect("found");
        assert_eq!(found.rows, [0, 1, 2, 3, 4]);
        assert_eq!(found.tied, [true]);
    }
}

#[test]
fn wrong_input_is_refused_with_the_numbers_at_fault() {
    let base = MatrixView::new(&[1.0, 0.0, 0.0, 1.0], 2);
    let exact = Exact::new(base, Metric::Cosine).expect("a good base");
    let error = |queries: &[f32], dim, k| {
        search(&exact, MatrixView::new(queries, dim), k).expect_err("wrong")
    };
    for k in [0, 3] {
        let error = error(&[1.0, 1.0], 2, k);
        assert_eq!(error.kind(), Kind::Usage);
        let text = format!("k = {k} is out of range for a base of 2 rows; it must be from 1 to 2");
        assert_eq!(error.to_string(), text);
    }
    let text = error(&[1.0, 1.0, 1.0], 3, 1).to_string();
    assert_eq!(text, "queries have dim 3, but the base has dim 2");
    let text = error(&[1.0, 1.0, f32::NAN, 1.0], 2, 1).to_string();
    assert_eq!(text, "NaN or infinity in row 1 of the queries; exact search needs finite values");

    let base = MatrixView::new(&[f32::INFINITY, 0.0, 0.0, 1.0, f32::NAN, 1.0], 2);
    let exact = Exact::new(base, Metric::L2).expect("not read yet");
    let error = search(&exact, MatrixView::new(&[1.0, 1.0], 2), 1).expect_err("wrong");
    assert_eq!(error.kind(), Kind::Data);
    let text = "NaN or infinity in rows 0, 2 of the base; exact search needs finite values";
    assert_eq!(error.to_string(), text);
}

#[test]
fn no_queries_are_no_blocks() {
    let exact = Exact::new(MatrixView::new(&[1.0, 2.0], 1), Metric::Ip).expect("good");
    assert_eq!(search(&exact, MatrixView::new(&[], 1), 1).expect("nothing"), Found::default());
}

/// Counts pairs, and stops after some checks.
#[derive(Default)]
struct Watched {
    pairs: std::sync::Arc<AtomicU64>,
    total: AtomicU64,
    checks_left: Option<AtomicU64>,
}

struct Counter(std::sync::Arc<AtomicU64>);

impl Task for Counter {
    fn advance(&self, units: u64) {
        self.0.fetch_add(units, Ordering::Relaxed);
    }
}

impl Progress for Watched {
    fn task(&self, label: &str, total: u64, unit: &'static str) -> Box<dyn Task> {
        assert_eq!((label, unit), ("searching", "pairs"));
        self.total.store(total, Ordering::Relaxed);
        Box::new(Counter(self.pairs.clone()))
    }

    fn is_interrupted(&self) -> bool {
        let Some(left) = &self.checks_left else { return false };
        left.try_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err()
    }
}

#[test]
fn progress_counts_every_pair_once_and_an_interruption_ends_the_search() {
    let values: Vec<f32> = (0..4000).map(|i| (i % 37) as f32).collect();
    let matrix = MatrixView::new(&values, 2);
    let exact = Exact::new(matrix, Metric::L2).expect("a good base");
    let blocks = Blocks { base: 64, tile: 7, small_tile: 1, chunk: 300, bytes: 40_000 };
    let exact = Exact { blocks, ..exact };
    assert!(exact.plan.unit(matrix, 100, 4).is_none());
    let run = |watched: &Watched| {
        exact.search(matrix.slice(0..100), 3, watched, |_| Ok::<(), KnnError>(()))
    };

    let watched = Watched::default();
    run(&watched).expect("found");
    assert_eq!(watched.pairs.load(Ordering::Relaxed), 200_000);
    assert_eq!(watched.total.load(Ordering::Relaxed), 200_000);

    let watched = Watched { checks_left: Some(AtomicU64::new(20)), ..Watched::default() };
    let error = run(&watched).expect_err("interrupted");
    assert_eq!(error.kind(), Kind::Interrupted);
    assert!(watched.pairs.load(Ordering::Relaxed) < 200_000);
}

#[test]
fn the_coarse_pass_counts_pairs_and_stops_too() {
    let mut random = crate::test_data::Random(5);
    let values: Vec<f32> = (0..9000 * 16).map(|_| random.normal() as f32).collect();
    let matrix = MatrixView::new(&values, 16);
    let exact = Exact::new(matrix, Metric::L2).expect("a good base");
    let plan = Plan { unit: Some(Unit::Portable), ..Plan::default() };
    assert!(plan.unit(matrix, 50, 4).is_some());
    let exact = Exact { plan, ..exact };
    let run = |watched: &Watched| {
        exact.search(matrix.slice(0..50), 3, watched, |_| Ok::<(), KnnError>(()))
    };

    let watched = Watched::default();
    run(&watched).expect("found");
    assert_eq!(watched.pairs.load(Ordering::Relaxed), 450_000);

    let watched = Watched { checks_left: Some(AtomicU64::new(12)), ..Watched::default() };
    let error = run(&watched).expect_err("interrupted");
    assert_eq!(error.kind(), Kind::Interrupted);
    assert!(watched.pairs.load(Ordering::Relaxed) < 450_000);

    let mut values = values.clone();
    values[16 * 7000 + 3] = f32::NAN;
    let matrix = MatrixView::new(&values, 16);
    let exact = Exact { plan, ..Exact::new(matrix, Metric::L2).expect("not read yet") };
    let error = search(&exact, matrix.slice(0..50), 3).expect_err("wrong").to_string();
    assert_eq!(error, "NaN or infinity in row 7000 of the base; exact search needs finite values");
}

#[test]
fn the_first_failure_of_the_sink_ends_the_search() {
    #[derive(Debug)]
    struct Full;
    impl From<KnnError> for Full {
        fn from(error: KnnError) -> Self {
            panic!("{error}")
        }
    }
    let base = MatrixView::new(&[1.0, 2.0], 1);
    let exact = Exact::new(base, Metric::Ip).expect("a good base");
    let blocks = Blocks { bytes: 0, ..Blocks::default() };
    let mut calls = 0;
    let result = Exact { blocks, ..exact }.search(base, 1, &Silent, |_| {
        calls += 1;
        Err(Full)
    });
    assert!(result.is_err());
    assert_eq!(calls, 1);
}
