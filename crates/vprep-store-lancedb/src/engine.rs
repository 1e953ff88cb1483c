//! Asynchronous work of LanceDB, done for callers that wait.

use crate::engine_error;
use std::error::Error;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinError;
use vprep_core::Progress;
use vprep_store::StoreError;

/// How often long work asks whether the user wants to stop.
const TICK: Duration = Duration::from_millis(50);

/// A runtime with as many threads as rayon's current pool, for work in one index directory.
#[derive(Debug)]
pub(crate) struct Engine {
    runtime: Runtime,
    dir: PathBuf,
}

impl Engine {
    /// A runtime for work in `dir`, which errors of the system are reported of.
    pub(crate) fn start(dir: &Path) -> Result<Self, StoreError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(rayon::current_num_threads())
            .thread_name("vprep-lancedb")
            .enable_all()
            .build()
            .map_err(|error| engine_error("starting threads", &error))?;
        Ok(Self { runtime, dir: dir.to_owned() })
    }

    /// Starts work that goes on by itself.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        work: impl Future<Output = lancedb::Result<T>> + Send + 'static,
    ) -> Begun<T> {
        Begun(self.runtime.spawn(work))
    }

    /// Waits for work that takes a moment.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl Future<Output = lancedb::Result<T>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Begun(handle) = self.begin(work);
        self.finished(operation, self.runtime.block_on(handle))
    }

    /// Waits for long work, and ends it if the user asks to stop.
    ///
    /// The engine links rows on rayon's global pool. If this thread is of that pool, it must help
    /// rather than sleep: the pool may have no other thread.
    pub(crate) fn watch<T: Send + 'static>(
        &self,
        operation: &'static str,
        Begun(mut handle): Begun<T>,
        progress: &dyn Progress,
    ) -> Result<T, StoreError> {
        loop {
            if let Err(interrupted) = progress.check() {
                handle.abort();
                // Whatever came of it is dropped with the directory.
                let _ = self.runtime.block_on(handle);
                return Err(interrupted.into());
            }
            let tick = async { tokio::time::timeout(TICK, &mut handle).await };
            if let Ok(joined) = self.runtime.block_on(tick) {
                return self.finished(operation, joined);
            }
            while rayon::yield_now() == Some(rayon::Yield::Executed) {}
        }
    }

    fn finished<T>(
        &self,
        operation: &'static str,
        joined: Result<lancedb::Result<T>, JoinError>,
    ) -> Result<T, StoreError> {
        match joined {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(match cause(&error) {
                Some(kind) => StoreError::Io {
                    path: self.dir.clone(),
                    source: io::Error::new(kind, error.to_string()),
                },
                None => engine_error(operation, &error),
            }),
            Err(panic) => Err(engine_error(operation, &panic)),
        }
    }
}

/// Work in progress.
#[derive(Debug)]
pub(crate) struct Begun<T>(tokio::task::JoinHandle<lancedb::Result<T>>);

/// The kind of the system's error at the root of an error, as that of a full disk.
fn cause(error: &lancedb::Error) -> Option<io::ErrorKind> {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        next = error.source();
    }
    None
}
