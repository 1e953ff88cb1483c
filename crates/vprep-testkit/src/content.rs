//! What a served file holds.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fmt, io};

use vprep_core::sample::mix;

use crate::digest;
use crate::error::ContentError;

/// What turns every byte of a content into another one.
const ALTER: u8 = 0x5A;

/// The bytes of a served file: in memory, on disk, or made from a seed. Clones share the bytes and
/// the digests, which are computed when first asked for.
#[derive(Clone)]
pub struct Content {
    inner: Arc<Inner>,
}

struct Inner {
    source: Source,
    len: u64,
    /// XORed to every byte.
    mask: u8,
    sha256: OnceLock<String>,
    git_blob: OnceLock<String>,
    md5: OnceLock<String>,
    altered: OnceLock<Content>,
}

#[derive(Clone)]
enum Source {
    Bytes(Arc<[u8]>),
    File(PathBuf, Arc<File>),
    Random(u64),
}

impl Content {
    /// Bytes in memory.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes: Arc<[u8]> = bytes.into().into();
        let len = bytes.len() as u64;
        Self::new(Source::Bytes(bytes), len, 0)
    }

    /// A file on disk, streamed. It must not change while it is served.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn file(path: impl AsRef<Path>) -> Result<Self, ContentError> {
        let path = path.as_ref().to_path_buf();
        let open = || {
            let file = File::open(&path)?;
            let len = file.metadata()?.len();
            Ok((file, len))
        };
        match open() {
            Ok((file, len)) => Ok(Self::new(Source::File(path, Arc::new(file)), len, 0)),
            Err(source) => Err(ContentError { path, source }),
        }
    }

    /// `len` pseudo-random bytes: word `i`, eight bytes little-endian, is `mix(mix(seed) ^ i)`.
    pub fn random(seed: u64, len: u64) -> Self {
        Self::new(Source::Random(mix(seed)), len, 0)
    }

    fn new(source: Source, len: u64, mask: u8) -> Self {
        let inner = Inner {
            source,
            len,
            mask,
            sha256: OnceLock::new(),
            git_blob: OnceLock::new(),
            md5: OnceLock::new(),
            altered: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a length in bytes, not a collection")]
    pub fn len(&self) -> u64 {
        self.inner.len
    }

    /// The same length, and every byte different: what [`Fault::NewVersion`](crate::Fault) serves.
    #[must_use]
    pub fn altered(&self) -> Self {
        let inner = &self.inner;
        inner
            .altered
            .get_or_init(|| Self::new(inner.source.clone(), inner.len, inner.mask ^ ALTER))
            .clone()
    }

    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    ///
    /// If the file on disk cannot be read.
    ///
    /// # Panics
    ///
    /// If the range passes the end.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        assert!(offset + buffer.len() as u64 <= self.len(), "read past the end");
        match &self.inner.source {
            Source::Bytes(bytes) => {
                buffer.copy_from_slice(&bytes[offset as usize..][..buffer.len()]);
            }
            Source::File(_, file) => file.read_exact_at(buffer, offset)?,
            Source::Random(base) => fill(*base, offset, buffer),
        }
        if self.inner.mask != 0 {
            buffer.iter_mut().for_each(|byte| *byte ^= self.inner.mask);
        }
        Ok(())
    }

    /// All bytes, for comparisons.
    ///
    /// # Panics
    ///
    /// If the file on disk cannot be read.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len() as usize];
        self.read_at(0, &mut bytes).expect("a served file stays readable");
        bytes
    }

    /// The sha256 in hexadecimal.
    pub fn sha256(&self) -> &str {
        self.inner.sha256.get_or_init(|| digest::sha256(self))
    }

    /// The name that git gives these bytes.
    pub fn git_blob(&self) -> &str {
        self.inner.git_blob.get_or_init(|| digest::git_blob(self))
    }

    /// The md5 in hexadecimal.
    pub fn md5(&self) -> &str {
        self.inner.md5.get_or_init(|| digest::md5(self))
    }

    /// The ETag of an S3 multipart upload with parts of `part` bytes, without quotes.
    pub fn s3_etag(&self, part: u64) -> String {
        digest::s3(self, part)
    }

    /// What tells contents apart without reading gigabytes.
    pub(crate) fn identity(&self) -> String {
        let Inner { source, len, mask, .. } = &*self.inner;
        match source {
            Source::Bytes(_) => format!("bytes {} {mask}", self.sha256()),
            Source::File(path, _) => format!("file {} {len} {mask}", path.display()),
            Source::Random(base) => format!("random {base} {len} {mask}"),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::bytes(text)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::bytes(bytes)
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({})", self.identity())
    }
}

/// Pseudo-random bytes from any offset.
fn fill(base: u64, offset: u64, buffer: &mut [u8]) {
    let mut word = offset / 8;
    let skip = (offset % 8) as usize;
    let mut rest = buffer;
    if skip > 0 {
        let take = rest.len().min(8 - skip);
        let (head, tail) = rest.split_at_mut(take);
        head.copy_from_slice(&mix(base ^ word).to_le_bytes()[skip..][..take]);
        rest = tail;
        word += 1;
    }
    let mut words = rest.chunks_exact_mut(8);
    for chunk in &mut words {
        chunk.copy_from_slice(&mix(base ^ word).to_le_bytes());
        word += 1;
    }
    let tail = words.into_remainder();
    tail.copy_from_slice(&mix(base ^ word).to_le_bytes()[..tail.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_do_not_depend_on_how_they_are_read() {
        let content = Content::random(7, 1000);
        let whole = content.to_vec();
        for (offset, len) in [(0, 1000), (1, 3), (5, 11), (8, 8), (993, 7), (1000, 0)] {
            let mut part = vec![0; len];
            content.read_at(offset as u64, &mut part).unwrap();
            assert_eq!(part, whole[offset..offset + len], "{offset}+{len}");
        }
        assert_ne!(whole, Content::random(8, 1000).to_vec());
        assert!(content.altered().to_vec().iter().zip(&whole).all(|(a, b)| a != b));
    }

    #[test]
    fn digests_are_the_published_ones() {
        let content = Content::from("hello\n");
        assert_eq!(content.git_blob(), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(content.md5(), "b1946ac92492d2347c6235b4d2611184");
        assert_eq!(
            content.sha256(),
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
        );
        // printf 'hel' | md5sum, printf 'lo\n' | md5sum, md5 of the 32 bytes.
        assert_eq!(content.s3_etag(3), "05d118724dd6aa29a2794272ce11f837-2");
    }
}
