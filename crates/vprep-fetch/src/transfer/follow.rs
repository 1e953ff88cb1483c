//! Hashing beside the download: a thread that follows the bytes that have come without a gap. It
//! gets them from memory as they come, and reads back from the page cache what came out of order,
//! what was there before and what came while it was busy, so that no connection waits for a hash.

use crate::digest::Hasher;
use bytes::Bytes;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::sync::oneshot;

/// Bytes by which the frontier moves before the thread is woken.
const STEP: u64 = 1 << 20;
/// Bytes that may wait in memory.
const QUEUE: usize = 8 << 20;

#[derive(Debug, Default)]
struct State {
    /// Bytes that have come without a gap.
    frontier: u64,
    /// Pieces of them, in order, each with its place.
    queue: VecDeque<(u64, Bytes)>,
    queued: usize,
    end: Option<u64>,
    stop: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    moved: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
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

    /// Hands over bytes that were just written at `at`, if they continue what has come.
    pub(crate) fn offer(&mut self, at: u64, data: &Bytes) {
        let mut state = self.shared.lock();
        let end = at + data.len() as u64;
        if at <= state.frontier && end > state.frontier {
            state.frontier = end;
            if state.queued + data.len() <= QUEUE {
                state.queued += data.len();
                state.queue.push_back((at, data.clone()));
            }
        }
    }

    /// Tells how many bytes have come without a gap.
    pub(crate) fn advance(&mut self, frontier: u64) {
        if frontier >= self.told + STEP {
            self.told = frontier;
            self.shared.change(|state| state.frontier = state.frontier.max(frontier));
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

/// Where the next bytes are.
enum Next {
    Memory(Bytes),
    File { until: u64 },
    End,
    Stop,
}

impl State {
    /// The next bytes from `at` on, if they have come.
    fn next(&mut self, at: u64) -> Option<Next> {
        if self.stop {
            return Some(Next::Stop);
        }
        while let Some((start, data)) = self.queue.front() {
            if *start > at {
                break;
            }
            let skip = usize::try_from(at - start).unwrap_or(usize::MAX).min(data.len());
            let rest = data.slice(skip..);
            self.queued -= data.len();
            self.queue.pop_front();
            if !rest.is_empty() {
                return Some(Next::Memory(rest));
            }
        }
        let until = self.queue.front().map_or(self.frontier, |(start, _)| *start);
        if at < until {
            return Some(Next::File { until });
        }
        (self.end == Some(at)).then_some(Next::End)
    }
}

fn follow(file: &File, mut hasher: Hasher, shared: &Shared) -> io::Result<String> {
    let mut buffer = Vec::new();
    let mut at = 0;
    loop {
        let next = {
            let mut state = shared.lock();
            loop {
                match state.next(at) {
                    Some(next) => break next,
                    None => {
                        state = shared.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
                    }
                }
            }
        };
        match next {
            Next::Memory(data) => {
                hasher.update(&data);
                at += data.len() as u64;
            }
            Next::File { until } => {
                // Small enough to stay in the processor's cache between reading and hashing.
                buffer.resize(256 << 10, 0);
                let want = buffer.len().min(usize::try_from(until - at).unwrap_or(usize::MAX));
                let read = file.read_at(&mut buffer[..want], at)?;
                if read == 0 {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
                }
                hasher.update(&buffer[..read]);
                at += read as u64;
            }
            Next::End => return Ok(hasher.finish()),
            Next::Stop => return Err(io::Error::from(io::ErrorKind::Interrupted)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn memory_and_file_give_one_digest() {
        let data: Vec<u8> = (0..200_000u32).map(|i| (i * 7 % 251) as u8).collect();
        let mut hasher = Hasher::sha256();
        hasher.update(&data);
        let expected = hasher.finish();
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&data).expect("writes");
        let file = Arc::new(file);
        let piece = |range: std::ops::Range<usize>| Bytes::copy_from_slice(&data[range]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        // Pieces in order, one that came too early, one twice, and a beginning that was there.
        let cases: [&[std::ops::Range<usize>]; 4] = [
            &[0..70_000, 70_000..200_000],
            &[0..70_000, 90_000..150_000],
            &[0..70_000, 10_000..90_000, 90_000..90_001],
            &[],
        ];
        for pieces in cases {
            let mut follower = Follower::start(Arc::clone(&file), Hasher::sha256()).expect("runs");
            for range in pieces {
                follower.offer(range.start as u64, &piece(range.clone()));
            }
            let found = runtime.block_on(follower.finish(200_000)).expect("hashes");
            assert_eq!(found, expected, "{pieces:?}");
        }
    }
}
