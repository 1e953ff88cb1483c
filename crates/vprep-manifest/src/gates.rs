//! What the results of a recipe are held to: `[gates]`.

use crate::{Cell, GatesTable};
use std::collections::BTreeMap;
use std::fmt;

/// One gate and what came to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The store.
    pub store: String,
    /// Neighbours asked for.
    pub k: u32,
    /// The least recall that passes: 1 for the exact store.
    pub needed: f64,
    /// The recall that came; none where nothing was measured.
    pub found: Option<f64>,
}

impl Gate {
    /// Whether the recall is high enough.
    pub fn passes(&self) -> bool {
        self.found.is_some_and(|found| found >= self.needed)
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store, k, needed, found } = self;
        match found {
            Some(found) => write!(f, "{store} k={k}: recall {found:.4}, the gate is {needed}"),
            None => write!(f, "{store} k={k}: nothing was measured, the gate is {needed}"),
        }
    }
}

impl GatesTable {
    /// The store whose recall must be exactly 1.
    pub const EXACT: &str = "flat";

    /// The gates that the calibrations `cells` of all stores come to, by (store, k).
    ///
    /// The exact store has one for each `exact_k`: the least recall on either set of queries, at
    /// any of its cells. The others have one for each k: the best held-out recall of their cells.
    pub fn gates(&self, cells: &[Cell]) -> Vec<Gate> {
        let exact = self.exact_k.iter().map(|&k| {
            let own = cells.iter().filter(|cell| cell.store == Self::EXACT && cell.k == k);
            let recalls = own.flat_map(|cell| [cell.calibration_recall, cell.held_out_recall]);
            let found = recalls.map(|recall| recall.unwrap_or(0.0)).reduce(f64::min);
            Gate { store: Self::EXACT.to_owned(), k, needed: 1.0, found }
        });
        let mut best: BTreeMap<(&str, u32), Option<f64>> = BTreeMap::new();
        for cell in cells.iter().filter(|cell| cell.store != Self::EXACT) {
            let found = best.entry((&cell.store, cell.k)).or_default();
            *found = [*found, cell.held_out_recall].into_iter().flatten().reduce(f64::max);
        }
        let floors = best.into_iter().map(|((store, k), found)| {
            let (store, needed) = (store.to_owned(), self.floor);
            Gate { store, k, needed, found }
        });
        exact.chain(floors).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(store: &str, k: u32, recall: Option<f64>) -> Cell {
        Cell {
            store: store.to_owned(),
            k,
            target: 0.9,
            knob: None,
            value: None,
            calibration_recall: recall,
            calibration_strict_recall: recall,
            held_out_recall: recall,
            held_out_strict_recall: recall,
            held_out_low: None,
            held_out_high: None,
            calibration_queries: 1,
            held_out_queries: 1,
            reached: true,
            evaluations: 1,
            value_below_recall: None,
            notes: Vec::new(),
        }
    }

    fn failing(cells: &[Cell]) -> Vec<String> {
        let gates = GatesTable { exact_k: vec![1, 10], floor: 0.9 }.gates(cells);
        gates.iter().filter(|gate| !gate.passes()).map(ToString::to_string).collect()
    }

    #[test]
    fn flat_must_be_exact_at_every_k() {
        let one = cell("flat", 1, Some(1.0));
        assert!(failing(&[one.clone(), cell("flat", 10, Some(1.0))]).is_empty());
        assert_eq!(
            failing(&[one.clone(), cell("flat", 10, Some(0.99999))]),
            ["flat k=10: recall 1.0000, the gate is 1"]
        );
        assert_eq!(failing(&[one]), ["flat k=10: nothing was measured, the gate is 1"]);
    }

    #[test]
    fn the_best_cell_of_a_store_must_reach_the_floor() {
        let mut cells = vec![cell("flat", 1, Some(1.0)), cell("flat", 10, Some(1.0))];
        cells.extend([cell("pq", 10, Some(0.7)), cell("pq", 10, Some(0.91))]);
        assert!(failing(&cells).is_empty());
        cells.extend([cell("pq", 100, Some(0.89)), cell("pq", 100, None)]);
        assert_eq!(failing(&cells), ["pq k=100: recall 0.8900, the gate is 0.9"]);
        let capped = cell("hnsw", 10, None);
        cells.push(capped);
        assert_eq!(failing(&cells)[0], "hnsw k=10: nothing was measured, the gate is 0.9");
    }
}
