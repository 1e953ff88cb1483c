//! Partitions in memory under a budget, the least recently used ones put out first.

use crate::packed::{Packed, Partition};
use crate::shelf::Shelf;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use vprep_store::StoreError;

/// Loads partitions when they are needed. Those in use and those being loaded are never put out, so
/// where they fill the budget, a search that needs another one waits. It waits without holding one
/// itself, and every partition fits alone, so some search always goes on.
///
/// A partition counts as its bytes in the file. In memory usearch needs some 60 bytes more for each
/// row, for lookups, and while a partition is being read its bytes are there a second time.
pub(crate) struct Cache {
    packed: Packed,
    budget: u64,
    state: Mutex<State>,
    changed: Condvar,
}

/// What is in memory, and what happened so far.
#[derive(Default)]
struct State {
    slots: Vec<Slot>,
    /// Counts uses, to tell which are recent.
    clock: u64,
    bytes: u64,
    peak: u64,
    loads: u64,
    hits: u64,
    evictions: u64,
}

/// A partition's place.
#[derive(Clone, Default)]
struct Slot {
    held: Held,
    users: usize,
    last_used: u64,
}

#[derive(Clone, Default)]
enum Held {
    #[default]
    Absent,
    /// A thread is at it, and its bytes count already.
    Loading,
    Here(Arc<Partition>),
}

impl Slot {
    /// Whether the partition is in memory for no one.
    fn idle(&self) -> bool {
        self.users == 0 && matches!(self.held, Held::Here(_))
    }
}

impl Cache {
    /// A cache that holds nothing yet.
    ///
    /// # Errors
    ///
    /// If a partition alone takes more than `budget` bytes.
    pub(crate) fn new(packed: Packed, budget: u64) -> Result<Self, StoreError> {
        let count = packed.partitions();
        let largest = (0..count).map(|partition| packed.bytes(partition)).max().unwrap_or(0);
        if largest > budget {
            let problem = format!(
                "its largest partition takes {largest} bytes of memory, and the budget is {budget}; \
                 set VPREP_GRAPH_MEMORY to more, or build it with more partitions"
            );
            return Err(StoreError::Unsupported { store: packed.store(), problem });
        }
        let state = State { slots: vec![Slot::default(); count], ..State::default() };
        Ok(Self { packed, budget, state: Mutex::new(state), changed: Condvar::new() })
    }

    /// No code panics between two consistent states, so a poisoned lock is as good as another.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a partition into use, loading it if need be.
    fn take(&self, partition: usize) -> Result<Use<'_>, StoreError> {
        let mut state = self.lock();
        loop {
            if let Held::Here(here) = &state.slots[partition].held {
                let here = Arc::clone(here);
                state.hits += 1;
                state.take(partition);
                return Ok(Use { cache: self, partition, here });
            }
            let absent = matches!(state.slots[partition].held, Held::Absent);
            if absent && self.make_room(&mut state, partition) {
                break;
            }
            state = self.wait(state);
        }
        drop(state);
        let loading = Loading { cache: self, partition };
        let here = Arc::new(self.packed.load(partition)?);
        let mut state = self.lock();
        state.loads += 1;
        state.slots[partition].held = Held::Here(Arc::clone(&here));
        state.take(partition);
        drop(state);
        drop(loading);
        Ok(Use { cache: self, partition, here })
    }

    /// Puts out idle partitions until one more fits, and counts that one as loading; false if they
    /// are too few.
    fn make_room(&self, state: &mut State, partition: usize) -> bool {
        let bytes = self.packed.bytes(partition);
        let idle: u64 = (0..state.slots.len())
            .filter(|&other| state.slots[other].idle())
            .map(|other| self.packed.bytes(other))
            .sum();
        if state.bytes - idle + bytes > self.budget {
            return false;
        }
        while state.bytes + bytes > self.budget {
            let slots = state.slots.iter().enumerate().filter(|(_, slot)| slot.idle());
            let Some((oldest, _)) = slots.min_by_key(|(_, slot)| slot.last_used) else {
                return false;
            };
            state.slots[oldest].held = Held::Absent;
            state.bytes -= self.packed.bytes(oldest);
            state.evictions += 1;
        }
        state.slots[partition].held = Held::Loading;
        state.bytes += bytes;
        state.peak = state.peak.max(state.bytes);
        true
    }
}

impl State {
    /// Counts a use of a partition that is here.
    fn take(&mut self, partition: usize) {
        self.clock += 1;
        let slot = &mut self.slots[partition];
        slot.users += 1;
        slot.last_used = self.clock;
    }
}

/// A partition being loaded. If that fails, the next search tries again.
struct Loading<'a> {
    cache: &'a Cache,
    partition: usize,
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        let mut state = self.cache.lock();
        let slot = &mut state.slots[self.partition];
        if matches!(slot.held, Held::Loading) {
            slot.held = Held::Absent;
            state.bytes -= self.cache.packed.bytes(self.partition);
        }
        drop(state);
        self.cache.changed.notify_all();
    }
}

/// A partition in use.
struct Use<'a> {
    cache: &'a Cache,
    partition: usize,
    here: Arc<Partition>,
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        let mut state = self.cache.lock();
        state.slots[self.partition].users -= 1;
        let idle = state.slots[self.partition].idle();
        drop(state);
        if idle {
            self.cache.changed.notify_all();
        }
    }
}

impl Shelf for Cache {
    fn with<R>(
        &self,
        partition: usize,
        work: impl FnOnce(&Partition) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let taken = self.take(partition)?;
        work(&taken.here)
    }

    fn statistics(&self) -> BTreeMap<String, u64> {
        let state = self.lock();
        let counters = [
            ("memory_budget", self.budget),
            ("memory_bytes", state.bytes),
            ("memory_peak", state.peak),
            ("loads", state.loads),
            ("hits", state.hits),
            ("evictions", state.evictions),
        ];
        counters.map(|(name, value)| (name.to_owned(), value)).into()
    }
}
