//! Digests: the rules by which others name the content of files, and how they are computed.

use crate::FetchError;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use vprep_core::Progress;

/// The digest that a file must have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// sha256 in hexadecimal: files in the hub's large file storage, and the catalogue.
    Sha256(String),
    /// md5 in hexadecimal.
    Md5(String),
    /// The ETag of an S3 multipart upload: the md5 of the parts' md5s, `-`, the number of parts.
    S3Etag {
        /// The ETag, without quotes.
        etag: String,
        /// Bytes of each part but the last.
        part_bytes: u64,
    },
    /// The object id of git: sha1 of `blob <bytes>`, NUL and the content. Small files of the hub.
    GitBlob(String),
}

impl Expected {
    /// The rule's name.
    pub const fn algorithm(&self) -> &'static str {
        match self {
            Self::Sha256(_) => "sha256",
            Self::Md5(_) => "md5",
            Self::S3Etag { .. } => "S3 ETag",
            Self::GitBlob(_) => "git blob id",
        }
    }

    /// The digest's text.
    pub fn text(&self) -> &str {
        match self {
            Self::Sha256(text) | Self::Md5(text) | Self::GitBlob(text) => text,
            Self::S3Etag { etag, .. } => etag,
        }
    }

    /// Whether the text has the length and the letters of the rule.
    pub fn is_well_formed(&self) -> bool {
        let hex = |text: &str, length| {
            text.len() == length && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
        };
        match self {
            Self::Sha256(text) => hex(text, 64),
            Self::Md5(text) => hex(text, 32),
            Self::GitBlob(text) => hex(text, 40),
            Self::S3Etag { etag, part_bytes } => {
                *part_bytes > 0
                    && match etag.split_once('-') {
                        Some((digest, parts)) => {
                            hex(digest, 32) && parts.parse::<u64>().is_ok_and(|parts| parts > 0)
                        }
                        None => hex(etag, 32),
                    }
            }
        }
    }
}

/// A digest being computed.
pub(crate) enum Hasher {
    Sha256(Sha256),
    Md5(Md5),
    S3 { part_bytes: u64, multipart: bool, part: Md5, filled: u64, parts: Md5, count: u64 },
    Git(Sha1),
}

impl Hasher {
    pub(crate) fn sha256() -> Self {
        Self::Sha256(Sha256::new())
    }

    /// The hasher of a rule, for a file of `bytes` bytes (which only git needs beforehand).
    pub(crate) fn new(expected: &Expected, bytes: u64) -> Self {
        match expected {
            Expected::Sha256(_) => Self::sha256(),
            Expected::Md5(_) => Self::Md5(Md5::new()),
            Expected::S3Etag { etag, part_bytes } => Self::S3 {
                part_bytes: *part_bytes,
                multipart: etag.contains('-'),
                part: Md5::new(),
                filled: 0,
                parts: Md5::new(),
                count: 0,
            },
            Expected::GitBlob(_) => Self::Git(Sha1::new_with_prefix(format!("blob {bytes}\0"))),
        }
    }

    pub(crate) fn update(&mut self, mut data: &[u8]) {
        match self {
            Self::Sha256(hash) => hash.update(data),
            Self::Md5(hash) => hash.update(data),
            Self::Git(hash) => hash.update(data),
            Self::S3 { multipart: false, part, .. } => part.update(data),
            Self::S3 { part_bytes, part, filled, parts, count, .. } => {
                while !data.is_empty() {
                    let room = usize::try_from(*part_bytes - *filled).unwrap_or(usize::MAX);
                    let (now, later) = data.split_at(room.min(data.len()));
                    part.update(now);
                    *filled += now.len() as u64;
                    if *filled == *part_bytes {
                        parts.update(part.finalize_reset());
                        *count += 1;
                        *filled = 0;
                    }
                    data = later;
                }
            }
        }
    }

    pub(crate) fn finish(self) -> String {
        match self {
            Self::Sha256(hash) => hex(&hash.finalize()),
            Self::Md5(hash) => hex(&hash.finalize()),
            Self::Git(hash) => hex(&hash.finalize()),
            Self::S3 { multipart: false, part, .. } => hex(&part.finalize()),
            Self::S3 { part, filled, mut parts, mut count, .. } => {
                if filled > 0 || count == 0 {
                    parts.update(part.finalize());
                    count += 1;
                }
                format!("{}-{count}", hex(&parts.finalize()))
            }
        }
    }
}

/// Length and digests of a file on this machine.
pub(crate) struct Content {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    /// The digest by the rule that was asked for.
    pub(crate) by_rule: Option<String>,
}

impl Content {
    /// Whether this is the content that `expected` names.
    pub(crate) fn is(&self, expected: &Expected) -> bool {
        let found = match expected {
            Expected::Sha256(_) => Some(&self.sha256),
            _ => self.by_rule.as_ref(),
        };
        found.is_some_and(|found| found == expected.text())
    }
}

/// Reads a file and computes its digests.
pub(crate) fn content(
    path: &Path,
    rule: Option<&Expected>,
    progress: &dyn Progress,
) -> Result<Content, FetchError> {
    let mut file = File::open(path).map_err(FetchError::io("open", path))?;
    let length = file.metadata().map_err(FetchError::io("read", path))?.len();
    let mut sha256 = Hasher::sha256();
    let mut other = match rule {
        None | Some(Expected::Sha256(_)) => None,
        Some(rule) => Some(Hasher::new(rule, length)),
    };
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        progress.check()?;
        match file.read(&mut buffer).map_err(FetchError::io("read", path))? {
            0 => break,
            read => {
                sha256.update(&buffer[..read]);
                if let Some(other) = &mut other {
                    other.update(&buffer[..read]);
                }
                bytes += read as u64;
            }
        }
    }
    Ok(Content { bytes, sha256: sha256.finish(), by_rule: other.map(Hasher::finish) })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(expected: &Expected, data: &[u8], step: usize) -> String {
        let mut hasher = Hasher::new(expected, data.len() as u64);
        data.chunks(step).for_each(|chunk| hasher.update(chunk));
        hasher.finish()
    }

    #[test]
    fn rules_agree_with_the_tools_that_made_them() {
        // `printf hello | git hash-object --stdin`, `md5sum`, `sha256sum`.
        let git = Expected::GitBlob(String::new());
        assert_eq!(digest(&git, b"hello", 2), "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0");
        let md5 = Expected::Md5(String::new());
        assert_eq!(digest(&md5, b"hello", 2), "5d41402abc4b2a76b9719d911017c592");
        let sha = Expected::Sha256(String::new());
        assert!(digest(&sha, b"hello", 2).starts_with("2cf24dba5fb0a30e26e83b2ac5b9e29e"));
    }

    #[test]
    fn a_multipart_etag_is_the_md5_of_md5s() {
        let rule = |etag: &str| Expected::S3Etag { etag: etag.to_owned(), part_bytes: 8 };
        let data: Vec<u8> = (0..20).collect();
        let plain = |data: &[u8]| digest(&Expected::Md5(String::new()), data, 3);
        let unhex = |text: String| -> Vec<u8> {
            (0..16).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).expect("hex")).collect()
        };
        let md5s: Vec<u8> = data.chunks(8).flat_map(|part| unhex(plain(part))).collect();
        let expected = format!("{}-3", plain(&md5s));
        for step in [1, 3, 8, 20] {
            assert_eq!(digest(&rule("x-3"), &data, step), expected);
        }
        assert_eq!(digest(&rule("x"), &data, 7), plain(&data), "a single part is a plain md5");
    }

    #[test]
    fn malformed_digests_are_told() {
        assert!(Expected::Md5("c63a0efd0e611d9f35345af1fc6f7966".into()).is_well_formed());
        assert!(!Expected::Md5("C63A0EFD0E611D9F35345AF1FC6F7966".into()).is_well_formed());
        assert!(!Expected::Sha256("c63a0efd0e611d9f35345af1fc6f7966".into()).is_well_formed());
        let etag = |etag: &str, part_bytes| Expected::S3Etag { etag: etag.into(), part_bytes };
        assert!(etag("aa5dee664dc87b3e416c9863723a0ba4-374", 1 << 23).is_well_formed());
        assert!(!etag("aa5dee664dc87b3e416c9863723a0ba4-0", 1 << 23).is_well_formed());
        assert!(!etag("aa5dee664dc87b3e416c9863723a0ba4-374", 0).is_well_formed());
    }
}
