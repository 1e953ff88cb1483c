//! The stores that vprep knows, and which of them this build holds.

use crate::PipelineError;
use vprep_store::Store;
use vprep_store_flat::FlatStore;
use vprep_store_hnsw::HnswStore;
use vprep_store_partitioned::{GraphManagerStore, PartitionedHnswStore};

/// A store by name.
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// The feature that it is compiled in with; none for those that always are.
    pub feature: Option<&'static str>,
    /// The store, where it is compiled in.
    pub store: Option<Box<dyn Store>>,
}

/// Every store, in the order in which `vprep stores` lists them.
pub fn all() -> Vec<Known> {
    vec![
        built_in(FlatStore::new()),
        built_in(HnswStore::new()),
        built_in(PartitionedHnswStore::new()),
        built_in(GraphManagerStore::new()),
    ]
}

/// A store of every build.
fn built_in(store: impl Store + 'static) -> Known {
    Known { name: store.info().name, feature: None, store: Some(Box::new(store)) }
}

/// The store of a name.
///
/// # Errors
///
/// If there is none, the error lists those there are; if it is compiled out, it names the feature.
pub fn find(name: &str) -> Result<Box<dyn Store>, PipelineError> {
    let mut stores = all();
    let Some(i) = stores.iter().position(|known| known.name == name) else {
        let known: Vec<_> = stores.iter().map(|known| known.name).collect();
        return Err(PipelineError::UnknownStore { name: name.to_owned(), known: known.join(", ") });
    };
    let Known { name, feature, store } = stores.swap_remove(i);
    store.ok_or(PipelineError::CompiledOut { name, feature: feature.unwrap_or_default() })
}
