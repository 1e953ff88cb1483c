//! Opening a part: what its journal says, and what its bytes prove.

use super::{Header, Part, Version, log_of};
use crate::FetchError;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use vprep_core::Progress;
use xxhash_rust::xxh3::Xxh3;

impl Part {
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
        let mut claims = BTreeMap::new();
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
    pub(super) fn hash_of(
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
}
