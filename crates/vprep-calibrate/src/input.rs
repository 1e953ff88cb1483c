//! What a calibration is given, and the checks before any search.

use crate::{CalibrateError, QuerySet, Rule};
use std::collections::HashSet;
use vprep_core::{MatrixView, Metric};
use vprep_store::{IndexFacts, Store};

/// The vectors, the truth and the split.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'a> {
    /// The base that the index holds, `n x dim`.
    pub base: MatrixView<'a>,
    /// All queries, `q x dim`.
    pub queries: MatrixView<'a>,
    /// True neighbours, `q x truth_k` row numbers of the base, best first. Only the first
    /// `min(k, n)` of a row are looked at.
    pub truth_ids: &'a [i32],
    /// Neighbours of each query in `truth_ids`.
    pub truth_k: usize,
    /// The metric that the truth was computed in: `ip` where cosine vectors are unit length.
    pub metric: Metric,
    /// Query rows to tune on.
    pub calibration: &'a [u64],
    /// Query rows to prove on; none of them in `calibration`.
    pub held_out: &'a [u64],
}

/// What to look for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Neighbours asked for, in any order.
    pub k: Vec<u32>,
    /// Recalls asked for, above 0 and at most 1, in any order.
    pub target: Vec<f64>,
    /// Largest knob value allowed, beside the store's own limit.
    pub max_value: Option<u32>,
    /// When a target counts as reached.
    pub rule: Rule,
}

impl Options {
    /// k and targets, ascending, each once.
    pub(crate) fn grid(&self) -> Result<(Vec<u32>, Vec<f64>), CalibrateError> {
        if self.k.is_empty() || self.target.is_empty() {
            return Err(CalibrateError::Nothing);
        }
        if self.k.contains(&0) {
            return Err(CalibrateError::ZeroK);
        }
        if let Some(&target) = self.target.iter().find(|&&t| !(t > 0.0 && t <= 1.0)) {
            return Err(CalibrateError::Target(target));
        }
        let (mut k, mut target) = (self.k.clone(), self.target.clone());
        k.sort_unstable();
        k.dedup();
        target.sort_unstable_by(f64::total_cmp);
        target.dedup();
        Ok((k, target))
    }
}

impl<'a> Queries<'a> {
    /// Neighbours that a query can have: `min(k, n)`.
    pub(crate) fn width(&self, k: u32) -> usize {
        (k as usize).min(self.base.rows())
    }

    /// The query rows of a set.
    pub(crate) fn rows(&self, set: QuerySet) -> &'a [u64] {
        match set {
            QuerySet::Calibration => self.calibration,
            QuerySet::HeldOut => self.held_out,
        }
    }

    /// The first `width` true neighbours of a query.
    pub(crate) fn truth(&self, query: u64, width: usize) -> &'a [i32] {
        &self.truth_ids[query as usize * self.truth_k..][..width]
    }

    /// Checks that all parts fit each other, for every k.
    pub(crate) fn check(&self, k: &[u32]) -> Result<(), CalibrateError> {
        let (rows, queries, truth_k) = (self.base.rows(), self.queries.rows(), self.truth_k);
        if rows == 0 {
            return Err(CalibrateError::EmptyBase);
        }
        if self.queries.dim() != self.base.dim() {
            let (queries, base) = (self.queries.dim(), self.base.dim());
            return Err(CalibrateError::Dimension { queries, base });
        }
        if self.truth_ids.len() != queries * truth_k {
            let found = self.truth_ids.len();
            return Err(CalibrateError::TruthShape { found, queries, truth_k });
        }
        if let Some(&k) = k.iter().find(|&&k| self.width(k) > truth_k) {
            return Err(CalibrateError::TruthTooShort { k, truth_k });
        }
        let width = k.iter().map(|&k| self.width(k)).max().unwrap_or(0);
        let mut seen = HashSet::new();
        for (name, set) in [("calibration", self.calibration), ("held-out", self.held_out)] {
            if set.is_empty() {
                return Err(CalibrateError::NoQueries(name));
            }
            for &query in set {
                if query >= queries as u64 {
                    return Err(CalibrateError::SplitRow { row: query, queries });
                }
                if !seen.insert(query) {
                    return Err(CalibrateError::SplitTwice(query));
                }
                let legal = |row: i32| usize::try_from(row).is_ok_and(|row| row < rows);
                if let Some(&row) = self.truth(query, width).iter().find(|&&row| !legal(row)) {
                    return Err(CalibrateError::TruthRow { query, row, rows });
                }
            }
        }
        Ok(())
    }

    /// Checks that the index is of this base and metric.
    pub(crate) fn check_index(
        &self,
        store: &dyn Store,
        facts: &IndexFacts,
    ) -> Result<(), CalibrateError> {
        // Of unit vectors, cosine and inner product are one metric.
        let effective = |metric| match metric {
            Metric::Cosine if facts.unit_length => Metric::Ip,
            other => other,
        };
        let of = |rows: u64, dim: u64, metric| {
            format!("{rows} rows of dim {dim} under {}", effective(metric))
        };
        let found = of(facts.rows, u64::from(facts.dim), facts.metric);
        let expected = of(self.base.rows() as u64, self.base.dim() as u64, self.metric);
        if found != expected {
            return Err(CalibrateError::Index { store: store.info().name, found, expected });
        }
        Ok(())
    }
}
