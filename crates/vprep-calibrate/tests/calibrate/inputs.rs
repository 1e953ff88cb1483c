//! Inputs that do not fit.

use crate::double::Double;
use vprep_calibrate::{CalibrateError, Queries, Rule};
use vprep_core::{Failure, Kind, MatrixView, Metric};

fn run(k: &[u32], target: &[f64], change: impl FnOnce(&mut Queries<'_>)) -> CalibrateError {
    let store = Double::curve(10, 200, |value| value as usize);
    let result = store.run_with(k, target, None, Rule::Mean, Vec::new(), change);
    assert!(store.searches.lock().expect("no panic").is_empty(), "searched before the check");
    result.expect_err("inputs that do not fit")
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for target in [0.0, -0.5, 1.01, f64::NAN, f64::INFINITY] {
        let error = run(&[10], &[0.9, target], |_| {});
        assert!(matches!(error, CalibrateError::Target(_)), "{error}");
        assert_eq!(error.kind(), Kind::Usage);
    }
    assert!(matches!(run(&[0], &[0.9], |_| {}), CalibrateError::ZeroK));
    assert!(matches!(run(&[], &[0.9], |_| {}), CalibrateError::Nothing));
    assert!(matches!(run(&[1], &[], |_| {}), CalibrateError::Nothing));
    assert_eq!(
        run(&[10, 101], &[0.9], |_| {}).to_string(),
        "k = 101, but the truth holds 100 neighbours of each query; \
         compute more with `vprep truth --k 101`"
    );
}

#[test]
fn parts_of_different_datasets_are_refused() {
    let message = |change: fn(&mut Queries<'_>)| {
        let error = run(&[10], &[0.9], change);
        assert_eq!(error.kind(), Kind::Data, "{error}");
        error.to_string()
    };
    assert!(message(|d| d.calibration = &[]).contains("no calibration queries"));
    assert!(message(|d| d.held_out = &[]).contains("no held-out queries"));
    assert!(message(|d| d.held_out = &[30]).contains("query row 30, but there are 30"));
    assert!(message(|d| d.held_out = &[25, 7]).contains("query row 7 twice"));
    assert!(message(|d| d.truth_ids = &[0; 99]).contains("holds 99 row numbers"));
    assert!(message(|d| d.truth_ids = &[-1; 3_000]).contains("names row -1"));
    assert!(message(|d| d.truth_ids = &[1_000; 3_000]).contains("names row 1000"));
    assert!(message(|d| d.queries = MatrixView::new(&[0.0; 4], 2)).contains("dim 2"));
    assert!(message(|d| d.base = MatrixView::new(&[], 1)).contains("no rows"));
    assert_eq!(
        message(|d| d.metric = Metric::L2),
        "the index of `double` holds 1000 rows of dim 1 under ip, but the truth is of 1000 rows \
         of dim 1 under l2; build it again with `vprep build --store double`"
    );
}

#[test]
fn cosine_of_unit_vectors_is_the_inner_product() {
    let mut store = Double::curve(10, 200, |value| value as usize);
    store.facts_mut().metric = Metric::Cosine;
    let refused = store.run(&[10], &[0.9], None, Rule::Mean, Vec::new());
    assert!(matches!(refused, Err(CalibrateError::Index { .. })));
    store.facts_mut().unit_length = true;
    assert!(store.run(&[10], &[0.9], None, Rule::Mean, Vec::new()).is_ok());
}

#[test]
fn more_neighbours_than_rows_are_all_rows() {
    // 40 rows, and a truth that is as deep as that.
    let base: &[f32] = (0..40).map(|row| -(row as f32)).collect::<Vec<_>>().leak();
    let truth: &[i32] = (0..30).flat_map(|_| 0..40).collect::<Vec<_>>().leak();
    let mut store = Double::new(None, |_, _, k| k);
    store.facts_mut().rows = 40;
    let (cells, points) = store
        .run_with(&[40, 50], &[1.0], None, Rule::Mean, Vec::new(), |data| {
            (data.base, data.truth_ids, data.truth_k) = (MatrixView::new(base, 1), truth, 40);
        })
        .unwrap();
    assert!(cells.iter().all(|cell| cell.reached));
    assert!(cells[0].notes.is_empty());
    assert_eq!(cells[1].notes, ["the base has 40 rows only: recall is over 40, not 50"]);
    assert!(points.iter().all(|point| point.recall == 1.0 && point.short == 0));
}
