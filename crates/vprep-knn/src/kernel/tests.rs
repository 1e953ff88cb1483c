//! Each kernel against its plain twin.

use super::*;
use crate::test_data::{Random, data};
use proptest::prelude::*;
use vprep_core::{MatrixView, norm};

/// The fast ones.
fn units() -> impl Iterator<Item = Unit> {
    if Unit::detect().is_none() {
        eprintln!("this machine has no fast instructions; only the plain ones are tested");
    }
    Unit::all().skip(1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn tiles_are_those_of_plain_code(groups in 0usize..70, seed in any::<u64>()) {
        let mut random = Random(seed);
        let mut byte = || (random.normal() * 60.0) as i8;
        let mut rows = Vec::new();
        let mut queries = Vec::new();
        for _ in 0..groups {
            rows.push(RowCodes(std::array::from_fn(|_| byte() as u8)));
            let code = |byte: &mut dyn FnMut() -> i8| byte().max(-127);
            queries.push(std::array::from_fn(|_| std::array::from_fn(|_| code(&mut byte))));
        }
        let mut float = |scale: f64| (random.normal() * scale) as f32;
        let (scale, offset) = (PerRow(std::array::from_fn(|_| float(1.0))), PerRow(std::array::from_fn(|_| float(9.0))));
        let scales = std::array::from_fn(|_| float(1.0));
        let cuts: [f32; QUERIES] = std::array::from_fn(|_| float(1e4));
        let start = std::array::from_fn(|i| i as i32 * 1000 - 5000);
        let rows = RowPanel { codes: &rows, scale: &scale, offset: &offset };
        let queries = QueryPanel { codes: &queries, next: &[], start: &start, scale: &scales };
        let mut plain = [PerRow([0.0; ROWS]); QUERIES];
        let expected = Unit::Portable.tile(rows, queries, || cuts, &mut plain);
        for unit in units() {
            let mut out = [PerRow([0.0; ROWS]); QUERIES];
            let hits = unit.tile(rows, queries, || cuts, &mut out);
            for q in 0..QUERIES {
                for r in 0..ROWS {
                    let estimate = plain[q].0[r];
                    // The last multiply-add is rounded once or twice.
                    let near = 4.0 * f32::EPSILON * (estimate.abs() + offset.0[r].abs());
                    if (estimate - cuts[q]).abs() > near {
                        prop_assert_eq!(hits[q] >> r & 1, expected[q] >> r & 1);
                    }
                    if hits[q] != 0 {
                        prop_assert!((out[q].0[r] - estimate).abs() <= near);
                    }
                }
            }
        }
    }

    #[test]
    fn codes_leave_no_more_than_they_say((dim, _, base) in data(1, 20)) {
        for unit in Unit::all() {
            for row in MatrixView::new(&base, dim).iter() {
                let mut codes = vec![99; dim + 3];
                let coded = unit.code(row, &mut codes);
                prop_assert_eq!(coded.norm, norm(row));
                prop_assert_eq!(&codes[dim..], &[99; 3]);
                if !(2f64.powi(-40)..2f64.powi(40)).contains(&coded.norm) {
                    continue;
                }
                let rest = |(&x, &code): (&f32, &i8)| {
                    f64::from(x) - f64::from(coded.scale) * f64::from(code)
                };
                let left: f64 = row.iter().zip(&codes).map(|pair| rest(pair).powi(2)).sum();
                prop_assert!(left.sqrt() <= coded.residual, "{} {}", left.sqrt(), coded.residual);
                prop_assert!(coded.residual <= 0.51 * f64::from(coded.scale) * (dim as f64).sqrt() + 1e-6 * coded.norm);
                prop_assert!(codes[..dim].iter().all(|&code| code >= -127));
            }
        }
    }

    #[test]
    fn scores_are_those_of_the_definition((dim, queries, base) in data(3, 20)) {
        for query in MatrixView::new(&queries, dim).iter() {
            for row in MatrixView::new(&base, dim).iter() {
                for metric in [Metric::Ip, Metric::L2] {
                    let expected = metric.score(query, row);
                    for unit in units() {
                        let found = unit.score(metric, query, row);
                        prop_assert_eq!(found.to_bits(), expected.to_bits());
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_not_finite_has_no_finite_norm() {
    for unit in Unit::all() {
        for x in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut values = [1.0; 37];
            values[36] = x;
            assert!(!unit.code(&values, &mut [0; 40]).norm.is_finite());
        }
    }
}

/// `cargo test --release -p vprep-knn -- --ignored peak --nocapture`
#[test]
#[ignore = "a measurement"]
fn peak_of_the_products_of_codes_on_one_thread() {
    let rows = vec![RowCodes([130; ROWS * GROUP]); 192];
    let codes: Vec<QueryCodes> = vec![[[1; GROUP]; QUERIES]; 192];
    let (scale, offset) = (PerRow([1.0; ROWS]), PerRow([0.0; ROWS]));
    let rows = RowPanel { codes: &rows, scale: &scale, offset: &offset };
    let (start, scale) = ([0; QUERIES], [1.0; QUERIES]);
    let queries = QueryPanel { codes: &codes, next: &codes, start: &start, scale: &scale };
    let mut out = [PerRow([0.0; ROWS]); QUERIES];
    let tiles = 20_000;
    let operations = 2.0 * (ROWS * QUERIES * 192 * GROUP * tiles) as f64;
    for unit in units() {
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            let start = std::time::Instant::now();
            for _ in 0..tiles {
                let cuts = || [f32::INFINITY; QUERIES];
                std::hint::black_box(unit.tile(rows, queries, cuts, &mut out));
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        eprintln!("{unit:?}: {:.0} Gop/s", operations / best / 1e9);
    }
}
