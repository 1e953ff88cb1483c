//! Bringing a part to the disk while it grows, so that little is left to wait for in the end.

use futures_util::FutureExt;
use std::fs::File;
use std::io;
use std::sync::Arc;
use tokio::task::{JoinHandle, spawn_blocking};

/// Bytes after which the next sync begins.
const STEP: u64 = 32 << 20;

/// The syncs of one part, one at a time and never on the thread of the connections.
#[derive(Debug)]
pub(crate) struct Flush {
    file: Arc<File>,
    unsynced: u64,
    running: Option<JoinHandle<io::Result<()>>>,
    /// The system reports a failed write once, to the sync that meets it.
    failed: Option<io::Error>,
}

impl Flush {
    pub(crate) fn new(file: Arc<File>) -> Self {
        Self { file, unsynced: 0, running: None, failed: None }
    }

    /// Takes note of bytes that were written.
    pub(crate) fn wrote(&mut self, bytes: u64) {
        self.unsynced += bytes;
        if self.unsynced < STEP {
            return;
        }
        if let Some(running) = &mut self.running {
            let Some(result) = running.now_or_never() else { return };
            self.running = None;
            self.failed = self.failed.take().or(flatten(result).err());
        }
        self.unsynced = 0;
        let file = Arc::clone(&self.file);
        self.running = Some(spawn_blocking(move || file.sync_data()));
    }

    /// Waits until everything that was written is on the disk.
    ///
    /// # Errors
    ///
    /// If this sync failed, or one before it.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        if let Some(running) = self.running.take() {
            let result = flatten(running.await);
            self.failed = self.failed.take().or(result.err());
        }
        let file = Arc::clone(&self.file);
        let last = flatten(spawn_blocking(move || file.sync_all()).await);
        self.unsynced = 0;
        self.failed.take().map_or(last, Err)
    }
}

fn flatten(result: Result<io::Result<()>, tokio::task::JoinError>) -> io::Result<()> {
    result.unwrap_or_else(|_| Err(io::Error::other("the syncing thread died")))
}
