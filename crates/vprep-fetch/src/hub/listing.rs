//! The files of a commit, with their lengths and digests.

use super::{HubSettings, cache};
use crate::http::{Get, Http, Trouble};
use crate::{Expected, FetchError, HubRepo, paths, redact};
use reqwest::Url;
use reqwest::header::{HeaderMap, LINK};
use serde::{Deserialize, Serialize};

/// A file of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// Its name in the cache: sha256 of a large file, git's object id of a small one.
    pub(crate) etag: String,
    /// Whether xet serves it.
    pub(crate) xet: bool,
}

impl Entry {
    /// The digest that its name is.
    pub(crate) fn expected(&self) -> Expected {
        if self.etag.len() == 64 {
            Expected::Sha256(self.etag.clone())
        } else {
            Expected::GitBlob(self.etag.clone())
        }
    }
}

/// An entry as the hub writes it.
#[derive(Deserialize)]
struct Raw {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    #[serde(default)]
    size: u64,
    oid: String,
    lfs: Option<RawLfs>,
    #[serde(rename = "xetHash")]
    xet: Option<String>,
}

#[derive(Deserialize)]
struct RawLfs {
    oid: String,
    size: u64,
}

pub(super) async fn fetch(
    http: &Http,
    settings: &HubSettings,
    repo: &HubRepo,
    commit: &str,
) -> Result<Vec<Entry>, Trouble> {
    let mut url = settings.endpoint.clone();
    url.path_segments_mut().expect("an endpoint has a path").pop_if_empty().extend([
        "api",
        repo.kind.plural(),
        &repo.owner,
        &repo.name,
        "tree",
        commit,
    ]);
    url.set_query(Some("recursive=true&expand=false"));
    let mut entries = Vec::new();
    let mut next = Some(url);
    while let Some(url) = next {
        let token = settings.token.as_ref().filter(|_| url.origin() == settings.endpoint.origin());
        let response = http.get(&Get { url: &url, token, headers: Vec::new() }, &[]).await?;
        next = next_page(&url, response.headers());
        let body = http.body(&url, response).await?;
        let bad = |problem: String| FetchError::Network { url: redact::shown(&url), problem };
        let page: Vec<Raw> = serde_json::from_slice(&body)
            .map_err(|_| Trouble::retry(bad("the answer is not a listing of a hub".to_owned())))?;
        for raw in page.into_iter().filter(|raw| raw.kind == "file") {
            let (bytes, etag) = match raw.lfs {
                Some(lfs) => (lfs.size, lfs.oid),
                None => (raw.size, raw.oid),
            };
            let entry = Entry { bytes, etag, xet: raw.xet.is_some(), path: raw.path };
            if paths::below(&entry.path).is_none() || !entry.expected().is_well_formed() {
                let problem = format!("the hub lists `{}`, which cannot be stored", entry.path);
                return Err(bad(problem).into());
            }
            entries.push(entry);
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

/// The address of `Link: <…>; rel="next"`.
fn next_page(url: &Url, headers: &HeaderMap) -> Option<Url> {
    let links = headers.get(LINK)?.to_str().ok()?;
    let next = links.split(',').find(|link| link.contains("rel=\"next\""))?;
    let address = next.split_once('<')?.1.split_once('>')?.0;
    url.join(address).ok()
}

/// The listing of a commit never changes, so it is kept in the cache.
pub(crate) fn cached(settings: &HubSettings, repo: &HubRepo, commit: &str) -> Option<Vec<Entry>> {
    let text = std::fs::read(cache::listing(settings, repo, commit)).ok()?;
    let entries: Vec<Entry> = serde_json::from_slice(&text).ok()?;
    let sound =
        |entry: &Entry| paths::below(&entry.path).is_some() && entry.expected().is_well_formed();
    entries.iter().all(sound).then_some(entries)
}
