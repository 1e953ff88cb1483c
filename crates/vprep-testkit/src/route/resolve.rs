//! `resolve`: files of repositories, on the hub and on the CDN.

use super::access::{at_revision, check_gate};
use super::{Answer, FileAnswer, Routed, current, error, files, key_of, not_found, split_id};
use crate::digest::sha1_text;
use crate::http::{Head, Request, decode, encode_path};
use crate::hub::{State, lock};
use crate::repo::{Delivery, Kind, RepoFile};

/// `[OWNER, NAME, "resolve", REV, PATH…]`.
pub(super) fn file(state: &State, request: &Request, kind: Kind, path: &[&str]) -> Routed {
    let Some((id, ["resolve", revision, path @ ..])) = split_id(path, |word| word == "resolve")
    else {
        return (None, not_found("no such page"));
    };
    if let Some(moved) = lock(&state.store).moved.get(&(kind, id.clone())) {
        let target = request.target.replacen(&id, moved, 1);
        let head = Head::new(307).with("Location", target);
        return (None, Answer::Text(head, String::new()));
    }
    deliver(state, request, kind, &id, &decode(revision), &decode(&path.join("/")), true)
}

/// `[OWNER, NAME, COMMIT, PATH…]`: where relative redirects lead.
pub(super) fn cached(state: &State, request: &Request, kind: Kind, path: &[&str]) -> Routed {
    match split_id(path, is_commit) {
        Some((id, [commit, path @ ..])) => {
            deliver(state, request, kind, &id, commit, &decode(&path.join("/")), false)
        }
        _ => (None, not_found("no such page")),
    }
}

fn deliver(
    state: &State,
    request: &Request,
    kind: Kind,
    id: &str,
    revision: &str,
    path: &str,
    may_redirect: bool,
) -> Routed {
    let key = key_of(kind, id, path);
    let found = at_revision(state, request, kind, id, revision)
        .and_then(|found| check_gate(state, request, &found.0).map(|()| found));
    let (repo, sha) = match found {
        Ok(found) => found,
        Err(refusal) => return (Some(key), refusal),
    };
    let Some(file) = repo.files.get(path) else {
        let head = Head::new(404).with("X-Repo-Commit", sha);
        return (Some(key), error(head, Some("EntryNotFound"), "Entry not found"));
    };
    let file = current(state, kind, id, path, file);
    let delivery = match (may_redirect, file.lfs) {
        (false, _) => Delivery::Direct,
        (true, true) => repo.lfs_delivery,
        (true, false) => repo.git_delivery,
    };
    let place = format!("{}/{id}/{sha}/{}", kind.plural(), encode_path(path));
    let (status, location) = match delivery {
        Delivery::Direct => (200, None),
        Delivery::Relative => (307, Some(format!("/api/resolve-cache/{place}"))),
        Delivery::Cdn302 => (302, Some(cdn_address(state, &place))),
        Delivery::Cdn307 => (307, Some(cdn_address(state, &place))),
    };
    let mut head =
        Head::new(status).with("X-Repo-Commit", sha).with_some("Location", location.clone());
    if file.lfs {
        head = head
            .with("X-Linked-Size", file.content.len().to_string())
            .with("X-Linked-Etag", format!("\"{}\"", file.content.sha256()));
    } else if delivery == Delivery::Relative {
        head = head.with("X-Linked-Size", file.content.len().to_string());
    }
    let etag = etag(&file);
    if location.is_some() {
        let body = format!("{}. Redirecting\n", if status == 302 { "Found" } else { "Temporary" });
        return (Some(key), Answer::Text(head.with("ETag", etag), body));
    }
    let head = head.with("Content-Type", "application/octet-stream");
    let etag = Some(etag);
    (Some(key), Answer::File(FileAnswer { head, content: file.content, etag, modified: None }))
}

/// A signed address, as far as a client can tell.
fn cdn_address(state: &State, place: &str) -> String {
    format!("http://{}/lfs/{place}?Expires=4102444800&Signature=not-a-secret", state.cdn)
}

/// `[OWNER, NAME, COMMIT, PATH…]` on the CDN, which knows neither commits nor tokens. Its ETag is
/// of its own making: whoever wants the sha256 must take it from the redirect.
pub(super) fn from_cdn(state: &State, kind: Kind, path: &[&str]) -> Routed {
    let Some((id, [commit, path @ ..])) = split_id(path, is_commit) else {
        return (None, files::no_such_key());
    };
    let path = decode(&path.join("/"));
    let key = key_of(kind, &id, &path);
    let repo = {
        let store = lock(&state.store);
        let commits = store.repos.get(&(kind, id.clone()));
        commits.and_then(|commits| commits.commits.get(*commit)).cloned()
    };
    let Some(file) = repo.as_ref().and_then(|repo| repo.files.get(&path)) else {
        return (Some(key), files::no_such_key());
    };
    let file = current(state, kind, &id, &path, file);
    let etag = Some(format!("\"{}\"", &sha1_text(file.content.sha256())[..32]));
    let head = Head::new(200).with("Content-Type", "binary/octet-stream");
    (Some(key), Answer::File(FileAnswer { head, content: file.content, etag, modified: None }))
}

fn etag(file: &RepoFile) -> String {
    let name = if file.lfs { file.content.sha256() } else { file.content.git_blob() };
    format!("\"{name}\"")
}

fn is_commit(word: &str) -> bool {
    word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
