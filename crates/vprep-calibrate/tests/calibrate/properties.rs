//! Random curves.

use crate::double::Double;
use proptest::prelude::*;
use vprep_calibrate::{QuerySet, Rule};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_chosen_value_is_the_smallest_on_monotone_curves(
        mut curve in prop::collection::vec(0usize..=200, 1..400),
        smallest in 1u32..60,
        targets in prop::collection::vec(1u32..=100, 1..5),
        cap in prop::option::of(1u32..500),
    ) {
        curve.sort_unstable();
        let largest = smallest + curve.len() as u32 - 1;
        let at = curve.clone();
        let store = Double::curve(smallest, largest, move |v| at[(v - smallest) as usize]);
        let targets: Vec<f64> = targets.into_iter().map(|t| f64::from(t) / 100.0).collect();
        let (cells, points) = store.run(&[10], &targets, cap, Rule::Mean, Vec::new()).unwrap();

        let legal = cap.unwrap_or(u32::MAX).min(largest).checked_sub(smallest).map(|d| d + 1);
        for cell in &cells {
            let Some(legal) = legal else {
                prop_assert_eq!((cell.value, cell.reached), (None, false));
                continue;
            };
            let allowed = &curve[..legal as usize];
            let goal = |&hits: &usize| hits as f64 / 200.0 >= cell.target;
            let best = *allowed.last().unwrap();
            let expected = allowed
                .iter()
                .position(goal)
                .unwrap_or_else(|| allowed.iter().position(|&hits| hits == best).unwrap());
            prop_assert_eq!(cell.value, Some(smallest + expected as u32));
            prop_assert_eq!(cell.reached, goal(&best));
            let below = expected.checked_sub(1).map(|i| allowed[i] as f64 / 200.0);
            prop_assert_eq!(cell.value_below_recall, below);
            prop_assert!(f64::from(cell.evaluations) <= 2.0 * f64::from(legal).log2() + 4.0);
        }

        let searches = store.searches.lock().unwrap();
        prop_assert_eq!(points.len(), searches.len());
        let calibration = points.iter().filter(|p| p.set == QuerySet::Calibration).count();
        prop_assert!(cells.iter().all(|cell| cell.evaluations as usize <= calibration));
    }
}
