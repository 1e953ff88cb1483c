//! The search for the smallest knob value, apart from how recall is measured.

use std::collections::BTreeMap;
use vprep_store::KnobRange;

/// The legal and allowed knob values: `smallest + i * step` for `i` from 0 to `last`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    smallest: u32,
    step: u32,
    last: u32,
}

impl Grid {
    /// The values of `range` up to `max_value`; none if there are none.
    pub(crate) fn new(range: KnobRange, max_value: Option<u32>) -> Option<Self> {
        let cap = max_value.unwrap_or(u32::MAX).min(range.largest);
        let step = range.step.max(1);
        let last = cap.checked_sub(range.smallest)? / step;
        Some(Self { smallest: range.smallest, step, last })
    }

    fn value(&self, i: u32) -> u32 {
        self.smallest + i * self.step
    }

    /// The first place at twice the value or more, or the last one.
    fn doubled(&self, i: u32) -> u32 {
        let ahead = self.value(i).div_ceil(self.step).max(1);
        i.saturating_add(ahead).min(self.last)
    }

    /// The largest value.
    pub(crate) fn cap(&self) -> u32 {
        self.value(self.last)
    }
}

/// What was seen at one value on the calibration queries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) recall: f64,
    /// Whether the target is reached there.
    pub(crate) passes: bool,
}

/// Where a search ended.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The smallest value that reaches the target; where none does, the smallest of those with
    /// the highest recall.
    pub(crate) value: u32,
    pub(crate) reached: bool,
    /// Recall one step below; none at the smallest value.
    pub(crate) below: Option<f64>,
    /// How many values were looked at.
    pub(crate) evaluations: u32,
    /// Whether they all gave the same recall, and there were several.
    pub(crate) flat: bool,
}

/// Doubles from the smallest value until one passes, then bisects. No value is looked at twice,
/// and at most `2 log2(values) + 4` of them are.
///
/// If none passes up to the cap, the highest recall seen takes the place of the target, so that a
/// curve that saturates gives the value where it does.
pub(crate) fn search<E>(grid: Grid, look: impl FnMut(u32) -> Result<Seen, E>) -> Result<Found, E> {
    let mut walk = Walk { grid, look, seen: BTreeMap::new() };
    let (mut below, mut at) = (0, 0);
    loop {
        if walk.at(at)?.passes {
            let bracket = Bracket { below, at, goal: None };
            return walk.bisect(bracket);
        }
        if at == grid.last {
            break;
        }
        (below, at) = (at, grid.doubled(at));
    }

    let best = walk.seen.values().map(|seen| seen.recall).fold(f64::MIN, f64::max);
    let (mut below, mut at) = (0, 0);
    for (&i, seen) in &walk.seen {
        at = i;
        if seen.recall >= best {
            break;
        }
        below = i;
    }
    let mut bracket = Bracket { below, at, goal: Some(best) };
    // Recall mostly still grows at the cap: then one look below it settles the matter.
    if bracket.is_open() {
        bracket.narrow(at - 1, walk.at(at - 1)?);
    }
    walk.bisect(bracket)
}

/// Two places: `below` misses the goal and `at` meets it; equal at the smallest value.
struct Bracket {
    below: u32,
    at: u32,
    /// The recall to meet; none for the target itself.
    goal: Option<f64>,
}

impl Bracket {
    fn is_open(&self) -> bool {
        self.at - self.below > 1
    }

    /// Moves one end to `i`. A place that passes after all, on a curve that falls somewhere, makes
    /// the target the goal again; a better one raises the goal.
    fn narrow(&mut self, i: u32, seen: Seen) {
        if seen.passes {
            (self.at, self.goal) = (i, None);
        } else if self.goal.is_some_and(|goal| seen.recall >= goal) {
            (self.at, self.goal) = (i, Some(seen.recall));
        } else {
            self.below = i;
        }
    }
}

/// A search under way.
struct Walk<F> {
    grid: Grid,
    look: F,
    seen: BTreeMap<u32, Seen>,
}

impl<E, F: FnMut(u32) -> Result<Seen, E>> Walk<F> {
    fn at(&mut self, i: u32) -> Result<Seen, E> {
        if let Some(&seen) = self.seen.get(&i) {
            return Ok(seen);
        }
        let seen = (self.look)(self.grid.value(i))?;
        self.seen.insert(i, seen);
        Ok(seen)
    }

    /// Closes the bracket.
    fn bisect(mut self, mut bracket: Bracket) -> Result<Found, E> {
        while bracket.is_open() {
            let middle = bracket.below + (bracket.at - bracket.below) / 2;
            bracket.narrow(middle, self.at(middle)?);
        }
        let below = bracket.at.checked_sub(1).and_then(|i| self.seen.get(&i));
        let mut recalls = self.seen.values().map(|seen| seen.recall);
        let first = recalls.next();
        Ok(Found {
            value: self.grid.value(bracket.at),
            reached: bracket.goal.is_none(),
            below: below.map(|seen| seen.recall),
            evaluations: self.seen.len() as u32,
            flat: self.seen.len() > 1 && recalls.all(|recall| Some(recall) == first),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn run(range: KnobRange, cap: Option<u32>, target: f64, curve: impl Fn(u32) -> f64) -> Found {
        let grid = Grid::new(range, cap).expect("a legal value");
        let mut looked = Vec::new();
        let found = search(grid, |value| {
            assert!(!looked.contains(&value), "{value} twice");
            assert!((range.smallest..=range.largest.min(cap.unwrap_or(u32::MAX))).contains(&value));
            assert_eq!((value - range.smallest) % range.step, 0);
            looked.push(value);
            Ok::<_, Infallible>(Seen { recall: curve(value), passes: curve(value) >= target })
        });
        let Ok(found) = found;
        assert_eq!(found.evaluations as usize, looked.len());
        let values = f64::from(grid.last) + 1.0;
        let bound = 2.0 * values.log2() + 4.0;
        assert!(f64::from(found.evaluations) <= bound, "{} looks, {bound}", found.evaluations);
        if let Some(below) = found.below {
            let value = found.value - range.step;
            assert!(looked.contains(&value) && below == curve(value));
        } else {
            assert_eq!(found.value, range.smallest);
        }
        found
    }

    fn range(smallest: u32, largest: u32, step: u32) -> KnobRange {
        KnobRange { smallest, largest, step }
    }

    #[test]
    fn the_first_value_may_do() {
        let found = run(range(10, 1_000, 1), None, 0.9, |_| 0.9);
        assert_eq!((found.value, found.reached, found.evaluations), (10, true, 1));
    }

    #[test]
    fn a_target_out_of_reach_gives_the_best_value() {
        let found = run(range(10, 300, 1), Some(100), 0.9, |v| f64::from(v) / 1_000.0);
        assert_eq!((found.value, found.reached, found.below), (100, false, Some(0.099)));
        assert_eq!(found.evaluations, 6);
        // Saturated from 77 on.
        let found = run(range(10, 300, 1), None, 0.9, |v| f64::from(v.min(77)) / 1_000.0);
        assert_eq!((found.value, found.reached, found.below), (77, false, Some(0.076)));
        // Without effect.
        let found = run(range(10, 300, 1), None, 0.9, |_| 0.5);
        assert_eq!((found.value, found.reached, found.flat), (10, false, true));
        // Falling.
        let found = run(range(10, 300, 1), None, 0.9, |v| 0.5 - f64::from(v) / 1_000.0);
        assert_eq!((found.value, found.reached, found.flat), (10, false, false));
    }

    #[test]
    fn a_lucky_value_on_the_way_is_taken() {
        // Only 160 to 299 pass, and the cap does not.
        let curve = |v| if (160..300).contains(&v) { 0.95 } else { f64::from(v) / 1_000.0 };
        let found = run(range(10, 300, 1), None, 0.9, curve);
        assert_eq!((found.value, found.reached), (160, true));
    }

    #[test]
    fn nothing_is_allowed_below_the_smallest_value() {
        assert!(Grid::new(range(10, 300, 1), Some(9)).is_none());
        assert_eq!(Grid::new(range(10, 300, 7), Some(30)).expect("some").cap(), 24);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let found = run(range(1, u32::MAX, 1), None, 1.0, |v| f64::from(v == u32::MAX));
        assert_eq!((found.value, found.reached), (u32::MAX, true));
        run(range(u32::MAX - 1, u32::MAX, 1), None, 2.0, |v| f64::from(v) / 1e10);
    }

    proptest! {
        #[test]
        fn monotone_curves_give_the_smallest_value(
            smallest in 1u32..200,
            step in 1u32..9,
            count in 1u32..5_000,
            at in 0u32..5_200,
            levels in 1u32..1_000,
        ) {
            let range = range(smallest, smallest + (count - 1) * step, step);
            // A staircase of `levels` steps that reaches the target at place `at`.
            let curve = |value: u32| {
                let i = (value - smallest) / step;
                if i >= at { 0.9 } else { 0.8 * f64::from(i * levels / (at + 1)) / f64::from(levels) }
            };
            let found = run(range, None, 0.9, curve);
            if at < count {
                prop_assert!(found.reached);
                prop_assert_eq!(found.value, smallest + at * step);
            } else {
                prop_assert!(!found.reached);
                prop_assert_eq!(curve(found.value), curve(range.largest));
                prop_assert!(found.below.is_none_or(|below| below < curve(found.value)));
            }
        }

        #[test]
        fn any_curve_gives_a_value_whose_lower_neighbour_misses(
            curve in prop::collection::vec(0u32..20, 1..300),
            smallest in 1u32..50,
            target in 1u32..22,
        ) {
            let range = range(smallest, smallest + curve.len() as u32 - 1, 1);
            let recall = |value: u32| f64::from(curve[(value - smallest) as usize]) / 20.0;
            let target = f64::from(target) / 20.0;
            let found = run(range, None, target, recall);
            prop_assert_eq!(found.reached, recall(found.value) >= target);
            let goal = if found.reached { target } else { recall(found.value) };
            prop_assert!(found.below.is_none_or(|below| below < goal));
        }
    }
}
