//! Opening and searching.

use crate::{INFO, NAME};
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_knn::{Exact, KnnError};
use vprep_store::{Answers, Asked, Index, IndexFacts, KnobRange, StoreError};

/// A base, whose norms are found by the first search.
#[derive(Debug)]
pub(crate) struct FlatIndex<'a> {
    facts: IndexFacts,
    exact: Exact<'a>,
}

impl<'a> FlatIndex<'a> {
    /// Reads the facts in `dir`.
    pub(crate) fn open(dir: &Path, base: MatrixView<'a>) -> Result<Self, StoreError> {
        let facts = IndexFacts::read(dir, NAME, base)?;
        let exact = Exact::new(base, facts.metric).map_err(|e| error("opening", &e))?;
        Ok(Self { facts, exact })
    }
}

/// An error of the engine, in the words of stores.
fn error(operation: &'static str, error: &KnnError) -> StoreError {
    match *error {
        KnnError::Interrupted(interrupted) => interrupted.into(),
        KnnError::Dimension { found, expected } => {
            StoreError::Dimension { store: NAME, found, expected }
        }
        KnnError::K { .. }
        | KnnError::TooManyRows { .. }
        | KnnError::NotFinite { .. }
        | KnnError::Instructions { .. } => {
            StoreError::Engine { store: NAME, operation, message: error.to_string() }
        }
    }
}

impl Index for FlatIndex<'_> {
    fn facts(&self) -> &IndexFacts {
        &self.facts
    }

    fn knob_range(&self, _: usize) -> Option<KnobRange> {
        None
    }

    fn search(
        &self,
        queries: MatrixView<'_>,
        k: usize,
        _: Option<u32>,
        progress: &dyn Progress,
    ) -> Result<Answers, StoreError> {
        let width = Asked { queries, k, knob: None }.check(&INFO, &self.facts, None)?;
        let mut answers = Answers::default();
        if width == 0 {
            return Ok(answers);
        }
        self.exact
            .search(queries, width, progress, |found| {
                answers.rows.extend(found.rows.iter().map(|&row| i64::from(row)));
                answers.scores.extend(found.scores);
                Ok(())
            })
            .map_err(|e| error("searching", &e))?;
        Ok(answers)
    }
}
