//! Hashing beside the download: a thread that follows the bytes that have come without a gap and
//! reads them back from the page cache, so that the connection never waits for a hash.

use crate::digest::Hasher;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use tokio::sync::oneshot;

/// Bytes by which the frontier moves before the thread is woken.
const STEP: u64 = 1 << 20;

#[derive(Debug, Default)]
struct State {
    frontier: u64,
    end: Option<u64>,
    stop: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    moved: Condvar,
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.moved.notify_one();
    }
}

/// A digest that is computed while its file grows.
#[derive(Debug)]
pub(crate) struct Follower {
    shared: Arc<Shared>,
    told: u64,
    result: Option<oneshot::Receiver<io::Result<String>>>,
}

impl Follower {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// If the system gives none.
    pub(crate) fn start(file: Arc<File>, hasher: Hasher) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (send, receive) = oneshot::channel();
        let theirs = Arc::clone(&shared);
        thread::Builder::new().name("vprep-hash".to_owned()).spawn(move || {
            // Nobody waits for the result of a fetch that was given up.
            let _ = send.send(follow(&file, hasher, &theirs));
        })?;
        Ok(Self { shared, told: 0, result: Some(receive) })
    }

    /// Tells how many bytes have come without a gap.
    pub(crate) fn advance(&mut self, frontier: u64) {
        if frontier >= self.told + STEP {
            self.told = frontier;
            self.shared.change(|state| state.frontier = frontier);
        }
    }

    /// The digest of the first `bytes` bytes, which have all come.
    pub(crate) async fn finish(&mut self, bytes: u64) -> io::Result<String> {
        self.shared.change(|state| {
            state.frontier = bytes;
            state.end = Some(bytes);
        });
        let result = self.result.take().expect("a follower finishes once");
        result.await.unwrap_or_else(|_| Err(io::Error::other("the hashing thread died")))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.shared.change(|state| state.stop = true);
    }
}

fn follow(file: &File, mut hasher: Hasher, shared: &Shared) -> io::Result<String> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    loop {
        let frontier = {
            let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                if state.stop {
                    return Err(io::Error::from(io::ErrorKind::Interrupted));
                }
                if at < state.frontier {
                    break state.frontier;
                }
                if state.end == Some(at) {
                    return Ok(hasher.finish());
                }
                state = shared.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        };
        let want = buffer.len().min(usize::try_from(frontier - at).unwrap_or(usize::MAX));
        let read = file.read_at(&mut buffer[..want], at)?;
        if read == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        hasher.update(&buffer[..read]);
        at += read as u64;
    }
}
