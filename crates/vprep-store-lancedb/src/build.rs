//! Building the table and its index.

use crate::engine::Engine;
use crate::table::{self, FOLDER, INDEX, VECTOR, distance};
use crate::{EF_CONSTRUCTION, INFO, M, MOST_CANDIDATES, NAME, VERSION, check, engine_error, fill};
use lancedb::index::Index;
use lancedb::index::vector::IvfHnswFlatIndexBuilder;
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, IndexFacts, Location, StoreError, checksum};

/// Writes the rows, links them, and checks what came of it.
pub(crate) fn build(
    base: MatrixView<'_>,
    spec: &BuildSpec,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    progress.check()?;
    let parameters = parameters(spec)?;
    fill::check(base, spec.metric, progress)?;
    let engine = Engine::start(dir)?;
    let table = fill::fill(&engine, base, table::place(dir)?, progress)?;

    // LanceDB does not tell how far it is.
    let task = progress.task("linking lancedb", 0, "rows");
    let (linked, index) = (table.clone(), parameters.distance_type(distance(spec.metric)));
    let linking = engine.begin(async move {
        let index = Index::IvfHnswFlat(index);
        linked.create_index(&[VECTOR], index).name(INDEX.to_owned()).execute().await
    });
    engine.watch("linking rows", linking, progress)?;
    drop(task);

    let location = Location::Path(FOLDER.to_owned());
    let facts = IndexFacts::new(&INFO, VERSION.to_owned(), base, spec, location);
    let expected = facts.clone();
    let problem = engine.run("checking", async move { check::problem(&table, &expected).await })?;
    if let Some(problem) = problem {
        return Err(engine_error("checking", &problem));
    }
    checksum::write(&dir.join(FOLDER), progress)?;
    facts.write(dir)
}

/// LanceDB's parameters for an index of one partition.
fn parameters(spec: &BuildSpec) -> Result<IvfHnswFlatIndexBuilder, StoreError> {
    let parameter = |name: &str| {
        let value = spec.parameters.get(name).copied();
        value.ok_or_else(|| engine_error("setup", &format!("no value for the parameter {name}")))
    };
    let (m, candidates) = (parameter(M)?, parameter(EF_CONSTRUCTION)?);
    if candidates < m {
        return Err(StoreError::ParameterRange {
            store: NAME,
            name: EF_CONSTRUCTION,
            value: candidates,
            min: m,
            max: MOST_CANDIDATES,
        });
    }
    let index = IvfHnswFlatIndexBuilder::default();
    Ok(index.num_partitions(1).num_edges(m).ef_construction(candidates))
}
