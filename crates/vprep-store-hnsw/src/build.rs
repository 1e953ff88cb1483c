//! Building the graph.

use crate::{INFO, NAME, engine, file, options, repair};
use rayon::iter::{ParallelBridge, ParallelIterator};
use std::path::Path;
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
        return Err(engine(NAME, "building", &"the base has no rows"));
    }
    if u32::try_from(base.rows()).is_err() {
        return Err(engine(
            NAME,
            "building",
            &"usearch numbers rows in 32 bits, and the base has more",
        ));
    }
    let options = options(base.dim(), spec.metric, spec.unit_length, &spec.parameters)?;
    let index = options.empty(base.rows(), rayon::current_num_threads())?;

    let task = progress.task("building hnsw", base.rows() as u64, "rows");
    // The bridge hands out rows one by one in their order: a single thread adds them in exactly
    // that order, and many in nearly that order.
    (0..base.rows()).par_bridge().try_for_each(|row| {
        progress.check()?;
        index.add(row as u64, base.row(row)).map_err(|e| engine(NAME, "adding a row", &e))?;
        task.advance(1);
        Ok::<_, StoreError>(())
    })?;
    drop(task);
    repair::repair(NAME, &index, base, progress)?;

    file::save(&index, dir, progress)?;
    let location = Location::Path(file::INDEX.to_owned());
    IndexFacts::new(&INFO, usearch::version().to_owned(), base, spec, location).write(dir)
}
