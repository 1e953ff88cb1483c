//! The commit that a revision stands for.

use super::{HubSettings, cache};
use crate::http::{Get, Http, Trouble};
use crate::{FetchError, HubRepo, redact};
use serde::Deserialize;

/// What is read of the hub's description of a repository.
#[derive(Deserialize)]
struct Info {
    sha: Option<String>,
}

/// Asks for the commit; `shown` is the page of the repository, for messages.
pub(super) async fn fetch(
    http: &Http,
    settings: &HubSettings,
    repo: &HubRepo,
    revision: &str,
    shown: &str,
) -> Result<String, Trouble> {
    let mut url = settings.endpoint.clone();
    url.path_segments_mut().expect("an endpoint has a path").pop_if_empty().extend([
        "api",
        repo.kind.plural(),
        &repo.owner,
        &repo.name,
        "revision",
        revision,
    ]);
    let get = Get { url: &url, token: settings.token.as_ref(), headers: Vec::new() };
    let response = http.get(&get, &[]).await.map_err(|mut trouble| {
        if let FetchError::Answer { url, .. } = &mut trouble.error {
            shown.clone_into(url);
        }
        trouble
    })?;
    let body = http.body(&url, response).await?;
    let info = serde_json::from_slice::<Info>(&body).ok();
    info.and_then(|info| info.sha).filter(|sha| cache::is_commit(sha)).ok_or_else(|| {
        let problem = "the hub names no commit".to_owned();
        Trouble::retry(FetchError::Network { url: redact::shown(&url), problem })
    })
}
