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

use crate::FetchError;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vprep_core::Progress;
use xxhash_rust::xxh3::Xxh3;

pub(crate) const SUFFIX: &str = ".vprep-part";
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

    /// Opens the part and takes up what is proven to be there. Nothing, if another process has it.
    pub(crate) fn open(
        path: &Path,
        block: u64,
        progress: &dyn Progress,
    ) -> Result<Option<Self>, FetchError> {
        let open = |path: &Path| {
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
        };
        let file = open(path).map_err(FetchError::io("create", path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(FetchError::io("lock", path)(error)),
            Ok(()) => {}
        }
        // Whoever had it may have published it meanwhile.
        let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        match (file.metadata(), fs::metadata(path)) {
            (Ok(ours), Ok(there)) if same(&ours, &there) => {}
            _ => return Ok(None),
        }
        let log_path = log_of(path);
        let mut log = open(&log_path).map_err(FetchError::io("create", &log_path))?;
        let mut text = String::new();
        if log.read_to_string(&mut text).is_err() {
            text.clear();
        }
        let mut part = Self {
            path: path.to_owned(),
            file: Arc::new(file),
            log,
            block,
            version: Version::default(),
            named: false,
            blocks: Vec::new(),
            front: 0,
            have: 0,
            high: 0,
            open_ended: false,
        };
        if !part.take_up(&text, progress)? {
            part.reset()?;
        }
        // A torn last line must not run into the next.
        if part.named && !text.ends_with('\n') {
            part.log.write_all(b"\n").map_err(FetchError::io("write", &log_path))?;
        }
        part.high = part.have;
        Ok(Some(part))
    }

    /// Reads the journal, and believes what the bytes prove.
    fn take_up(&mut self, text: &str, progress: &dyn Progress) -> Result<bool, FetchError> {
        let mut lines = text.lines();
        let header = lines.next().and_then(|line| serde_json::from_str::<Header>(line).ok());
        let Some(header) = header.filter(|header| header.block == self.block) else {
            return Ok(false);
        };
        self.version = header.version;
        self.named = true;
        if let Some(bytes) = self.version.bytes {
            self.blocks = vec![0; self.count(bytes)];
        }
        let mut claims = std::collections::BTreeMap::new();
        for line in lines {
            let mut words = line.split(' ');
            let mut number = |radix| words.next().and_then(|w| u64::from_str_radix(w, radix).ok());
            if let (Some(index), Some(bytes), Some(hash)) = (number(10), number(10), number(16))
                && words.next().is_none()
            {
                claims.insert(index, (bytes, hash));
            }
        }
        let mut buffer = vec![0; 1 << 20];
        for (index, (bytes, hash)) in claims {
            let (Ok(index), true) = (usize::try_from(index), bytes <= self.block) else { continue };
            if self
                .hash_of(index, bytes, &mut buffer, progress)?
                .is_some_and(|h| h.digest() == hash)
            {
                self.set(index, bytes);
            }
        }
        Ok(true)
    }

    /// The hash of the first bytes of a block, if they are there.
    fn hash_of(
        &self,
        index: usize,
        bytes: u64,
        buffer: &mut [u8],
        progress: &dyn Progress,
    ) -> Result<Option<Xxh3>, FetchError> {
        let mut hash = Xxh3::new();
        let (mut at, end) = (index as u64 * self.block, index as u64 * self.block + bytes);
        while at < end {
            progress.check()?;
            let want = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
            let read = self
                .file
                .read_at(&mut buffer[..want], at)
                .map_err(FetchError::io("read", &self.path))?;
            if read == 0 {
                return Ok(None);
            }
            hash.update(&buffer[..read]);
            at += read as u64;
        }
        Ok(Some(hash))
    }

    fn count(&self, bytes: u64) -> usize {
        usize::try_from(bytes.div_ceil(self.block)).expect("a file has fewer blocks than memory")
    }

    fn length(&self, index: usize) -> u64 {
        let start = index as u64 * self.block;
        self.version.bytes.map_or(self.block, |bytes| bytes.saturating_sub(start).min(self.block))
    }

    fn set(&mut self, index: usize, bytes: u64) {
        if index >= self.blocks.len() {
            if self.version.bytes.is_some() {
                return;
            }
            self.blocks.resize(index + 1, 0);
        }
        let bytes = bytes.min(self.length(index));
        self.have = self.have - self.blocks[index] + bytes;
        self.high = self.high.max(self.have);
        self.blocks[index] = bytes;
        while self.front < self.blocks.len() && self.blocks[self.front] == self.length(self.front) {
            self.front += 1;
        }
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

    /// The length turned out when the stream ended.
    pub(crate) fn end(&mut self, bytes: u64) {
        self.open_ended = true;
        self.learn(bytes);
    }

    /// A later answer named the length.
    pub(crate) fn learn(&mut self, bytes: u64) {
        self.version.bytes = Some(bytes);
        self.blocks.resize(self.count(bytes), 0);
        self.have = self.blocks.iter().sum();
        self.front = 0;
        while self.front < self.blocks.len() && self.blocks[self.front] == self.length(self.front) {
            self.front += 1;
        }
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

    pub(crate) fn is_complete(&self) -> bool {
        self.version.bytes == Some(self.have)
    }

    /// Bytes without a gap from the beginning.
    pub(crate) fn frontier(&self) -> u64 {
        let cut = self.blocks.get(self.front).copied().unwrap_or(0);
        let whole = self.front as u64 * self.block;
        self.version.bytes.map_or(whole + cut, |bytes| bytes.min(whole + cut))
    }

    /// What is missing at or after `from`, in spans of at most `longest` (whole blocks). Before the
    /// length is known, one span from the frontier.
    pub(crate) fn missing(&self, from: u64, longest: u64) -> VecDeque<Range<u64>> {
        let Some(bytes) = self.version.bytes else {
            let start = self.frontier();
            return std::iter::once(start..start + longest).collect();
        };
        let mut spans: VecDeque<Range<u64>> = VecDeque::new();
        for (index, &have) in self.blocks.iter().enumerate() {
            let start = index as u64 * self.block;
            let end = (start + self.block).min(bytes);
            if start + have >= end || start < from {
                continue;
            }
            match spans.back_mut() {
                Some(last) if have == 0 && last.end == start && end - last.start <= longest => {
                    last.end = end;
                }
                _ => spans.push_back(start + have..end),
            }
        }
        spans
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

/// Removes parts in `dir` that no process has, if `orphan` says so of their name or they are older
/// than two weeks, and journals without a part.
pub(crate) fn sweep(dir: &Path, orphan: &dyn Fn(&str) -> bool) {
    const OLD: std::time::Duration = std::time::Duration::from_secs(14 * 24 * 3600);
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if let Some(part) = name.strip_suffix(LOG).filter(|name| name.ends_with(SUFFIX)) {
            if !dir.join(part).exists() {
                let _ = fs::remove_file(&path);
            }
            continue;
        }
        if !name.ends_with(SUFFIX) {
            continue;
        }
        let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
        if (orphan(&name) || age.is_some_and(|age| age > OLD))
            && File::open(&path).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = fs::remove_file(log_of(&path));
            let _ = fs::remove_file(&path);
        }
    }
}

/// Writes bytes to a part from one place on, and notes blocks in its journal: complete ones at
/// once, a cut one when the writer is dropped.
pub(crate) struct Writer<'a> {
    part: &'a std::cell::RefCell<Part>,
    file: Arc<File>,
    index: usize,
    bytes: u64,
    noted: u64,
    hash: Xxh3,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(
        part: &'a std::cell::RefCell<Part>,
        at: u64,
        progress: &dyn Progress,
    ) -> Result<Self, FetchError> {
        let (file, index, bytes, hash) = {
            let part = part.borrow();
            let index = usize::try_from(at / part.block).expect("fewer blocks than memory");
            let bytes = at % part.block;
            let hash = part.hash_of(index, bytes, &mut vec![0; 1 << 16], progress)?;
            (part.file(), index, bytes, hash.expect("a writer begins where bytes end"))
        };
        Ok(Self { part, file, index, bytes, noted: bytes, hash })
    }

    pub(crate) fn position(&self) -> u64 {
        self.index as u64 * self.part.borrow().block + self.bytes
    }

    pub(crate) fn write(&mut self, mut data: &[u8]) -> Result<(), FetchError> {
        let block = self.part.borrow().block;
        while !data.is_empty() {
            let room = usize::try_from(block - self.bytes).unwrap_or(usize::MAX);
            let (now, later) = data.split_at(room.min(data.len()));
            self.file
                .write_all_at(now, self.position())
                .map_err(|error| FetchError::io("write", self.part.borrow().path())(error))?;
            self.hash.update(now);
            self.bytes += now.len() as u64;
            self.part.borrow_mut().set(self.index, self.bytes);
            if self.bytes == block {
                self.note()
                    .map_err(|error| FetchError::io("write", self.part.borrow().path())(error))?;
                self.index += 1;
                (self.bytes, self.noted) = (0, 0);
                self.hash.reset();
            }
            data = later;
        }
        Ok(())
    }

    fn note(&mut self) -> io::Result<()> {
        let line = format!("{} {} {:016x}\n", self.index, self.bytes, self.hash.digest());
        self.part.borrow_mut().log.write_all(line.as_bytes())?;
        self.noted = self.bytes;
        Ok(())
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if self.bytes > self.noted {
            // Without the note, these bytes come again.
            let _ = self.note();
        }
    }
}
