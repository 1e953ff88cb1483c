//! `/api/…`: information on repositories and users.

use serde_json::{Value, json};

use super::access::{at_revision, check_gate, check_token};
use super::listing::{describe, paths_info, tree};
use super::{Answer, current, error, json as answer, not_found, split_id};
use crate::http::{Head, Request, decode};
use crate::hub::{State, lock};
use crate::repo::{Kind, Repo};

/// The words that may follow an id.
const MARKS: [&str; 4] = ["revision", "tree", "paths-info", "refs"];
/// When everything here was made.
pub(super) const DATE: &str = "2026-11-01T00:00:00.000Z";

/// `/api/whoami-v2`.
pub(super) fn who_am_i(state: &State, request: &Request) -> Answer {
    if let Err(refusal) = check_token(&lock(&state.store), request) {
        return refusal;
    }
    if request.token().is_none() {
        return error(Head::new(401), None, "Invalid username or password.");
    }
    answer(&json!({
        "type": "user",
        "id": "000000000000000000000001",
        "name": "tester",
        "fullname": "A Tester",
        "isPro": false,
        "orgs": [],
        "auth": {"type": "access_token", "accessToken": {"displayName": "test", "role": "read"}},
    }))
}

/// `/api/{models,datasets}/…`.
pub(super) fn repo(state: &State, request: &Request, kind: Kind, path: &[&str]) -> Answer {
    let (id, rest) = split_id(path, |word| MARKS.contains(&word))
        .unwrap_or_else(|| (decode(&path.join("/")), &[]));
    if let Some(moved) = lock(&state.store).moved.get(&(kind, id.clone())) {
        let target = request.target.replacen(&id, moved, 1);
        return Answer::Text(Head::new(307).with("Location", target), String::new());
    }
    let (word, revision, rest) = match rest {
        [] => ("revision", "main".to_owned(), &[][..]),
        ["refs"] => ("refs", "main".to_owned(), &[][..]),
        [word, revision, rest @ ..] => (*word, decode(revision), rest),
        [_] => return not_found("no revision given"),
    };
    let (repo, sha) = match at_revision(state, request, kind, &id, &revision) {
        Ok(found) => found,
        Err(refusal) => return refusal,
    };
    match word {
        "revision" => answer(&information(state, request, &repo, &sha)),
        "refs" => answer(&references(state, kind, &id)),
        "tree" => tree(state, request, &repo, &decode(&rest.join("/"))),
        // Listings are open, as on the hub; the details of given paths are files' details.
        _ => match check_gate(state, request, &repo) {
            Ok(()) => paths_info(state, request, &repo),
            Err(refusal) => refusal,
        },
    }
}

fn information(state: &State, request: &Request, repo: &Repo, sha: &str) -> Value {
    let blobs = request.flag("blobs");
    let siblings: Vec<Value> = repo
        .files
        .iter()
        .map(|(path, file)| {
            if !blobs {
                return json!({ "rfilename": path });
            }
            let mut entry = describe(path, &current(state, repo.kind, &repo.id, path, file));
            let lfs = entry["lfs"].take();
            let mut sibling = json!({
                "rfilename": path, "size": entry["size"], "blobId": entry["oid"],
            });
            if !lfs.is_null() {
                sibling["lfs"] = json!({
                    "sha256": lfs["oid"], "size": lfs["size"], "pointerSize": lfs["pointerSize"],
                });
            }
            sibling
        })
        .collect();
    let mut value = json!({
        "_id": "000000000000000000000002",
        "id": repo.id,
        "author": repo.id.split_once('/').map(|(owner, _)| owner),
        "sha": sha,
        "lastModified": DATE,
        "createdAt": DATE,
        "private": repo.private,
        "gated": if repo.gated { json!("manual") } else { json!(false) },
        "disabled": false,
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "siblings": siblings,
        "usedStorage": repo.files.values().map(|file| file.content.len()).sum::<u64>(),
    });
    if repo.kind == Kind::Model {
        value["modelId"] = json!(repo.id);
    }
    value
}

fn references(state: &State, kind: Kind, id: &str) -> Value {
    let store = lock(&state.store);
    let refs = &store.repos[&(kind, id.to_owned())].refs;
    let of = |converts: bool| -> Vec<Value> {
        refs.iter()
            .filter(|(name, _)| name.starts_with("refs/") == converts)
            .map(|(name, sha)| {
                let (short, full) = match name.strip_prefix("refs/convert/") {
                    Some(short) => (short, name.clone()),
                    None => (name.as_str(), format!("refs/heads/{name}")),
                };
                json!({ "name": short, "ref": full, "targetCommit": sha })
            })
            .collect()
    };
    json!({ "branches": of(false), "converts": of(true), "tags": [] })
}
