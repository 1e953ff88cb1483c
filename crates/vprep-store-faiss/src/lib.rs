//! Four stores through [FAISS](https://github.com/facebookresearch/faiss), linked in statically.
//!
//! | store | index | knob | build parameters |
//! |---|---|---|---|
//! | `faiss-flat` | all vectors, exact | none | none |
//! | `faiss-hnsw` | HNSW graph over f32 vectors | `efSearch` | `m`, `ef-construction` |
//! | `faiss-ivf` | lists around k-means centroids | `nprobe` | `nlist` |
//! | `faiss-pq` | product quantiser, refined exactly | `k_factor` | `pq-m`, `nbits` |
//!
//! `faiss-flat` takes a few candidates more than asked, and `faiss-pq` takes `k * k_factor` of them;
//! both score their candidates exactly from the base and return the k best, so rounding in f32
//! costs the one no recall and the other keeps no copy of the vectors. At `k_factor` 1 the
//! quantiser alone chooses the rows. FAISS has no way to fall back to a scan: an index is opened
//! only if it is of the expected kind, and answers by that kind.
//!
//! An index directory holds `index.faiss` as FAISS writes it, its checksum `index.faiss.xxh128`
//! (as `xxh128sum` prints it), `faiss.json` with what was built (FAISS's factory string, and the
//! sizes that the adapter chose), and `index.json`. Where `faiss.json` says `"normalised": true`,
//! another program must scale its queries to unit length.
//!
//! Bases too small for what is asked get less, and `faiss.json` says so: `nlist` is at most the
//! number of rows, and `nbits` is lowered (to 4 at least) until there are 39 rows per centroid.
//!
//! The same base gives the same bytes on any number of threads, but for `faiss-hnsw`: its graph
//! differs from run to run, except on one thread. Answers do not depend on the number of threads.
//! Training (`faiss-ivf`, `faiss-pq`) is one call into FAISS, which a user can stop only before or
//! after it.
//!
//! Threads come from rayon's current pool: FAISS's OpenMP loops are held to it, and OpenBLAS, where
//! that is the BLAS, to one thread, as queries are spread over the pool already. Training spends
//! most of its time in BLAS, and so on one thread. Another BLAS has its own setting.
//!
//! On a machine that is busy with other work, `OMP_WAIT_POLICY=passive` keeps OpenMP from burning
//! time while it waits. Some virtual machines make OpenBLAS take a kernel for old processors:
//! `OPENBLAS_CORETYPE` (as `SkylakeX`) chooses another. Both are read when the process starts.
//!
//! ```
//! use std::collections::BTreeMap;
//! use vprep_core::{MatrixView, Metric, Silent};
//! use vprep_store::{BuildSpec, Store, resolve_parameters};
//! use vprep_store_faiss::FaissStore;
//!
//! let rows = [1.0, 0.0, 0.6, 0.8, 0.0, 1.0];
//! let base = MatrixView::new(&rows, 2);
//! let store = FaissStore::HNSW;
//! let parameters = resolve_parameters(store.info(), &BTreeMap::new())?;
//! let spec = BuildSpec { name: "example".into(), metric: Metric::Cosine, unit_length: true, parameters };
//! let dir = tempfile::tempdir()?;
//! store.build(base, &spec, dir.path(), &Silent)?;
//!
//! let index = store.open(dir.path(), base)?;
//! let answers = index.search(MatrixView::new(&[0.0, 1.0], 2), 2, Some(3), &Silent)?;
//! assert_eq!(answers.rows, [2, 1]);
//! assert_eq!(answers.scores, [1.0, 0.8]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod file;
mod gate;
mod index;
mod kind;
#[allow(unsafe_code)] // it says for each call why it is sound
mod native;
mod plan;
mod vectors;

use kind::Kind;
use std::path::Path;
use vprep_core::{MatrixView, Progress};
use vprep_store::{BuildSpec, Index, Store, StoreError, StoreInfo};

/// One of the FAISS stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaissStore(Kind);

impl FaissStore {
    /// `faiss-flat`: exact search.
    pub const FLAT: Self = Self(Kind::Flat);
    /// `faiss-hnsw`: an HNSW graph.
    pub const HNSW: Self = Self(Kind::Hnsw);
    /// `faiss-ivf`: lists around centroids.
    pub const IVF: Self = Self(Kind::Ivf);
    /// `faiss-pq`: a product quantiser, its candidates refined exactly.
    pub const PQ: Self = Self(Kind::Pq);
    /// All of them.
    pub const ALL: [Self; 4] = [Self::FLAT, Self::HNSW, Self::IVF, Self::PQ];
}

impl Store for FaissStore {
    fn info(&self) -> &StoreInfo {
        self.0.info()
    }

    fn version(&self) -> Result<String, StoreError> {
        Ok(native::version())
    }

    fn build(
        &self,
        base: MatrixView<'_>,
        spec: &BuildSpec,
        dir: &Path,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        build::build(self.0, base, spec, dir, progress)
    }

    fn open<'a>(
        &self,
        dir: &Path,
        base: MatrixView<'a>,
    ) -> Result<Box<dyn Index + 'a>, StoreError> {
        Ok(Box::new(index::FaissIndex::open(self.0, dir, base)?))
    }
}
