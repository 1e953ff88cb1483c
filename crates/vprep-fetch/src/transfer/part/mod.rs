//! The partial file: what has come so far, and the journal that proves it.
//!
//! `<name>.<key>.vprep-part` has its bytes at their final places; `….vprep-part.log` beside it has
//! one line of JSON that names the version (length, ETag), then a line `<block> <bytes> <xxh3>` for
//! each block that is complete or was cut. Lines are only appended, so a process that dies at any
//! moment leaves at worst half a line, which is ignored. The hashes make it needless to sync blocks:
//! what a power cut lost does not match, and is fetched again.
//!
//! The part is locked, but a lock is not what keeps it right: where locks silently do nothing, two
//! processes write the same bytes of the same version to the same places.

mod open;
mod spans;
mod sweep;
mod writer;

use crate::FetchError;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub(crate) use sweep::sweep;
pub(crate) use writer::Writer;

const SUFFIX: &str = ".vprep-part";
const LOG: &str = ".log";

/// Which version of the file the bytes are of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Version {
    /// The length, once it is known.
    pub(crate) bytes: Option<u64>,
    /// The ETag, as the server wrote it.
    pub(crate) etag: Option<String>,
    /// `Last-Modified`, where there is no ETag.
    pub(crate) modified: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    block: u64,
    version: Version,
}

/// A partial file.
#[derive(Debug)]
pub(crate) struct Part {
    path: PathBuf,
    file: Arc<File>,
    log: File,
    block: u64,
    version: Version,
    /// Whether the journal names the version.
    named: bool,
    /// Bytes of each block, from its beginning.
    blocks: Vec<u64>,
    /// The first block that is not complete.
    front: usize,
    have: u64,
    high: u64,
    /// Whether the end was found, not announced.
    open_ended: bool,
}

impl Part {
    /// The part's path for a file `name` in `dir`, of the version or source that `key` names.
    pub(crate) fn path_of(dir: &Path, name: &str, key: &str) -> PathBuf {
        let dot = if name.is_empty() { "" } else { "." };
        dir.join(format!("{name}{dot}{key}{SUFFIX}"))
    }

    /// Forgets everything, so that the next version can begin.
    pub(crate) fn reset(&mut self) -> Result<(), FetchError> {
        let log = log_of(&self.path);
        self.log.set_len(0).map_err(FetchError::io("write", &log))?;
        io::Seek::rewind(&mut self.log).map_err(FetchError::io("write", &log))?;
        self.file.set_len(0).map_err(FetchError::io("write", &self.path))?;
        self.version = Version::default();
        self.named = false;
        self.blocks.clear();
        (self.front, self.have) = (0, 0);
        Ok(())
    }

    /// Names the version. Call it while nothing has come.
    pub(crate) fn begin(&mut self, version: Version) -> Result<(), FetchError> {
        let line = serde_json::to_string(&Header { block: self.block, version: version.clone() })
            .expect("a header is JSON");
        let log = log_of(&self.path);
        writeln!(self.log, "{line}").map_err(FetchError::io("write", log))?;
        self.blocks = version.bytes.map_or_else(Vec::new, |bytes| vec![0; self.count(bytes)]);
        self.version = version;
        self.named = true;
        Ok(())
    }

    /// Whether nobody announced the length.
    pub(crate) fn was_open_ended(&self) -> bool {
        self.open_ended
    }

    pub(crate) fn version(&self) -> Option<&Version> {
        self.named.then_some(&self.version)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    pub(crate) fn have(&self) -> u64 {
        self.have
    }

    /// The most bytes that there ever were: growth of this is progress.
    pub(crate) fn high(&self) -> u64 {
        self.high
    }

    /// Moves the finished part, which is on the disk, to its place.
    pub(crate) fn publish(self, target: &Path) -> Result<(), FetchError> {
        fs::rename(&self.path, target).map_err(FetchError::io("write", target))?;
        // A journal without a part is an orphan, which the next fetch clears.
        let _ = fs::remove_file(log_of(&self.path));
        if let Some(dir) = target.parent() {
            File::open(dir).and_then(|dir| dir.sync_all()).map_err(FetchError::io("sync", dir))?;
        }
        Ok(())
    }

    /// Deletes the part.
    pub(crate) fn discard(self) {
        // Best effort: what stays is an orphan.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(log_of(&self.path));
    }
}

fn log_of(part: &Path) -> PathBuf {
    let mut name = part.as_os_str().to_owned();
    name.push(LOG);
    name.into()
}
