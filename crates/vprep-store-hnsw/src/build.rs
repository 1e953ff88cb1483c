//! Building the graph.

use crate::{EF_CONSTRUCTION, INFO, M, engine, file, metric, repair};
use rayon::iter::{ParallelBridge, ParallelIterator};
use std::path::Path;
use usearch::{IndexOptions, ScalarKind};
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, IndexFacts, Location, StoreError};

/// Builds the graph on rayon's current pool and writes it into `dir`.
pub(crate) fn build(
    base: MatrixView<'_>,
    spec: &BuildSpec,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    progress.check()?;
    if base.rows() == 0 {
        return Err(engine("building", &"the base has no rows"));
    }
    if u32::try_from(base.rows()).is_err() {
        return Err(engine("building", &"usearch numbers rows in 32 bits, and the base has more"));
    }
    let index =
        usearch::Index::new(&options(base.dim(), spec)?).map_err(|e| engine("setup", &e))?;
    // One context per thread that can be inside `add` at a time: usearch refuses the next one.
    index
        .reserve_capacity_and_threads(base.rows(), rayon::current_num_threads())
        .map_err(|e| engine("reserving memory", &e))?;

    let task = progress.task("building hnsw", base.rows() as u64, "rows");
    // The bridge hands out rows one by one in their order: a single thread adds them in exactly
    // that order, and many in nearly that order.
    (0..base.rows()).par_bridge().try_for_each(|row| {
        progress.check()?;
        index.add(row as u64, base.row(row)).map_err(|e| engine("adding a row", &e))?;
        task.advance(1);
        Ok::<_, StoreError>(())
    })?;
    drop(task);
    repair::repair(&index, base, progress)?;

    file::save(&index, dir, progress)?;
    let location = Location::Path(file::INDEX.to_owned());
    IndexFacts::new(&INFO, usearch::version().to_owned(), base, spec, location).write(dir)
}

/// usearch's options for an index of `dim` values.
fn options(dim: usize, spec: &BuildSpec) -> Result<IndexOptions, StoreError> {
    let parameter = |name: &str| {
        let value = spec.parameters.get(name).copied();
        value.ok_or_else(|| engine("setup", &format!("no value for the parameter {name}")))
    };
    Ok(IndexOptions {
        dimensions: dim,
        metric: metric::kind(spec.metric, spec.unit_length),
        quantization: ScalarKind::F32,
        connectivity: parameter(M)? as usize,
        expansion_add: parameter(EF_CONSTRUCTION)? as usize,
        expansion_search: 0,
        multi: false,
    })
}
