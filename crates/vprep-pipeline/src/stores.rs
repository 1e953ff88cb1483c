//! The stores that vprep knows, and which of them this build holds.

use crate::PipelineError;
use crate::dataset::{Side, index_dir};
use std::path::Path;
use vprep_data::MappedNpy;
use vprep_store::{IndexFacts, Location, Store, StoreError};
use vprep_store_flat::FlatStore;
use vprep_store_hnsw::HnswStore;
use vprep_store_partitioned::{GraphManagerStore, PartitionedHnswStore};
use vprep_store_pgvector::PgvectorStore;

/// A store by name.
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// The feature that it is compiled in with; none for those that always are.
    pub feature: Option<&'static str>,
    /// The store, where it is compiled in.
    pub store: Option<Box<dyn Store>>,
}

/// A store of the builds that have a feature.
macro_rules! featured {
    ($feature:literal, $name:literal, $store:expr) => {{
        #[cfg(feature = $feature)]
        let store: Option<Box<dyn Store>> = Some(Box::new($store));
        #[cfg(not(feature = $feature))]
        let store = None;
        Known { name: $name, feature: Some($feature), store }
    }};
}

/// Every store, in the order in which `vprep stores` lists them.
pub fn all() -> Vec<Known> {
    vec![
        built_in(FlatStore::new()),
        built_in(HnswStore::new()),
        built_in(PartitionedHnswStore::new()),
        built_in(GraphManagerStore::new()),
        built_in(PgvectorStore::from_env()),
        featured!("faiss", "faiss-flat", vprep_store_faiss::FaissStore::FLAT),
        featured!("faiss", "faiss-hnsw", vprep_store_faiss::FaissStore::HNSW),
        featured!("faiss", "faiss-ivf", vprep_store_faiss::FaissStore::IVF),
        featured!("faiss", "faiss-pq", vprep_store_faiss::FaissStore::PQ),
        featured!("duckdb", "duckdb", vprep_store_duckdb::DuckdbStore::new()),
        featured!("lancedb", "lancedb", vprep_store_lancedb::LanceDbStore::new()),
        featured!("qdrant", "qdrant-edge", vprep_store_qdrant::EdgeStore::new()),
        featured!("qdrant", "qdrant", vprep_store_qdrant::QdrantStore::from_env()),
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

/// Whether a server says that it does not hold the index of a dataset. One that does not answer has
/// not lost it, and an index of files is known by its digest.
pub(crate) fn has_lost(name: &str, dataset: &Path) -> bool {
    let dir = dataset.join(index_dir(name));
    let (Ok(store), Ok(base)) =
        (find(name), MappedNpy::<f32>::open(&dataset.join(Side::Base.vectors())))
    else {
        return false;
    };
    let facts = IndexFacts::read(&dir, store.info().name, base.view());
    let on_server = facts.is_ok_and(|facts| matches!(facts.location, Location::Collection(_)));
    let lost = |error: &StoreError| {
        matches!(error, StoreError::NoIndex { .. } | StoreError::WrongIndex { .. })
    };
    on_server && store.open(&dir, base.view()).is_err_and(|error| lost(&error))
}
