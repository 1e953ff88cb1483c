//! Who may search a graph when.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// FAISS's C interface keeps `efSearch` in the graph, not in the search. The gate lets searches in
/// together only if they agree on it.
///
/// It is passed for one call into FAISS, which never waits for another task, so batches that share
/// the threads of one rayon pool cannot wait for each other in a circle.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Knob of the graph; none before the first search.
    knob: Option<u32>,
    inside: usize,
}

impl Gate {
    /// Waits until a search at `knob` may run. `set` is called while nobody is inside, if the graph
    /// has another knob.
    ///
    /// # Errors
    ///
    /// That of `set`.
    pub(crate) fn enter<E>(
        &self,
        knob: u32,
        set: impl FnOnce() -> Result<(), E>,
    ) -> Result<Pass<'_>, E> {
        let mut state = self.lock();
        while state.inside > 0 && state.knob != Some(knob) {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.knob != Some(knob) {
            state.knob = None;
            set()?;
            state.knob = Some(knob);
        }
        state.inside += 1;
        Ok(Pass(self))
    }

    /// No code panics between two consistent states, so a poisoned lock is as good as another.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to one search.
#[derive(Debug)]
pub(crate) struct Pass<'a>(&'a Gate);

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.lock().inside -= 1;
        self.0.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

    #[test]
    fn those_inside_agree_on_the_knob() {
        let gate = Gate::default();
        let (knob, inside) = (AtomicU32::new(0), AtomicUsize::new(0));
        let search = &|value: u32| {
            let pass = gate.enter(value, || {
                assert_eq!(inside.load(SeqCst), 0);
                knob.store(value, SeqCst);
                Ok::<_, ()>(())
            });
            inside.fetch_add(1, SeqCst);
            std::thread::yield_now();
            assert_eq!(knob.load(SeqCst), value);
            inside.fetch_sub(1, SeqCst);
            drop(pass);
        };
        std::thread::scope(|scope| {
            for thread in 0..6 {
                scope.spawn(move || (0..500).for_each(|round| search(1 + (thread + round) % 3)));
            }
        });
    }

    #[test]
    fn a_knob_that_could_not_be_set_is_set_again() {
        let gate = Gate::default();
        assert!(gate.enter(3, || Err("no")).is_err());
        let mut set = false;
        let pass = gate.enter(3, || {
            set = true;
            Ok::<_, ()>(())
        });
        drop(pass);
        assert!(set);
    }
}
