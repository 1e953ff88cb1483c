//! Ranges of files that xet serves, through the hub crate's own client.

use crate::{HubRepo, RepoKind, redact};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use hf_hub::{HFClient, HFRepository, HFResult, RepoTypeAny};
use reqwest::Url;
use std::fmt;
use std::ops::Range;

/// Bytes on their way.
pub(crate) type ByteStream = BoxStream<'static, HFResult<bytes::Bytes>>;

/// A file of a commit that xet serves.
pub(crate) struct XetFile {
    repo: HFRepository<RepoTypeAny>,
    commit: String,
    path: String,
    url: Url,
}

impl XetFile {
    pub(super) fn new(
        client: &HFClient,
        repo: &HubRepo,
        commit: &str,
        path: &str,
        url: Url,
    ) -> Self {
        let kind = match repo.kind {
            RepoKind::Model => RepoTypeAny::Model,
            RepoKind::Dataset => RepoTypeAny::Dataset,
        };
        let repo = client.repository(kind, &repo.owner, &repo.name);
        Self { repo, commit: commit.to_owned(), path: path.to_owned(), url }
    }

    pub(crate) fn shown(&self) -> String {
        redact::shown(&self.url)
    }

    /// Streams a span of the file.
    pub(crate) async fn open(&self, span: Range<u64>) -> HFResult<ByteStream> {
        let stream = self
            .repo
            .download_file_stream()
            .filename(&self.path)
            .revision(&self.commit)
            .range(span)
            .send()
            .await?;
        Ok(stream.1.boxed())
    }
}

impl fmt::Debug for XetFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "XetFile({})", self.shown())
    }
}
