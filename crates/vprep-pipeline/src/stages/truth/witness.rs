//! FAISS as a witness: no row that it finds may be better than those of an answer.

use crate::{PipelineError, stores};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use tempfile::TempDir;
use vprep_core::{MatrixView, Metric, Progress};
use vprep_data::DataError;
use vprep_knn::Found;
use vprep_store::{BuildSpec, Index};

/// The store that searches exactly by FAISS.
pub(crate) const STORE: &str = "faiss-flat";

/// FAISS's exact index of a base.
pub(super) struct Witness<'a> {
    base: MatrixView<'a>,
    metric: Metric,
    index: Box<dyn Index + 'a>,
    /// Holds the index's files.
    _scratch: TempDir,
}

impl<'a> Witness<'a> {
    /// Copies the base into an index below `dir`, where it lies until it is dropped.
    pub(super) fn new(
        base: MatrixView<'a>,
        metric: Metric,
        dir: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, PipelineError> {
        let store = stores::find(STORE)?;
        let scratch = TempDir::new_in(dir).map_err(DataError::io("write in", dir))?;
        let (name, parameters) = (String::new(), BTreeMap::new());
        let spec = BuildSpec { name, metric, unit_length: false, parameters };
        store.build(base, &spec, scratch.path(), progress)?;
        let index = store.open(scratch.path(), base)?;
        Ok(Self { base, metric, index, _scratch: scratch })
    }

    /// Searches the queries again and scores in float64 what is not among the `k` rows found. Gives
    /// the first query to which a better row was found, and that row.
    pub(super) fn contradicts(
        &self,
        queries: MatrixView<'_>,
        found: &Found,
        k: usize,
        progress: &dyn Progress,
    ) -> Result<Option<(usize, i64)>, PipelineError> {
        let answers = self.index.search(queries, k, None, progress)?;
        for (i, rows) in answers.rows.chunks_exact(k).enumerate() {
            let (query, ours) = (queries.row(i), &found.rows[i * k..][..k]);
            let score = |row: i64| self.metric.score(query, self.base.row(row as usize));
            let last = score(i64::from(ours[k - 1]));
            let ours: HashSet<i64> = ours.iter().map(|&row| i64::from(row)).collect();
            let better = |row: &&i64| {
                **row >= 0 && !ours.contains(row) && self.metric.compare(score(**row), last).is_lt()
            };
            if let Some(&row) = rows.iter().find(better) {
                return Ok(Some((found.queries.start + i, row)));
            }
        }
        Ok(None)
    }
}

#[cfg(all(test, feature = "faiss"))]
mod tests {
    use super::*;
    use vprep_core::Silent;

    #[test]
    fn a_row_that_is_better_is_named() {
        let base: Vec<f32> = (0..100u8).flat_map(|i| [f32::from(i), 1.0]).collect();
        let base = MatrixView::new(&base, 2);
        let dir = tempfile::tempdir().expect("a directory");
        let witness = Witness::new(base, Metric::L2, dir.path(), &Silent).expect("an index");
        let query = MatrixView::new(&[7.1, 1.0], 2);
        let contradicts = |rows: [i32; 3]| {
            let found = Found { queries: 5..6, rows: rows.to_vec(), ..Found::default() };
            witness.contradicts(query, &found, 3, &Silent).expect("an answer")
        };
        assert_eq!(contradicts([7, 8, 6]), None);
        assert_eq!(contradicts([7, 8, 5]), Some((5, 6)));
    }
}
