//! Plain files, as an object store serves them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::content::Content;

/// Where the ETag of a plain file comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EtagRule {
    /// The md5 of the bytes.
    Md5,
    /// The multipart rule of S3 with parts of this many bytes.
    S3(u64),
    /// This text, without quotes: a server that computes it otherwise, or wrongly.
    Given(String),
    /// No ETag at all.
    None,
}

/// A file under `/files/`.
#[derive(Clone, Debug)]
pub struct PlainFile {
    pub(crate) content: Content,
    pub(crate) etag: EtagRule,
    pub(crate) modified: Option<SystemTime>,
    pub(crate) kind: String,
}

impl PlainFile {
    /// A file with an md5 ETag, last modified on 1 November 2026.
    pub fn new(content: impl Into<Content>) -> Self {
        Self {
            content: content.into(),
            etag: EtagRule::Md5,
            modified: Some(UNIX_EPOCH + Duration::from_secs(1_793_491_200)),
            kind: "binary/octet-stream".to_owned(),
        }
    }

    /// A multipart ETag with parts of `part` bytes.
    #[must_use]
    pub fn s3(self, part: u64) -> Self {
        self.etag(EtagRule::S3(part))
    }

    /// Another rule for the ETag.
    #[must_use]
    pub fn etag(mut self, etag: EtagRule) -> Self {
        self.etag = etag;
        self
    }

    /// Another date, in whole seconds, or none.
    #[must_use]
    pub fn modified(mut self, modified: Option<SystemTime>) -> Self {
        self.modified = modified;
        self
    }

    /// Another `Content-Type`.
    #[must_use]
    pub fn content_type(mut self, kind: impl Into<String>) -> Self {
        self.kind = kind.into();
        self
    }

    /// The ETag that is sent, in quotes.
    pub fn sent_etag(&self) -> Option<String> {
        match &self.etag {
            EtagRule::Md5 => Some(format!("\"{}\"", self.content.md5())),
            EtagRule::S3(part) => Some(format!("\"{}\"", self.content.s3_etag(*part))),
            EtagRule::Given(text) => Some(format!("\"{text}\"")),
            EtagRule::None => None,
        }
    }

    /// The next version: other bytes, a day younger.
    pub(crate) fn altered(&self) -> Self {
        let etag = match &self.etag {
            EtagRule::Given(text) => EtagRule::Given(format!("{text}-new")),
            other => other.clone(),
        };
        let modified = self.modified.map(|date| date + Duration::from_secs(86_400));
        Self { content: self.content.altered(), etag, modified, kind: self.kind.clone() }
    }
}
