//! Building: centroids, then partitions, then their graphs.

use crate::assign::{lists, nearest};
use crate::geometry::{between, mean};
use crate::kmeans;
use crate::layout::{Layout, Section};
use crate::packed::{self, PACKED, Writer};
use crate::parameters::Values;
use rayon::prelude::*;
use std::path::Path;
use vprep_core::{MatrixView, Metric, Progress};
use vprep_store::{BuildSpec, IndexFacts, Location, StoreError, StoreInfo};

/// Builds the index into `dir`. Each graph is built by one thread in row order, so the bytes are the
/// same whatever the threads.
pub(crate) fn build(
    info: &'static StoreInfo,
    version: String,
    base: MatrixView<'_>,
    spec: &BuildSpec,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    progress.check()?;
    let (store, dim) = (info.name, base.dim());
    let unsupported = |problem: &str| StoreError::Unsupported { store, problem: problem.into() };
    if base.rows() == 0 {
        return Err(unsupported("the base has no rows"));
    }
    if u32::try_from(base.rows()).is_err() {
        return Err(unsupported("it numbers rows in 32 bits, and the base has more"));
    }
    let values = Values::new(store, &spec.parameters)?;
    let count = kmeans::allowed(values.partitions, base.rows());
    let overlap = count.min(values.overlap as usize);

    let mut probes = kmeans::train(store, base, spec.metric, count, progress)?;
    let mut members = {
        let task = progress.task("assigning rows", base.rows() as u64, "rows");
        let centroids = MatrixView::new(&probes, dim);
        let between = between(spec.metric);
        let numbers = nearest(store, centroids, between, base, overlap, progress, &*task)?;
        lists(&numbers, overlap, count)
    };
    if spec.metric == Metric::Ip && !spec.unit_length {
        let places = probes.par_chunks_exact_mut(dim).zip(&members);
        places.for_each(|(probe, list)| {
            if let Some(mean) = mean(list.iter().map(|&row| base.row(row as usize)), dim) {
                probe.copy_from_slice(&mean);
            }
        });
    }
    // No query needs to look into a partition without rows.
    let kept = probes.chunks_exact(dim).zip(&members).filter(|(_, list)| !list.is_empty());
    probes = kept.flat_map(|(probe, _)| probe).copied().collect();
    members.retain(|list| !list.is_empty());

    let mut writer = Writer::create(dir)?;
    let probes = writer.append(members.len(), &packed::of_probes(&probes))?;
    let graphs = Graphs { store, base, spec, values };
    let partitions = graphs.write(&members, &mut writer, progress)?;
    writer.finish()?;
    let layout = Layout::new(spec, (base.rows(), dim), overlap, probes, partitions);
    layout.write(dir)?;
    let location = Location::Path(PACKED.to_owned());
    IndexFacts::new(info, version, base, spec, location).write(dir)
}

/// What the graphs of all partitions are built from.
struct Graphs<'a> {
    store: &'static str,
    base: MatrixView<'a>,
    spec: &'a BuildSpec,
    values: Values,
}

impl Graphs<'_> {
    /// Builds the graphs of some partitions at a time and writes them in their order, so that no
    /// more of them are in memory than keep the threads at work.
    fn write(
        &self,
        members: &[Vec<u32>],
        writer: &mut Writer,
        progress: &dyn Progress,
    ) -> Result<Vec<Section>, StoreError> {
        const FOR_EACH_THREAD: usize = 8;
        let Self { store, base, spec, values } = *self;
        let options = values.graph(store, base, spec.metric, spec.unit_length);
        let total: usize = members.iter().map(Vec::len).sum();
        let task = progress.task("building partitions", total as u64, "rows");
        let build = |list: &Vec<u32>| {
            let rows = list.iter().flat_map(|&row| base.row(row as usize));
            let rows: Vec<f32> = rows.copied().collect();
            let graph = options.build(MatrixView::new(&rows, base.dim()), progress, &*task)?;
            Ok(packed::of_partition(list, &graph))
        };
        let mut sections = Vec::with_capacity(members.len());
        for some in members.chunks(FOR_EACH_THREAD * rayon::current_num_threads()) {
            let built: Vec<_> = some.par_iter().map(build).collect::<Result<_, StoreError>>()?;
            for (list, bytes) in some.iter().zip(built) {
                sections.push(writer.append(list.len(), &bytes)?);
            }
        }
        Ok(sections)
    }
}
