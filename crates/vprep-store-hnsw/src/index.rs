//! Opening and searching the graph.

use crate::graph::Graph;
use crate::{INFO, NAME, engine, file, knob_range, options};
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{Answers, Asked, Index, IndexFacts, KnobRange, StoreError, answer_each};

/// A loaded graph of the whole base.
pub(crate) struct HnswIndex {
    facts: IndexFacts,
    graph: Graph,
}

impl HnswIndex {
    /// Loads the index in `dir` into memory and compares it with its facts and the base.
    pub(crate) fn open(dir: &Path, base: MatrixView<'_>) -> Result<Self, StoreError> {
        let facts = IndexFacts::read(dir, NAME, base)?;
        let options = options(base.dim(), facts.metric, facts.unit_length, &facts.parameters)
            .map_err(|error| StoreError::NoIndex {
                store: NAME,
                path: dir.to_owned(),
                problem: error.to_string(),
            })?;
        let inner = options.unloaded()?;
        file::load(&inner, dir)?;

        let path = dir.join(file::INDEX);
        let name = path.to_str().unwrap_or_default();
        let header =
            usearch::Index::metadata(name).map_err(|e| engine(NAME, "reading the index", &e))?;
        let graph = options.graph(inner, header.metric, base.rows(), &path)?;
        Ok(Self { facts, graph })
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
        answer_each(queries, width, progress, |query| self.graph.search(query, width, value))
    }
}
