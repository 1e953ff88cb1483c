//! Building a collection and putting it in the place of the one before.

use super::collection::Collection;
use super::connection::{Connection, failed};
use super::names::Alias;
use super::{INFO, NAME};
use crate::graph::{Graph, check_shape};
use qdrant_client::Qdrant;
use qdrant_client::qdrant::CreateAliasBuilder;
use std::path::Path;
use vprep_core::{MatrixView, Progress, Silent};
use vprep_store::{BuildSpec, IndexFacts, Location, StoreError};

/// Builds a new collection; if anything fails, deletes it again.
pub(super) fn build(
    connection: &Connection,
    base: MatrixView<'_>,
    spec: &BuildSpec,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    check_shape(NAME, base)?;
    let graph = Graph::of(&spec.parameters)
        .ok_or_else(|| failed("setup", "a build parameter has no value".to_owned()))?;
    let version = connection.version(progress)?;

    let alias = Alias::of(&spec.name);
    let name = alias.new_collection();
    let collection = Collection { connection, name: &name };
    let build_and_publish = || {
        collection.create(spec.metric, base.dim(), graph, progress)?;
        collection.fill(base, progress)?;
        collection.link(base, progress)?;
        let location = Location::Collection(name.clone());
        IndexFacts::new(&INFO, version, base, spec, location).write(dir)?;
        // The server moves an alias that there is, in one step. From here on the index is built,
        // so the user is not asked any more.
        let request = CreateAliasBuilder::new(name.as_str(), alias.as_str());
        connection.call("moving the alias", &Silent, |client| client.create_alias(request))?;
        Ok(())
    };
    if let Err(error) = build_and_publish() {
        // If the server is gone, the next build of this name finds what is left.
        let _ = collection.delete(&Silent);
        return Err(error);
    }
    delete_others(connection, &alias, &name);
    Ok(())
}

/// Deletes what earlier builds of an index made, finished or not. The index is built whether this
/// succeeds or not, and what is left is deleted after the next build.
fn delete_others(connection: &Connection, alias: &Alias, current: &str) {
    let Ok(list) = connection.call("listing collections", &Silent, Qdrant::list_collections) else {
        return;
    };
    for other in list.collections.iter().map(|collection| collection.name.as_str()) {
        if other != current && alias.owns(other) {
            let _ = Collection { connection, name: other }.delete(&Silent);
        }
    }
}
