//! From a request to an answer.

mod access;
mod api;
mod control;
mod files;
mod listing;
mod resolve;

use std::time::SystemTime;

use serde_json::Value;

use crate::content::Content;
use crate::http::{Head, Request, decode};
use crate::hub::State;
use crate::repo::{Kind, RepoFile};

pub(crate) use control::control;

/// An answer before faults and ranges.
pub(crate) enum Answer {
    /// A short text.
    Text(Head, String),
    /// A file, whole or in part.
    File(FileAnswer),
}

/// A file, and what its headers say.
pub(crate) struct FileAnswer {
    pub(crate) head: Head,
    pub(crate) content: Content,
    /// In quotes.
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<SystemTime>,
}

/// The name of the file in rules, if the request is for one, and the answer.
pub(crate) type Routed = (Option<String>, Answer);

/// Answers on the hub's address.
pub(crate) fn hub(state: &State, request: &Request) -> Routed {
    let path: Vec<&str> = request.path().split('/').skip(1).collect();
    match path.as_slice() {
        ["files", rest @ ..] => files::plain(state, &decode(&rest.join("/"))),
        ["api", "whoami-v2"] => (None, api::who_am_i(state, request)),
        // Python's huggingface_hub asks once a day which coding agents there are.
        ["api", "agent-harnesses"] => {
            (None, json(&serde_json::json!({ "standardEnvVars": [], "harnesses": {} })))
        }
        ["api", "resolve-cache", kind, rest @ ..] => match kind_of(kind) {
            Some(kind) => resolve::cached(state, request, kind, rest),
            None => (None, not_found("no such repository type")),
        },
        ["api", kind, rest @ ..] => match kind_of(kind) {
            Some(kind) => (None, api::repo(state, request, kind, rest)),
            None => (None, not_found("no such interface")),
        },
        ["datasets", rest @ ..] => resolve::file(state, request, Kind::Dataset, rest),
        ["models", rest @ ..] => resolve::file(state, request, Kind::Model, rest),
        rest => resolve::file(state, request, Kind::Model, rest),
    }
}

/// Answers on the CDN's address: `/lfs/KIND/OWNER/NAME/COMMIT/PATH`.
pub(crate) fn cdn(state: &State, request: &Request) -> Routed {
    let path: Vec<&str> = request.path().split('/').skip(1).collect();
    match path.as_slice() {
        ["lfs", kind, rest @ ..] => match kind_of(kind) {
            Some(kind) => resolve::from_cdn(state, kind, rest),
            None => (None, files::no_such_key()),
        },
        _ => (None, files::no_such_key()),
    }
}

fn kind_of(plural: &str) -> Option<Kind> {
    [Kind::Dataset, Kind::Model].into_iter().find(|kind| kind.plural() == plural)
}

/// A file's name in rules.
fn key_of(kind: Kind, id: &str, path: &str) -> String {
    format!("{}/{id}/{path}", kind.plural())
}

/// The content of a file as it is now: `NewVersion` changes it.
fn current(state: &State, kind: Kind, id: &str, path: &str, file: &RepoFile) -> RepoFile {
    if state.rules.is_new_version(&key_of(kind, id, path)) {
        RepoFile { content: file.content.altered(), lfs: file.lfs }
    } else {
        file.clone()
    }
}

fn json(value: &Value) -> Answer {
    json_with(Head::new(200), value)
}

fn json_with(head: Head, value: &Value) -> Answer {
    Answer::Text(head.with("Content-Type", "application/json; charset=utf-8"), value.to_string())
}

/// An error as the hub words it. Without a code there is none.
fn error(head: Head, code: Option<&'static str>, message: &str) -> Answer {
    let head = head.with_some("X-Error-Code", code).with("X-Error-Message", message);
    json_with(head, &serde_json::json!({ "error": message }))
}

fn not_found(message: &str) -> Answer {
    error(Head::new(404), None, message)
}

/// Splits `[owner, name, rest…]` or `[name, rest…]` at the first word for which `is_mark` holds.
fn split_id<'a>(
    path: &'a [&'a str],
    is_mark: impl Fn(&str) -> bool,
) -> Option<(String, &'a [&'a str])> {
    let at = [2, 1].into_iter().find(|&at| path.get(at).is_some_and(|word| is_mark(word)))?;
    Some((decode(&path[..at].join("/")), &path[at..]))
}
