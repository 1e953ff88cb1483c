//! The stores that this build knows.

use crate::PipelineError;
use vprep_store::Store;
use vprep_store_flat::FlatStore;
use vprep_store_hnsw::HnswStore;

/// Every store, in the order in which `vprep stores` lists them.
pub fn all() -> Vec<Box<dyn Store>> {
    vec![Box::new(FlatStore::new()), Box::new(HnswStore::new())]
}

/// The store of a name.
///
/// # Errors
///
/// If there is none; the error lists those there are.
pub fn find(name: &str) -> Result<Box<dyn Store>, PipelineError> {
    let mut stores = all();
    match stores.iter().position(|store| store.info().name == name) {
        Some(i) => Ok(stores.swap_remove(i)),
        None => {
            let known: Vec<_> = stores.iter().map(|store| store.info().name).collect();
            Err(PipelineError::UnknownStore { name: name.to_owned(), known: known.join(", ") })
        }
    }
}
