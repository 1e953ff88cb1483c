//! Who may see what, in the hub's words.

use std::sync::Arc;

use super::{Answer, error};
use crate::http::{Head, Request};
use crate::hub::{State, Store, lock};
use crate::repo::{Kind, Repo};

/// Refuses a token that the hub does not know, whatever is asked.
pub(super) fn check_token(store: &Store, request: &Request) -> Result<(), Answer> {
    match request.token() {
        Some(token) if !store.tokens.contains_key(token) => {
            Err(error(Head::new(401), None, "Invalid credentials in Authorization header"))
        }
        _ => Ok(()),
    }
}

/// The repository at a revision (branch, tag or commit), for someone who may know of it.
pub(super) fn at_revision(
    state: &State,
    request: &Request,
    kind: Kind,
    id: &str,
    revision: &str,
) -> Result<(Arc<Repo>, String), Answer> {
    let store = lock(&state.store);
    check_token(&store, request)?;
    let Some(commits) = store.repos.get(&(kind, id.to_owned())) else {
        return Err(no_such_repo(request));
    };
    let sha = commits.refs.get(revision).map_or(revision, String::as_str);
    let newest = commits.commits.values().next();
    if newest.is_some_and(|repo| repo.private) && !is_allowed(&store, request, id) {
        return Err(no_such_repo(request));
    }
    match commits.commits.get(sha) {
        Some(repo) => Ok((Arc::clone(repo), sha.to_owned())),
        None => Err(error(
            Head::new(404),
            Some("RevisionNotFound"),
            &format!("Invalid rev id: {revision}"),
        )),
    }
}

/// Whether the files of a repository may be read.
pub(super) fn check_gate(state: &State, request: &Request, repo: &Repo) -> Result<(), Answer> {
    if !repo.gated || is_allowed(&lock(&state.store), request, &repo.id) {
        return Ok(());
    }
    let noun = if repo.kind == Kind::Model { "model" } else { "dataset" };
    let id = &repo.id;
    Err(if request.token().is_none() {
        let message = format!(
            "Access to {noun} {id} is restricted. You must have access to it and be authenticated \
             to access it. Please log in."
        );
        error(Head::new(401), Some("GatedRepo"), &message)
    } else {
        let message = format!(
            "Access to {noun} {id} is restricted and you are not in the authorized list. Visit the \
             page of the {noun} to ask for access."
        );
        error(Head::new(403), Some("GatedRepo"), &message)
    })
}

fn is_allowed(store: &Store, request: &Request, id: &str) -> bool {
    let repos = request.token().and_then(|token| store.tokens.get(token));
    repos.is_some_and(|repos| repos.contains(id))
}

/// The hub does not tell strangers whether a repository is missing or private.
fn no_such_repo(request: &Request) -> Answer {
    if request.token().is_none() {
        error(Head::new(401), Some("RepoNotFound"), "Invalid username or password.")
    } else {
        error(Head::new(404), Some("RepoNotFound"), "Repository not found")
    }
}
