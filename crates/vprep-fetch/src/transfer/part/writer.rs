//! Writing to a part.

use super::Part;
use crate::FetchError;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use vprep_core::Progress;
use xxhash_rust::xxh3::Xxh3;

/// Writes bytes to a part from one place on, and notes blocks in its journal: complete ones at
/// once, a cut one when the writer is dropped.
pub(crate) struct Writer<'a> {
    part: &'a RefCell<Part>,
    file: Arc<File>,
    index: usize,
    bytes: u64,
    noted: u64,
    hash: Xxh3,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(
        part: &'a RefCell<Part>,
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
