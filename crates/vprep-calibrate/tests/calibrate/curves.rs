//! Known recall curves and what must come of them.

use crate::double::{Double, ROWS, Spoilt};
use std::collections::HashSet;
use vprep_calibrate::{QuerySet, Rule};
use vprep_core::MatrixView;

/// Recall v / 200 of the knob value v, from 10 to 200.
fn straight() -> Double {
    Double::curve(10, 200, |value| value as usize)
}

#[test]
fn the_smallest_value_is_found_and_the_one_below_misses() {
    let store = straight();
    let (cells, points) =
        store.run(&[10], &[0.95, 0.5, 0.9, 0.9], None, Rule::Mean, Vec::new()).unwrap();
    let values: Vec<_> = cells.iter().map(|cell| (cell.target, cell.value)).collect();
    assert_eq!(values, [(0.5, Some(100)), (0.9, Some(180)), (0.95, Some(190))]);
    for cell in &cells {
        assert!(cell.reached && cell.notes.is_empty(), "{cell:?}");
        assert_eq!(cell.calibration_recall, Some(cell.target));
        assert_eq!(cell.value_below_recall, Some((cell.value.unwrap() - 1) as f64 / 200.0));
        assert_eq!((cell.calibration_queries, cell.held_out_queries), (20, 10));
        let held_out = cell.held_out_recall.unwrap();
        assert!(cell.held_out_low.unwrap() <= held_out && held_out <= cell.held_out_high.unwrap());
        assert_eq!(cell.knob.as_deref(), Some("effort"));
    }
    // 10, 20, 40, 80, 160 and then 120, 100, 90, 95, 97, 98, 99.
    assert_eq!(cells[0].evaluations, 12);

    let searches = store.searches.lock().unwrap();
    let distinct: HashSet<_> = searches.iter().collect();
    assert_eq!(distinct.len(), searches.len(), "measured twice");
    assert_eq!(points.len(), searches.len());
    assert!(points.is_sorted_by_key(|point| (point.k, point.set, point.value)));
    assert!(points.iter().all(|point| point.seconds >= 0.0 && point.short == 0));
}

#[test]
fn known_points_are_not_measured_again_and_change_nothing() {
    let (cells, points) = straight().run(&[10], &[0.5, 0.9], None, Rule::Mean, Vec::new()).unwrap();
    let store = straight();
    let again = store.run(&[10], &[0.5, 0.9], None, Rule::Mean, points.clone()).unwrap();
    assert!(store.searches.lock().unwrap().is_empty());
    assert_eq!(again, (cells.clone(), points.clone()));

    // A part of the points, and another target beside.
    let part = points.iter().step_by(2).cloned().collect();
    let (more, _) = straight().run(&[10], &[0.5, 0.7, 0.9], None, Rule::Mean, part).unwrap();
    assert_eq!([&more[0], &more[2]], [&cells[0], &cells[1]]);

    // Points of another split are left out.
    let mut wrong = points.clone();
    wrong.iter_mut().for_each(|point| (point.queries, point.recall) = (7, 1.0));
    let (same, _) = straight().run(&[10], &[0.5, 0.9], None, Rule::Mean, wrong).unwrap();
    assert_eq!(same, cells);
}

#[test]
fn the_smallest_legal_value_has_nothing_below() {
    let cell = straight().cell(0.05, None);
    assert_eq!((cell.value, cell.reached, cell.evaluations), (Some(10), true, 1));
    assert_eq!(cell.value_below_recall, None);
}

#[test]
fn a_cap_below_the_target_gives_the_best_point() {
    let cell = straight().cell(0.9, Some(100));
    assert_eq!((cell.value, cell.reached), (Some(100), false));
    assert_eq!(cell.calibration_recall, Some(0.5));
    assert_eq!(cell.value_below_recall, Some(0.495));
    assert!(cell.held_out_recall.is_some() && cell.held_out_low.is_some());
    assert_eq!(
        cell.notes,
        ["effort met its cap of 100 below the target: the best recall is 0.5000, at 100"]
    );
    // Beyond the store's own limit, a cap changes nothing.
    assert_eq!(straight().cell(0.9, Some(1_000)), straight().cell(0.9, None));
}

#[test]
fn a_curve_that_saturates_gives_the_value_where_it_does() {
    let cell = Double::curve(1, 1_000, |value| (value as usize).min(137)).cell(0.9, None);
    assert_eq!((cell.value, cell.reached), (Some(137), false));
    assert_eq!(cell.value_below_recall, Some(136.0 / 200.0));
}

#[test]
fn a_cap_below_the_smallest_value_allows_nothing() {
    let cell = straight().cell(0.9, Some(9));
    assert_eq!((cell.value, cell.reached, cell.evaluations), (None, false, 0));
    assert_eq!((cell.calibration_recall, cell.held_out_recall), (None, None));
    assert_eq!(
        (cell.held_out_low, cell.held_out_high, cell.value_below_recall),
        (None, None, None)
    );
    assert_eq!(
        cell.notes,
        [
            "no value of effort is allowed: the smallest legal one for k = 10 is 10, and the cap is 9"
        ]
    );
}

#[test]
fn a_knob_without_effect_is_named() {
    let store = Double::curve(10, 300, |_| 150);
    let cell = store.cell(0.9, None);
    assert_eq!((cell.value, cell.reached), (Some(10), false));
    assert_eq!(
        cell.notes,
        ["effort changes nothing: recall is 0.7500 at each of the 6 values looked at, \
          from 10 to 300"]
    );
    let searches = store.searches.lock().unwrap();
    assert!([10, 300].iter().all(|&value| searches.contains(&(10, 20, Some(value)))));
}

#[test]
fn a_curve_that_is_not_monotone_still_gives_a_proved_value() {
    let store = Double::curve(1, 200, |value| if value % 7 == 3 { 0 } else { value as usize });
    let cell = store.cell(0.6, None);
    let value = cell.value.unwrap();
    assert!(cell.reached && value >= 120);
    assert!(cell.value_below_recall.unwrap() < 0.6);
}

#[test]
fn an_exact_store_is_looked_at_once() {
    let cell = Double::new(None, |_, _, k| k).cell(0.99, Some(5));
    assert_eq!((cell.knob, cell.value, cell.reached, cell.evaluations), (None, None, true, 1));
    assert_eq!((cell.calibration_recall, cell.held_out_recall), (Some(1.0), Some(1.0)));
    assert_eq!(cell.held_out_high, Some(1.0));
    assert_eq!((cell.value_below_recall, cell.notes.len()), (None, 0));

    let cell = Double::new(None, |_, _, _| 9).cell(0.99, None);
    assert!(!cell.reached);
    assert_eq!(cell.notes, ["there is no knob to turn, and the recall is 0.9000"]);
}

#[test]
fn short_repeated_and_noted_answers_are_told() {
    let double = |spoilt| Double::curve(10, 200, |_| 200).spoilt(spoilt);
    let spoilt = Spoilt { short: true, ..Spoilt::default() };
    let cell = double(spoilt).cell(0.9, None);
    assert_eq!(cell.calibration_recall, Some(193.0 / 200.0));
    assert_eq!(
        cell.notes,
        [
            "7 of 20 calibration queries got fewer than 10 rows",
            "3 of 10 held-out queries got fewer than 10 rows"
        ]
    );
    let spoilt = Spoilt { repeated: true, note: true, ..Spoilt::default() };
    let (cells, points) = double(spoilt).run(&[10], &[0.9], None, Rule::Mean, Vec::new()).unwrap();
    assert_eq!(cells[0].calibration_recall, Some(193.0 / 200.0));
    assert_eq!(
        cells[0].notes,
        [
            "7 rows came twice in the answers to calibration queries",
            "a scan answered",
            "3 rows came twice in the answers to held-out queries"
        ]
    );
    assert_eq!(points.iter().map(|point| point.repeated).collect::<Vec<_>>(), [7, 3]);
    // What was measured before is told again.
    let (again, _) =
        double(Spoilt::default()).run(&[10], &[0.9], None, Rule::Mean, points).unwrap();
    assert_eq!(again, cells);
}

#[test]
fn the_lower_bound_asks_for_more() {
    let mean = straight().cell(0.8, None);
    let (cells, points) =
        straight().run(&[10], &[0.8], None, Rule::LowerBound, Vec::new()).unwrap();
    let value = cells[0].value.unwrap();
    assert!(cells[0].reached && value > mean.value.unwrap(), "{value}");
    let bound = |value| {
        let wanted = (10, QuerySet::Calibration, Some(value));
        points.iter().find(|p| (p.k, p.set, p.value) == wanted).unwrap().lower_bound
    };
    assert!(bound(value) >= 0.8 && bound(value - 1) < 0.8);
}

#[test]
fn ties_count_and_strict_recall_does_not_count_them() {
    // All rows are equal: whatever comes is right, and none of it stands in the truth.
    let store = Double::curve(10, 200, |_| 0);
    let (cells, _) = store
        .run_with(&[10], &[0.9], None, Rule::Mean, Vec::new(), |data| {
            data.base = MatrixView::new(&[0.0; ROWS], 1);
        })
        .unwrap();
    assert_eq!(cells[0].calibration_recall, Some(1.0));
    assert_eq!(cells[0].calibration_strict_recall, Some(0.0));
}

#[test]
fn every_k_has_its_own_cells() {
    let store = Double::new(Some((1, 400, 1)), |value, _, k| k * value as usize / 400);
    let (cells, _) = store.run(&[100, 1, 10], &[1.0, 0.5], None, Rule::Mean, Vec::new()).unwrap();
    let found: Vec<_> = cells.iter().map(|cell| (cell.k, cell.target, cell.value)).collect();
    assert_eq!(
        found,
        [
            (1, 0.5, Some(400)),
            (1, 1.0, Some(400)),
            (10, 0.5, Some(200)),
            (10, 1.0, Some(400)),
            (100, 0.5, Some(200)),
            (100, 1.0, Some(400)),
        ]
    );
}
