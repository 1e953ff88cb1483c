//! Opening and searching, whatever the shelf.

use crate::found::Found;
use crate::layout::{Layout, Sizes};
use crate::packed::Packed;
use crate::parameters::Values;
use crate::rank::Ranking;
use crate::shelf::Shelf;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use vprep_core::{MatrixView, Progress};
use vprep_store::{Answers, Asked, Index, IndexFacts, KnobRange, StoreError, StoreInfo};

/// Queries that are answered together.
const BLOCK: usize = 1_024;

/// Queries that one task takes to one partition.
const TASK: usize = 16;

/// An open index.
pub(crate) struct PartitionedIndex<S> {
    info: &'static StoreInfo,
    facts: IndexFacts,
    ranking: Ranking,
    ef: u32,
    sizes: Sizes,
    overlap: u32,
    shelf: S,
    /// Searches of a partition's graph.
    searched: AtomicU64,
}

impl<S: Shelf> PartitionedIndex<S> {
    /// Opens the index in `dir`; `shelve` takes its partitions.
    pub(crate) fn open(
        info: &'static StoreInfo,
        dir: &Path,
        base: MatrixView<'_>,
        shelve: impl FnOnce(Packed, &IndexFacts) -> Result<S, StoreError>,
    ) -> Result<Self, StoreError> {
        let store = info.name;
        let facts = IndexFacts::read(dir, store, base)?;
        let values = Values::new(store, &facts.parameters).map_err(|error| {
            let (path, problem) = (dir.to_owned(), error.to_string());
            StoreError::NoIndex { store, path, problem }
        })?;
        let layout = Layout::read(dir, store, &facts)?;
        let options = values.graph(store, base, facts.metric, facts.unit_length);
        let packed = Packed::open(dir, &layout, options)?;
        let probes = packed.probes(&layout.probes)?;
        let rows = layout.partitions.iter().map(|partition| partition.rows).collect();
        let ranking = Ranking::new(probes, base.dim(), facts.metric, rows);
        let shelf = shelve(packed, &facts)?;
        let (ef, sizes, overlap) = (values.ef, layout.sizes, layout.overlap);
        let searched = AtomicU64::new(0);
        Ok(Self { info, facts, ranking, ef, sizes, overlap, shelf, searched })
    }

    /// Answers some queries into `rows` and `scores`, and says how many of them looked into more
    /// than `nprobe` partitions.
    fn answer(
        &self,
        queries: MatrixView<'_>,
        (width, nprobe): (usize, usize),
        rows: &mut [i64],
        scores: &mut [f32],
        progress: &dyn Progress,
    ) -> Result<usize, StoreError> {
        let plans: Vec<Vec<u32>> = (0..queries.rows())
            .into_par_iter()
            .map(|query| self.ranking.plan(queries.row(query), nprobe, width))
            .collect();
        let found: Vec<_> =
            plans.iter().map(|_| Mutex::new(Found::new(self.facts.metric, width))).collect();
        let add = |query: usize, more| {
            found[query].lock().unwrap_or_else(PoisonError::into_inner).add(more);
        };

        // Partition by partition, so that each is loaded and read once for all queries.
        tasks(&plans, self.ranking.partitions()).into_par_iter().try_for_each(
            |(partition, some)| {
                progress.check()?;
                let hits = self.visit(partition, some.iter().map(|&q| queries.row(q)), width)?;
                some.into_iter().zip(hits).for_each(|(query, hits)| add(query, hits));
                Ok::<_, StoreError>(())
            },
        )?;

        let places = rows.par_chunks_exact_mut(width).zip(scores.par_chunks_exact_mut(width));
        let longer = places.zip(&found).enumerate().map(|(query, ((rows, scores), found))| {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            let (vector, plan) = (queries.row(query), &plans[query]);
            // Overlap may have given rows twice, and a graph may have lost some.
            let more = self.complete(vector, plan.len(), width, &mut found, progress)?;
            for ((row, score), best) in rows.iter_mut().zip(scores).zip(found.best()) {
                (*row, *score) = *best;
            }
            Ok::<_, StoreError>(usize::from(more || plan.len() > nprobe))
        });
        longer.try_reduce(|| 0, |a, b| Ok(a + b))
    }

    /// Looks into the partitions behind the first `seen` until there are `width` rows. Says whether
    /// it did.
    fn complete(
        &self,
        query: &[f32],
        seen: usize,
        width: usize,
        found: &mut Found,
        progress: &dyn Progress,
    ) -> Result<bool, StoreError> {
        if found.best().len() == width || seen == self.ranking.partitions() {
            return Ok(false);
        }
        for &partition in &self.ranking.order(query)[seen..] {
            progress.check()?;
            self.visit(partition, [query].into_iter(), width)?
                .into_iter()
                .for_each(|hits| found.add(hits));
            if found.best().len() == width {
                break;
            }
        }
        Ok(true)
    }

    /// Searches one partition for some queries.
    fn visit<'q>(
        &self,
        partition: u32,
        queries: impl ExactSizeIterator<Item = &'q [f32]>,
        width: usize,
    ) -> Result<Vec<Vec<(i64, f32)>>, StoreError> {
        self.searched.fetch_add(queries.len() as u64, Ordering::Relaxed);
        self.shelf.with(partition as usize, |partition| {
            queries.map(|query| partition.search(query, width, self.ef)).collect()
        })
    }
}

/// Which queries look into which partition, by partition, at most [`TASK`] queries each.
fn tasks(plans: &[Vec<u32>], partitions: usize) -> Vec<(u32, Vec<usize>)> {
    let mut queries_of = vec![Vec::new(); partitions];
    for (query, plan) in plans.iter().enumerate() {
        plan.iter().for_each(|&partition| queries_of[partition as usize].push(query));
    }
    let parts = (0u32..).zip(&queries_of);
    parts.flat_map(|(part, all)| all.chunks(TASK).map(move |some| (part, some.to_vec()))).collect()
}

impl<S: Shelf> Index for PartitionedIndex<S> {
    fn facts(&self) -> &IndexFacts {
        &self.facts
    }

    fn knob_range(&self, _: usize) -> Option<KnobRange> {
        Some(KnobRange { smallest: 1, largest: self.ranking.partitions() as u32, step: 1 })
    }

    fn statistics(&self) -> BTreeMap<String, u64> {
        let mut statistics = self.shelf.statistics();
        let counters = [
            ("partitions", self.ranking.partitions() as u64),
            ("partition_rows_min", self.sizes.min.into()),
            ("partition_rows_median", self.sizes.median.into()),
            ("partition_rows_max", self.sizes.max.into()),
            ("overlap", self.overlap.into()),
            ("graphs_searched", self.searched.load(Ordering::Relaxed)),
        ];
        statistics.extend(counters.map(|(name, value)| (name.to_owned(), value)));
        statistics
    }

    fn search(
        &self,
        queries: MatrixView<'_>,
        k: usize,
        knob: Option<u32>,
        progress: &dyn Progress,
    ) -> Result<Answers, StoreError> {
        progress.check()?;
        let asked = Asked { queries, k, knob };
        let width = asked.check(self.info, &self.facts, self.knob_range(k))?;
        let mut answers = Answers::default();
        if width == 0 {
            return Ok(answers);
        }
        answers.rows = vec![-1; queries.rows() * width];
        answers.scores = vec![f32::NAN; queries.rows() * width];
        let nprobe = knob.unwrap_or_default();
        let (mut start, mut longer) = (0, 0);
        let rows = answers.rows.chunks_mut(BLOCK * width);
        for (rows, scores) in rows.zip(answers.scores.chunks_mut(BLOCK * width)) {
            let end = start + rows.len() / width;
            let some = queries.slice(start..end);
            longer += self.answer(some, (width, nprobe as usize), rows, scores, progress)?;
            start = end;
        }
        if longer > 0 {
            answers.notes.push(format!(
                "{longer} of {} queries looked into more than nprobe = {nprobe} partitions to find \
                 {width} rows",
                queries.rows()
            ));
        }
        Ok(answers)
    }
}
