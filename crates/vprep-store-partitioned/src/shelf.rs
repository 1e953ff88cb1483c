//! Where loaded partitions are kept.

use crate::packed::{Packed, Partition};
use rayon::prelude::*;
use std::collections::BTreeMap;
use vprep_store::StoreError;

/// Gives partitions to searches.
pub(crate) trait Shelf: Send + Sync {
    /// Does `work` with a partition. `work` must not wait for another partition or another task.
    ///
    /// # Errors
    ///
    /// If the partition cannot be loaded, or what `work` says.
    fn with<R>(
        &self,
        partition: usize,
        work: impl FnOnce(&Partition) -> Result<R, StoreError>,
    ) -> Result<R, StoreError>;

    /// Counters.
    fn statistics(&self) -> BTreeMap<String, u64>;
}

/// All partitions, in memory.
pub(crate) struct Whole(Vec<Partition>);

impl Whole {
    /// Loads them on rayon's current pool.
    pub(crate) fn load(packed: &Packed) -> Result<Self, StoreError> {
        let all = (0..packed.partitions()).into_par_iter();
        Ok(Self(all.map(|partition| packed.load(partition)).collect::<Result<_, _>>()?))
    }
}

impl Shelf for Whole {
    fn with<R>(
        &self,
        partition: usize,
        work: impl FnOnce(&Partition) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        work(&self.0[partition])
    }

    fn statistics(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}
