//! The Hugging Face hub, and the cache that all its clients share.
//!
//! The crate `hf-hub` streams what xet serves. Three things are done here: revisions, since the
//! crate does not understand a `Retry-After` that is a date; listings, since it drops the sha256 of
//! large files from them (it expects it under another name than the hub's); and ranges of ordinary
//! files, since its streams ask once more for the head of the file before each range and cannot
//! tell an ignored `Range` or a changed file.

pub(crate) mod cache;
pub(crate) mod listing;
mod revision;
mod settings;
mod xet;

use crate::http::{self, Http, Next, Trouble};
use crate::retry::{self, Waits};
use crate::{FetchError, HubRepo, Limits, RepoKind, error::Cause};
use hf_hub::{HFClient, HFError};
pub(crate) use listing::Entry;
use reqwest::Url;
pub use settings::HubSettings;
pub(crate) use xet::{ByteStream, XetFile};

/// A connection to the hub.
pub(crate) struct Hub<'a> {
    settings: &'a HubSettings,
    limits: &'a Limits,
    client: HFClient,
}

impl<'a> Hub<'a> {
    pub(crate) fn new(settings: &'a HubSettings, limits: &'a Limits) -> Result<Self, FetchError> {
        let client = http::builder(limits)
            .read_timeout(limits.stall)
            .build()
            .map_err(|error| http::unusable(&error))?;
        let mut builder = HFClient::builder()
            .client(client)
            .endpoint(settings.endpoint.as_str())
            .cache_dir(&settings.cache)
            .retry_max_attempts(0);
        if let Some(token) = &settings.token {
            builder = builder.token(token.reveal());
        }
        let client = builder.build().map_err(|_| FetchError::Setting {
            what: "HF_ENDPOINT".to_owned(),
            problem: "not an address of a hub".to_owned(),
        })?;
        Ok(Self { settings, limits, client })
    }

    /// The commit of a revision.
    pub(crate) async fn commit(
        &self,
        http: &Http,
        repo: &HubRepo,
        revision: &str,
    ) -> Result<String, FetchError> {
        let endpoint = self.settings.endpoint.as_str().trim_end_matches('/');
        let shown = format!("{endpoint}/{}{}", prefix(repo.kind), repo.id());
        self.patiently(async || revision::fetch(http, self.settings, repo, revision, &shown).await)
            .await
    }

    /// The files of a commit.
    pub(crate) async fn listing(
        &self,
        http: &Http,
        repo: &HubRepo,
        commit: &str,
    ) -> Result<Vec<Entry>, FetchError> {
        self.patiently(async || listing::fetch(http, self.settings, repo, commit).await).await
    }

    /// The address of a file.
    pub(crate) fn file_url(&self, repo: &HubRepo, commit: &str, path: &str) -> Url {
        let mut url = self.settings.endpoint.clone();
        let mut segments = url.path_segments_mut().expect("an endpoint has a path");
        segments.pop_if_empty();
        segments.extend(prefix(repo.kind).split('/').filter(|part| !part.is_empty()));
        segments.extend([&repo.owner, &repo.name, "resolve", commit]);
        segments.extend(path.split('/'));
        drop(segments);
        url
    }

    /// A file that xet serves.
    pub(crate) fn xet_file(&self, repo: &HubRepo, commit: &str, path: &str) -> XetFile {
        XetFile::new(&self.client, repo, commit, path, self.file_url(repo, commit, path))
    }

    /// Tries a small request until it succeeds, or there is no point.
    async fn patiently<T>(
        &self,
        mut request: impl AsyncFnMut() -> Result<T, Trouble>,
    ) -> Result<T, FetchError> {
        let mut waits = Waits::new(self.limits.first_wait, self.limits.longest_wait);
        let mut tries = 0;
        loop {
            let trouble = match request().await {
                Ok(value) => return Ok(value),
                Err(trouble) => trouble,
            };
            tries += 1;
            match trouble.next {
                Next::Retry(asked) if tries < self.limits.tries => {
                    tokio::time::sleep(waits.next(asked)).await;
                }
                _ => return Err(trouble.error),
            }
        }
    }
}

fn prefix(kind: RepoKind) -> &'static str {
    match kind {
        RepoKind::Model => "",
        RepoKind::Dataset => "datasets/",
    }
}

/// What an error of the hub crate means. Its own text may carry signed addresses.
pub(crate) fn trouble(shown: &str, error: &HFError) -> Trouble {
    let url = || shown.to_owned();
    let answer = |status: u16, cause| FetchError::Answer { url: url(), status, cause };
    match error {
        HFError::Http { context }
        | HFError::AuthRequired { context }
        | HFError::Forbidden { context }
        | HFError::Conflict { context } => {
            let cause = http::cause(context.status, context.error_code.as_deref());
            let error = answer(context.status.as_u16(), cause);
            match cause {
                Cause::Server | Cause::RateLimited => Trouble::retry(error),
                _ => error.into(),
            }
        }
        HFError::RateLimited { retry_after, context } => {
            let error = answer(context.status.as_u16(), Cause::RateLimited);
            match retry_after {
                Some(asked) if *asked > retry::PATIENCE => error.into(),
                asked => Trouble { error, next: Next::Retry(*asked) },
            }
        }
        HFError::RepoNotFound { .. }
        | HFError::RevisionNotFound { .. }
        | HFError::EntryNotFound { .. } => answer(404, Cause::NotFound).into(),
        HFError::Request { source, .. } => {
            Trouble::retry(FetchError::Network { url: url(), problem: http::reason(source) })
        }
        HFError::Json(_) | HFError::MalformedResponse { .. } => {
            Trouble::retry(FetchError::Network {
                url: url(),
                problem: "the answer is not what a hub answers".to_owned(),
            })
        }
        HFError::Xet { operation, .. } => Trouble::retry(FetchError::Network {
            url: url(),
            problem: format!("xet {operation} failed"),
        }),
        _ => Trouble::retry(FetchError::Network {
            url: url(),
            problem: "the hub crate failed".to_owned(),
        }),
    }
}
