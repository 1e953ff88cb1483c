//! Listings of files.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::api::DATE;
use super::{Answer, current, error, json as answer, json_with};
use crate::digest::sha1_text;
use crate::http::{Head, Request, encode_path, parameters};
use crate::hub::State;
use crate::repo::{Repo, RepoFile};

/// One file of a listing.
pub(super) fn describe(path: &str, file: &RepoFile) -> Value {
    let size = file.content.len();
    if !file.lfs {
        return json!({"type": "file", "oid": file.content.git_blob(), "size": size, "path": path});
    }
    let sha256 = file.content.sha256();
    // What git itself keeps of such a file.
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n");
    json!({
        "type": "file",
        "oid": crate::Content::from(pointer.as_str()).git_blob(),
        "size": size,
        "lfs": {"oid": sha256, "size": size, "pointerSize": pointer.len()},
        "path": path,
    })
}

fn folder(path: &str) -> Value {
    json!({"type": "directory", "oid": sha1_text(path), "size": 0, "path": path})
}

fn expand(mut entry: Value) -> Value {
    entry["lastCommit"] = json!({"id": sha1_text("commit"), "title": "Add files", "date": DATE});
    entry
}

/// `tree/REV[/FOLDER]`: files and folders in order of their names, in pages.
pub(super) fn tree(state: &State, request: &Request, repo: &Repo, within: &str) -> Answer {
    let within = within.trim_matches('/');
    let prefix = if within.is_empty() { String::new() } else { format!("{within}/") };
    let recursive = request.flag("recursive");
    // Only files that are on the page are described: the hash of a large file takes time.
    let mut entries: BTreeMap<&str, Option<&RepoFile>> = BTreeMap::new();
    for (path, file) in repo.files.iter().filter(|(path, _)| path.starts_with(&prefix)) {
        let folders =
            path[prefix.len()..].match_indices('/').map(|(at, _)| &path[..prefix.len() + at]);
        if recursive {
            entries.extend(folders.map(|folder| (folder, None)));
            entries.insert(path, Some(file));
        } else {
            match folders.into_iter().next() {
                Some(folder) => entries.insert(folder, None),
                None => entries.insert(path, Some(file)),
            };
        }
    }
    if entries.is_empty() && !within.is_empty() {
        return error(
            Head::new(404),
            Some("EntryNotFound"),
            &format!("{within} does not exist on this revision"),
        );
    }

    let page = state.page.load(Ordering::SeqCst);
    let start = request.query("cursor").and_then(|text| text.parse().ok()).unwrap_or(0);
    let listed: Vec<Value> = entries
        .iter()
        .skip(start)
        .take(page)
        .map(|(path, file)| match file {
            Some(file) => describe(path, &current(state, repo.kind, &repo.id, path, file)),
            None => folder(path),
        })
        .map(|entry| if request.flag("expand") { expand(entry) } else { entry })
        .collect();
    let next = (start + page < entries.len()).then(|| {
        let query = request.target.split_once('?').map_or("", |(_, query)| query);
        let query: String = parameters(query)
            .into_iter()
            .filter(|(name, _)| name != "cursor" && !name.is_empty())
            .map(|(name, value)| format!("{name}={}&", encode_path(&value)))
            .collect();
        let host = request.header("host").unwrap_or("127.0.0.1");
        format!("<http://{host}{}?{query}cursor={}>; rel=\"next\"", request.path(), start + page)
    });
    json_with(Head::new(200).with_some("Link", next), &Value::Array(listed))
}

/// `paths-info/REV`: the entries for given paths; those that do not exist are left out. Python
/// sends a form, Rust JSON.
pub(super) fn paths_info(state: &State, request: &Request, repo: &Repo) -> Answer {
    let text = String::from_utf8_lossy(&request.body);
    let paths: Vec<String> = match serde_json::from_str::<Value>(&text) {
        Ok(value) => value["paths"]
            .as_array()
            .map(|paths| paths.iter().filter_map(|path| path.as_str().map(str::to_owned)).collect())
            .unwrap_or_default(),
        Err(_) => parameters(&text)
            .into_iter()
            .filter(|(name, _)| name == "paths")
            .map(|(_, value)| value)
            .collect(),
    };
    let entries: Vec<Value> = paths
        .iter()
        .filter_map(|path| {
            if let Some(file) = repo.files.get(path) {
                return Some(describe(path, &current(state, repo.kind, &repo.id, path, file)));
            }
            let prefix = format!("{path}/");
            repo.files.keys().any(|other| other.starts_with(&prefix)).then(|| folder(path))
        })
        .collect();
    answer(&Value::Array(entries))
}
