//! What is true, by brute force, and what an answer is held to.

use super::case::Case;
use crate::{Answers, Index, Store};
use std::collections::HashSet;
use vprep_core::recall::Truth;
use vprep_core::{Metric, Neighbour, Silent, norm};

/// Scores may be off by this part of the size of the terms that are summed.
const TOLERANCE: f64 = 1e-4;

/// The truth of a case for every query.
pub(super) struct Oracle<'a> {
    case: &'a Case,
    /// All rows, best first, of each query.
    order: Vec<Vec<i32>>,
}

impl<'a> Oracle<'a> {
    pub(super) fn new(case: &'a Case) -> Self {
        let order = |query: &[f32]| {
            let mut all: Vec<_> = (0u32..)
                .zip(case.base().iter())
                .map(|(row, vector)| Neighbour { row, score: case.metric.score(query, vector) })
                .collect();
            all.sort_unstable_by(|a, b| a.compare(b, case.metric));
            all.into_iter().map(|neighbour| neighbour.row as i32).collect()
        };
        Self { case, order: case.queries().iter().map(order).collect() }
    }

    /// Searches, checks all that holds for every answer, and returns the recall.
    pub(super) fn search(
        &self,
        store: &dyn Store,
        index: &dyn Index,
        k: usize,
        knob: Option<u32>,
    ) -> f64 {
        let name = store.info().name;
        let case = self.case;
        let answers = index.search(case.queries(), k, knob, &Silent).unwrap_or_else(|error| {
            panic!("{name}: {case}: searching at k = {k}, knob = {knob:?} failed: {error}")
        });
        self.recall(&format!("{name}: {case}, k = {k}, knob = {knob:?}"), &answers, k)
    }

    /// Checks answers and returns their recall, ties counted.
    fn recall(&self, what: &str, answers: &Answers, k: usize) -> f64 {
        let width = k.min(self.case.base().rows());
        let queries = self.case.queries().rows();
        assert_eq!(answers.rows.len(), queries * width, "{what}: number of rows in the answer");
        assert_eq!(answers.scores.len(), queries * width, "{what}: number of scores");
        let mut hits = 0;
        for (query, (rows, scores)) in
            answers.rows.chunks(width).zip(answers.scores.chunks(width)).enumerate()
        {
            let what = format!("{what}, query {query}");
            self.check(&what, query, rows, scores);
            let truth = Truth {
                metric: self.case.metric,
                base: self.case.base(),
                query: self.case.queries().row(query),
                rows: &self.order[query][..width],
            };
            hits += truth.hits(rows).with_ties;
        }
        f64::from(hits) / (queries * width) as f64
    }

    /// Rows in range and distinct, "none" at the end only, true scores, best first.
    fn check(&self, what: &str, query: usize, rows: &[i64], scores: &[f32]) {
        let (case, vector) = (self.case, self.case.queries().row(query));
        let returned = rows.iter().take_while(|&&row| row != -1).count();
        let (some, none) = rows.split_at(returned);
        assert!(none.iter().all(|&row| row == -1), "{what}: rows after a -1: {rows:?}");
        assert!(
            scores[returned..].iter().all(|score| score.is_nan()),
            "{what}: a score that is not NaN beside -1: {scores:?}"
        );
        let range = 0..case.base().rows() as i64;
        if let Some(row) = some.iter().find(|row| !range.contains(row)) {
            panic!("{what}: row {row} is not one of the {} rows", range.end);
        }
        let distinct: HashSet<_> = some.iter().collect();
        assert_eq!(distinct.len(), returned, "{what}: a row twice: {rows:?}");

        let mut previous: Option<f64> = None;
        for (&row, &score) in some.iter().zip(scores) {
            let other = case.base().row(row as usize);
            let truth = case.metric.score(vector, other);
            let allowed = TOLERANCE * scale(case.metric, vector, other);
            assert!(
                (f64::from(score) - truth).abs() <= allowed,
                "{what}: row {row} has score {score}, but its true score is {truth}"
            );
            if let Some(before) = previous {
                let worse =
                    if case.metric.larger_is_better() { before - truth } else { truth - before };
                assert!(
                    worse >= -2.0 * allowed,
                    "{what}: row {row} with true score {truth} comes after one with {before}"
                );
            }
            previous = Some(truth);
        }
    }

    /// How many rows were returned for each query.
    pub(super) fn returned(&self, answers: &Answers, k: usize) -> Vec<usize> {
        let width = k.min(self.case.base().rows());
        let count = |rows: &[i64]| rows.iter().filter(|&&row| row >= 0).count();
        answers.rows.chunks(width).map(count).collect()
    }
}

/// The size of the terms that make a score.
fn scale(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    let size = match metric {
        Metric::Cosine => 1.0,
        Metric::Ip => norm(a) * norm(b),
        Metric::L2 => norm(a).powi(2) + norm(b).powi(2),
    };
    size.max(f64::from(f32::EPSILON))
}
