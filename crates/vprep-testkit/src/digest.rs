//! The digests that hubs and object stores publish.

use std::fmt::Write;

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::content::Content;

/// Read size: large enough that the digest is the bottleneck.
const BLOCK: u64 = 1 << 20;

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

/// Feeds `start..end` of a content to a digest.
fn feed<D: Digest>(digest: &mut D, content: &Content, start: u64, end: u64) {
    let mut block = vec![0; BLOCK.min(end - start) as usize];
    let mut at = start;
    while at < end {
        let take = BLOCK.min(end - at) as usize;
        content.read_at(at, &mut block[..take]).expect("a served file stays readable");
        digest.update(&block[..take]);
        at += take as u64;
    }
}

/// The sha256 of a content: what LFS calls its oid.
pub(crate) fn sha256(content: &Content) -> String {
    let mut digest = Sha256::new();
    feed(&mut digest, content, 0, content.len());
    hex(&digest.finalize())
}

/// The object name git gives a file: the ETag of small files on the hub.
pub(crate) fn git_blob(content: &Content) -> String {
    let mut digest = Sha1::new();
    digest.update(format!("blob {}\0", content.len()));
    feed(&mut digest, content, 0, content.len());
    hex(&digest.finalize())
}

/// The sha1 of a text, for commit names.
pub(crate) fn sha1_text(text: &str) -> String {
    hex(&Sha1::digest(text))
}

/// The md5 of a content.
pub(crate) fn md5(content: &Content) -> String {
    let mut digest = Md5::new();
    feed(&mut digest, content, 0, content.len());
    hex(&digest.finalize())
}

/// The ETag of an S3 multipart upload: the md5 of the parts' md5s, a dash, the number of parts.
pub(crate) fn s3(content: &Content, part: u64) -> String {
    let parts = content.len().div_ceil(part).max(1);
    let mut whole = Md5::new();
    for index in 0..parts {
        let start = index * part;
        let mut digest = Md5::new();
        feed(&mut digest, content, start, (start + part).min(content.len()));
        whole.update(digest.finalize());
    }
    format!("{}-{parts}", hex(&whole.finalize()))
}
