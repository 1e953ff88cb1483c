//! Who may search when.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// usearch keeps the knob in the index, not in the search, and has a fixed number of search
/// contexts. The gate lets searches in together only if they agree on the knob, and no more of
/// them than there are contexts.
///
/// It is passed query by query rather than held for a batch. A pass is held for one call into the
/// engine, which never waits for another task, so batches that share the threads of one rayon pool
/// cannot wait for each other in a circle.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    contexts: usize,
}

#[derive(Debug, Default)]
struct State {
    /// Knob of those inside; 0 before the first.
    knob: u32,
    inside: usize,
}

impl Gate {
    /// A gate for at most `contexts` searches at a time.
    pub(crate) fn new(contexts: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), contexts }
    }

    /// Waits until a search at `knob` may run. `set` is called while nobody is inside, if the
    /// knob is another than that of the last search.
    pub(crate) fn enter(&self, knob: u32, set: impl FnOnce()) -> Pass<'_> {
        let mut state = self.lock();
        while state.inside > 0 && (state.knob != knob || state.inside == self.contexts) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.knob != knob {
            set();
            state.knob = knob;
        }
        state.inside += 1;
        Pass { gate: self }
    }

    /// No code panics between two consistent states, so a poisoned lock is as good as another.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to one search.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    gate: &'a Gate,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.lock().inside -= 1;
        self.gate.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

    #[test]
    fn those_inside_agree_on_the_knob_and_are_not_too_many() {
        let gate = Gate::new(2);
        let (knob, inside) = (AtomicU32::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let (gate, knob, inside) = (&gate, &knob, &inside);
                scope.spawn(move || {
                    for round in 0..500 {
                        let value = 1 + (thread + round) % 3;
                        let pass = gate.enter(value, || {
                            assert_eq!(inside.load(Ordering::SeqCst), 0);
                            knob.store(value, Ordering::SeqCst);
                        });
                        assert!(inside.fetch_add(1, Ordering::SeqCst) < 2);
                        assert_eq!(knob.load(Ordering::SeqCst), value);
                        std::thread::yield_now();
                        assert_eq!(knob.load(Ordering::SeqCst), value);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(pass);
                    }
                });
            }
        });
    }
}
