//! That lists hold every row they must, on data made to break them.

use super::*;
use crate::plain;
use crate::test_data::data;
use proptest::prelude::*;
use vprep_core::Silent;

fn units() -> impl Strategy<Value = Unit> {
    let units: Vec<_> = [Some(Unit::Portable), Unit::detect()].into_iter().flatten().collect();
    prop::sample::select(units)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn a_list_holds_the_best_rows_and_the_truth_about_each(
        (dim, queries, base) in data(30, 400),
        metric in prop::sample::select(&Metric::ALL),
        unit in units(),
        keep in 1usize..20,
        step in 1usize..5,
        chunk in 1usize..100,
        turn in 1usize..5000,
    ) {
        prop_assume!(slack::DIMS.contains(&dim));
        let (queries, base) = (MatrixView::new(&queries, dim), MatrixView::new(&base, dim));
        prop_assume!(base.rows() / step > 4);
        let keep = keep.min(base.rows());
        let plan = Plan { unit: None, queries: 1, step, chunk, turn, times: 1 };
        let bounds = Bounds::new(metric, dim);
        let coarse = Coarse { unit, plan, base, metric, bounds, keep };
        let listed = coarse.search(queries, &Silent, &Silent).expect("nobody stops it");
        let norms: Vec<f64> = base.iter().map(vprep_core::norm).collect();
        prop_assert_eq!(&listed.norms, &norms);
        for (query, list) in queries.iter().zip(listed.lists) {
            let Some(list) = list else { continue };
            let norm = vprep_core::norm(query);
            let norm = if metric == Metric::Cosine { vprep_core::cosine_divisor(norm) } else { norm };
            let all = plain::search(base, query, metric, base.rows());
            for (i, best) in all.iter().enumerate() {
                let goodness = if metric == Metric::L2 { -best.score } else { best.score };
                let found = list.iter().find(|estimate| estimate.row == best.row);
                prop_assert!(found.is_some() || i >= keep, "row {} is missing", best.row);
                if let Some(Estimate { low, high, .. }) = found {
                    let merit = bounds.merit_below(goodness, norm);
                    prop_assert!(merit.next_up() >= *low && merit <= *high, "{low} {merit} {high}");
                }
            }
        }
    }
}

/// Not a matter of speed alone: a pass that never lists anything would pass the test above.
#[test]
fn on_usual_data_every_query_has_a_short_list() {
    let mut random = crate::test_data::Random(1);
    let dim = 96;
    let mut values =
        |rows: usize| -> Vec<f32> { (0..rows * dim).map(|_| random.normal() as f32).collect() };
    let (base, queries) = (values(20_000), values(40));
    let (base, queries) = (MatrixView::new(&base, dim), MatrixView::new(&queries, dim));
    for unit in Unit::all() {
        for metric in Metric::ALL {
            let (plan, bounds) = (Plan::default(), Bounds::new(metric, dim));
            let coarse = Coarse { unit, plan, base, metric, bounds, keep: 11 };
            let listed = coarse.search(queries, &Silent, &Silent).expect("nobody stops it");
            for list in listed.lists {
                let len = list.expect("usual data").len();
                assert!((11..400).contains(&len), "{len} rows");
            }
        }
    }
}

#[test]
fn instructions_can_be_forced_and_a_wrong_name_lists_the_right_ones() {
    assert!(Plan::forced("f32").expect("always there").unit.is_none());
    let portable = Plan::forced("int8-portable").expect("always there").unit;
    assert!(matches!(portable, Some(Unit::Portable)));
    for name in Unit::NAMES {
        assert_eq!(Plan::forced(name).is_ok(), Unit::named(name).is_some());
    }
    let error = Plan::forced("avx").expect_err("wrong").to_string();
    assert_eq!(error, "VPREP_EXACT=avx: it is f32, int8-portable, int8-vnni or int8-avx-vnni");
}
