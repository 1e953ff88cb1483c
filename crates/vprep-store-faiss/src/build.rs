//! Building an index.

use crate::kind::Kind;
use crate::native::Threads;
use crate::plan::{Layout, Plan};
use crate::{file, native, vectors};
use faiss::index::autotune::ParameterSpace;
use faiss::index::{Index, IndexImpl, index_factory};
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, IndexFacts, Location, StoreError};

/// Training vectors per list at most. FAISS asks for 30 to 256 of them
/// (`Guidelines to choose an index` in its wiki); the time of training grows with them.
const PER_LIST: usize = 64;

/// Training vectors per centroid of a quantised part at most, as FAISS itself uses
/// (`ClusteringParameters::max_points_per_centroid`).
const PER_PART_CENTROID: usize = 256;

/// Rows given to FAISS in one call, after which the user may stop.
const BATCH: usize = 2_048;

/// Builds the index on as many threads as rayon's current pool has and writes it into `dir`.
pub(crate) fn build(
    kind: Kind,
    base: MatrixView<'_>,
    spec: &BuildSpec,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    progress.check()?;
    let location = Location::Path(file::INDEX.to_owned());
    let facts = IndexFacts::new(kind.info(), native::version(), base, spec, location);
    let plan = Plan::new(kind, &facts)?;
    if let Some(row) = vectors::not_finite(base) {
        let problem = format!("NaN or infinity in row {row} of the base");
        return Err(StoreError::Unsupported { store: kind.info().name, problem });
    }

    let threads = Threads::hold(rayon::current_num_threads());
    let mut index = index_factory(facts.dim, &plan.factory, plan.metric.engine())
        .map_err(|e| kind.engine("setup", &e))?;
    if let Layout::Hnsw { ef_construction, .. } = plan.layout {
        ParameterSpace::new()
            .and_then(|space| space.set_index_parameter(&index, "efConstruction", ef_construction))
            .map_err(|e| kind.engine("setup", &e))?;
    }
    train(kind, &mut index, base, &plan, progress)?;
    add(kind, &mut index, base, &plan, progress)?;
    drop(threads);

    if index.ntotal() != base.rows() as u64 {
        let problem = format!("{} of {} rows are in the index", index.ntotal(), base.rows());
        return Err(kind.engine("building", &problem));
    }
    file::save(&index, &plan, dir, progress)?;
    facts.write(dir)
}

/// Finds the centroids.
fn train(
    kind: Kind,
    index: &mut IndexImpl,
    base: MatrixView<'_>,
    plan: &Plan,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    let (centroids, most) = match plan.layout {
        Layout::Flat | Layout::Hnsw { .. } => return Ok(()),
        Layout::Ivf { nlist } => (nlist as usize, PER_LIST),
        Layout::Pq { nbits, .. } => (1 << nbits, PER_PART_CENTROID),
    };
    let _task = progress.task(&format!("training {}", kind.info().name), 0, "rows");
    let sample = vectors::training(base, plan.normalised, centroids, most);
    progress.check()?;
    index.train(&sample).map_err(|e| kind.engine("training", &e))?;
    Ok(progress.check()?)
}

/// Adds every row, in order.
fn add(
    kind: Kind,
    index: &mut IndexImpl,
    base: MatrixView<'_>,
    plan: &Plan,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    let rows = base.rows();
    let task = progress.task(&format!("building {}", kind.info().name), rows as u64, "rows");
    for start in (0..rows).step_by(BATCH) {
        progress.check()?;
        let batch = base.slice(start..rows.min(start + BATCH));
        let vectors = vectors::prepared(batch, plan.normalised);
        index.add(&vectors).map_err(|e| kind.engine("adding rows", &e))?;
        task.advance(batch.rows() as u64);
    }
    Ok(())
}
