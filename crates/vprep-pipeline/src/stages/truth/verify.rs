//! Whether the plain reference answers some queries alike.

use super::reference::{self, Answer};
use crate::PipelineError;
use crate::dataset::TRUTH_IDS;
use rayon::prelude::*;
use std::path::Path;
use vprep_core::sample::Sample;
use vprep_core::{MatrixView, Metric, Progress};
use vprep_knn::Found;

/// Seed of the draw; `validate` draws others.
const SEED: u64 = 1;

/// The answers to queries drawn by seed.
pub(super) struct Verifier {
    chosen: Vec<usize>,
    answers: Vec<Answer>,
}

impl Verifier {
    /// Draws `count` of `queries` queries, or all if there are fewer.
    pub(super) fn new(count: u64, queries: usize) -> Self {
        let total = queries as u64;
        let sample = Sample::new(SEED, total, count.min(total));
        Self { chosen: sample.rows().map(|row| row as usize).collect(), answers: Vec::new() }
    }

    /// Keeps the answers to those queries of a block that were drawn. Blocks come in order.
    pub(super) fn keep(&mut self, found: &Found, k: usize) {
        let range = &found.queries;
        let drawn =
            self.chosen[self.answers.len()..].iter().take_while(|query| range.contains(query));
        self.answers.extend(drawn.map(|query| Answer::of(found, query - range.start, k)));
    }

    /// Answers the queries again, and returns how many they were.
    ///
    /// # Errors
    ///
    /// [`PipelineError::NotVerified`] with the first query that differs, or if the user stops the
    /// work.
    pub(super) fn check(
        &self,
        dir: &Path,
        base: MatrixView<'_>,
        queries: MatrixView<'_>,
        metric: Metric,
        progress: &dyn Progress,
    ) -> Result<u64, PipelineError> {
        let task = progress.task("verifying", self.chosen.len() as u64, "queries");
        let pairs = self.chosen.par_iter().zip(&self.answers);
        let fault = pairs.map(|(&query, answer)| {
            progress.check()?;
            let k = answer.rows.len();
            let reference = reference::answer(base, queries.row(query), metric, k);
            task.advance(1);
            match answer.difference(&reference) {
                None => Ok(()),
                Some(problem) => {
                    let path = dir.join(TRUTH_IDS);
                    Err(PipelineError::NotVerified { path, query: query as u64, problem })
                }
            }
        });
        fault.find_first(Result::is_err).unwrap_or(Ok(()))?;
        Ok(self.chosen.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vprep_core::{Failure, Kind, Silent};

    #[test]
    fn a_difference_names_the_query_and_what_differs() {
        let base = [0.0, 1.0, 2.0, 4.0];
        let (base, queries) = (MatrixView::new(&base, 1), [0.1, 1.1, 3.9]);
        let queries = MatrixView::new(&queries, 1);
        let (metric, k) = (Metric::L2, 2);
        let mut found = Found { queries: 0..3, ..Found::default() };
        for query in queries.iter() {
            reference::answer(base, query, metric, k).append_to(&mut found);
        }
        let check = |found: &Found| {
            let mut verifier = Verifier::new(10, 3);
            verifier.keep(found, k);
            verifier.check(Path::new("d"), base, queries, metric, &Silent)
        };
        assert_eq!(check(&found).expect("alike"), 3);
        let wrong = |change: &dyn Fn(&mut Found)| {
            let mut found = found.clone();
            change(&mut found);
            let error = check(&found).expect_err("differs");
            assert_eq!(error.kind(), Kind::Check);
            error.to_string()
        };
        let text = wrong(&|found| found.rows[3] = 0);
        assert!(
            text.contains("query 1 ") && text.contains("neighbour 1 is row 2, not 0"),
            "{text}"
        );
        let text = wrong(&|found| found.scores[4] = f32::from_bits(found.scores[4].to_bits() + 1));
        assert!(text.contains("query 2 ") && text.contains("row 3 has score"), "{text}");
        let text = wrong(&|found| found.gaps[0] = 0.0);
        assert!(text.contains("query 0 ") && text.contains("the gap behind k is"), "{text}");
    }

    #[test]
    fn blocks_give_the_answers_to_the_queries_drawn() {
        let mut verifier = Verifier::new(5, 100);
        for start in (0..100).step_by(7) {
            let queries = start..(start + 7).min(100);
            let rows: Vec<i32> = queries.clone().map(|query| query as i32).collect();
            let (scores, gaps) = (vec![0.0; rows.len()], vec![1.0; rows.len()]);
            verifier.keep(&Found { queries, rows, scores, gaps, ..Found::default() }, 1);
        }
        let kept: Vec<usize> = verifier.answers.iter().map(|a| a.rows[0] as usize).collect();
        assert_eq!((kept.len(), &kept), (5, &verifier.chosen));
    }
}
