//! Answering query by query, as most engines do.

use crate::{Answers, IndexFacts, KnobRange, StoreError, StoreInfo};
use rayon::prelude::*;
use vprep_core::{MatrixView, Progress};

/// A batch of queries as [`Index::search`](crate::Index::search) gets it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The queries, `q x dim`.
    pub queries: MatrixView<'a>,
    /// Neighbours asked for.
    pub k: usize,
    /// The knob value; none for a store without a knob.
    pub knob: Option<u32>,
}

impl Asked<'_> {
    /// Checks a batch against the index it is asked of: dimension and knob value. Gives the number
    /// of neighbours that a query can have, `min(k, n)`.
    ///
    /// # Errors
    ///
    /// If the dimension differs, or the knob value is not one of `range`.
    pub fn check(
        &self,
        info: &StoreInfo,
        facts: &IndexFacts,
        range: Option<KnobRange>,
    ) -> Result<usize, StoreError> {
        let (found, expected) = (self.queries.dim(), facts.dim as usize);
        if found != expected {
            return Err(StoreError::Dimension { store: info.name, found, expected });
        }
        if let (Some(range), Some(knob)) = (range, info.knob) {
            range.check(info.name, knob, self.k, self.knob.unwrap_or_default())?;
        }
        Ok(self.k.min(usize::try_from(facts.rows).unwrap_or(usize::MAX)))
    }
}

/// Answers each query of a batch of `width = min(k, n)` neighbours by `search` on rayon's current
/// pool. `search` gives at most `width` (row, score), best first; where it gives fewer, the rest is
/// -1 and NaN.
///
/// # Errors
///
/// The first error of `search`, or the user stops the work.
pub fn answer_each(
    queries: MatrixView<'_>,
    width: usize,
    progress: &dyn Progress,
    search: impl Fn(&[f32]) -> Result<Vec<(i64, f32)>, StoreError> + Sync,
) -> Result<Answers, StoreError> {
    progress.check()?;
    if width == 0 {
        return Ok(Answers::default());
    }
    let mut answers = Answers {
        rows: vec![-1; queries.rows() * width],
        scores: vec![f32::NAN; queries.rows() * width],
        notes: Vec::new(),
    };
    let places =
        answers.rows.par_chunks_exact_mut(width).zip(answers.scores.par_chunks_exact_mut(width));
    queries.data().par_chunks_exact(queries.dim()).zip(places).try_for_each(
        |(query, (rows, scores))| {
            progress.check()?;
            for ((row, score), found) in rows.iter_mut().zip(scores).zip(search(query)?) {
                (*row, *score) = found;
            }
            Ok::<_, StoreError>(())
        },
    )?;
    Ok(answers)
}
