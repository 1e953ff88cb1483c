//! Sessions for the threads that search.

use crate::engine;
use crate::session::Session;
use duckdb::Connection;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use vprep_store::StoreError;

/// Searches at a time.
const AT_ONCE: usize = 1;

/// Sessions of one database, of which one searches at a time: two searches at once in one index of
/// the extension share what they have visited, and answers then hold rows twice or miss some. Seen
/// with 1.5.5 in five of six runs of the conformance suite on two threads, and never on one.
///
/// A session is held for a statement, which never waits for another task, so batches that share
/// the threads of one rayon pool cannot wait for each other in a circle.
pub(crate) struct Pool {
    state: Mutex<State>,
    returned: Condvar,
    at_most: usize,
}

struct State {
    root: Connection,
    free: Vec<Session>,
    made: usize,
}

impl Pool {
    /// Sessions of the database that `root` is connected with.
    pub(crate) fn new(root: Connection) -> Self {
        let state = State { root, free: Vec::new(), made: 0 };
        Self { state: Mutex::new(state), returned: Condvar::new(), at_most: AT_ONCE }
    }

    /// Does something with a session, once one is free.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut lent = Lent { pool: self, session: Some(self.take()?) };
        match &mut lent.session {
            Some(session) => work(session),
            None => Err(engine("searching", &"a session is missing")),
        }
    }

    fn take(&self) -> Result<Session, StoreError> {
        let mut state = self.lock();
        loop {
            if let Some(session) = state.free.pop() {
                return Ok(session);
            }
            if state.made < self.at_most {
                let connection = state.root.try_clone().map_err(|e| engine("connecting", &e))?;
                state.made += 1;
                return Ok(Session::new(connection));
            }
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// No code panics between two consistent states, so a poisoned lock is as good as another.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session that goes back to its pool.
struct Lent<'a> {
    pool: &'a Pool,
    session: Option<Session>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.pool.lock().free.extend(self.session.take());
        self.pool.returned.notify_one();
    }
}
