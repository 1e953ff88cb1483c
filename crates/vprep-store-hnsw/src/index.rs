//! Opening and searching the graph.

use crate::gate::Gate;
use crate::{INFO, M, NAME, engine, file, knob_range, metric};
use std::path::Path;
use usearch::{IndexOptions, ScalarKind};
use vprep_core::{MatrixView, Metric, Progress};
use vprep_store::{Answers, Asked, Index, IndexFacts, KnobRange, StoreError, answer_each};

/// A loaded graph.
pub(crate) struct HnswIndex {
    facts: IndexFacts,
    inner: usearch::Index,
    gate: Gate,
}

impl HnswIndex {
    /// Loads the index in `dir` into memory and compares it with its facts and the base.
    pub(crate) fn open(dir: &Path, base: MatrixView<'_>) -> Result<Self, StoreError> {
        let facts = IndexFacts::read(dir, NAME, base)?;
        let kind = metric::kind(facts.metric, facts.unit_length);
        // Loading takes dimensions, metric and connectivity from the file.
        let options = IndexOptions {
            dimensions: base.dim(),
            metric: kind,
            quantization: ScalarKind::F32,
            ..IndexOptions::default()
        };
        let inner = usearch::Index::new(&options).map_err(|e| engine("setup", &e))?;
        file::load(&inner, dir)?;

        let path = dir.join(file::INDEX);
        let name = path.to_str().unwrap_or_default();
        let header = usearch::Index::metadata(name).map_err(|e| engine("reading the index", &e))?;
        let m = facts.parameters.get(M).copied().unwrap_or_default();
        let agrees = inner.size() == base.rows()
            && inner.dimensions() == base.dim()
            && inner.connectivity() == m as usize
            && inner.scalar_kind() == ScalarKind::F32
            && header.metric == kind;
        if !agrees {
            let problem = "rows, dim, metric or m differ from index.json".to_owned();
            return Err(StoreError::NoIndex { store: NAME, path, problem });
        }

        let hardware = std::thread::available_parallelism().map_or(1, usize::from);
        let contexts = hardware.max(rayon::current_num_threads());
        inner
            .reserve_capacity_and_threads(base.rows(), contexts)
            .map_err(|e| engine("reserving memory", &e))?;
        Ok(Self { facts, inner, gate: Gate::new(contexts) })
    }

    /// Finds the neighbours of one query, best first, equal scores by row number.
    fn search_one(
        &self,
        query: &[f32],
        k: usize,
        knob: u32,
    ) -> Result<Vec<(i64, f32)>, StoreError> {
        let matches = {
            let _pass = self.gate.enter(knob, || self.inner.change_expansion_search(knob as usize));
            self.inner.search(query, k).map_err(|e| engine("searching", &e))?
        };
        if matches.keys.iter().any(|&key| key >= self.facts.rows) {
            return Err(engine("searching", &"an answer is no row of the base"));
        }
        let metric = self.facts.metric;
        // usearch calls two zero vectors alike; vprep's cosine calls a zero vector like nothing.
        let alike_to_none = metric == Metric::Cosine && query.iter().all(|&x| x == 0.0);
        let score = |d: f32| if alike_to_none { 0.0 } else { metric::score(metric, d) };
        let mut found: Vec<_> = matches
            .keys
            .iter()
            .zip(&matches.distances)
            .map(|(&key, &distance)| (key as i64, score(distance)))
            .collect();
        found.sort_unstable_by(|a, b| {
            metric.compare(f64::from(a.1), f64::from(b.1)).then(a.0.cmp(&b.0))
        });
        Ok(found)
    }
}

impl Index for HnswIndex {
    fn facts(&self) -> &IndexFacts {
        &self.facts
    }

    fn knob_range(&self, k: usize) -> Option<KnobRange> {
        Some(knob_range(k, self.facts.rows as usize))
    }

    fn search(
        &self,
        queries: MatrixView<'_>,
        k: usize,
        knob: Option<u32>,
        progress: &dyn Progress,
    ) -> Result<Answers, StoreError> {
        let asked = Asked { queries, k, knob };
        let width = asked.check(&INFO, &self.facts, self.knob_range(k))?;
        let value = knob.unwrap_or_default();
        answer_each(queries, width, progress, |query| self.search_one(query, width, value))
    }
}
