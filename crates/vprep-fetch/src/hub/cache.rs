//! The cache, in the layout that all clients of the hub share: contents under `blobs/<etag>`,
//! links to them under `snapshots/<commit>/<path>`, commits under `refs/<revision>`. The directory
//! `.vprep/` beside them, which no other client reads, keeps listings.

use super::{Entry, HubSettings};
use crate::{FetchError, HubRepo, install, paths};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|c| c.is_ascii_hexdigit())
}

fn repo_dir(settings: &HubSettings, repo: &HubRepo) -> PathBuf {
    settings.cache.join(format!("{}--{}--{}", repo.kind.plural(), repo.owner, repo.name))
}

pub(crate) fn blobs(settings: &HubSettings, repo: &HubRepo) -> PathBuf {
    repo_dir(settings, repo).join("blobs")
}

pub(super) fn listing(settings: &HubSettings, repo: &HubRepo, commit: &str) -> PathBuf {
    repo_dir(settings, repo).join(".vprep").join(format!("{commit}.json"))
}

fn snapshot(settings: &HubSettings, repo: &HubRepo, commit: &str) -> PathBuf {
    repo_dir(settings, repo).join("snapshots").join(commit)
}

/// The commit that a revision had when it was last asked for.
pub(crate) fn read_ref(settings: &HubSettings, repo: &HubRepo, revision: &str) -> Option<String> {
    let path = repo_dir(settings, repo).join("refs").join(paths::below(revision)?);
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| is_commit(text))
}

pub(crate) fn write_ref(
    settings: &HubSettings,
    repo: &HubRepo,
    revision: &str,
    commit: &str,
) -> Result<(), FetchError> {
    if is_commit(revision) || read_ref(settings, repo, revision).as_deref() == Some(commit) {
        return Ok(());
    }
    install::write(&repo_dir(settings, repo).join("refs").join(revision), commit.as_bytes())
}

pub(crate) fn write_listing(
    settings: &HubSettings,
    repo: &HubRepo,
    commit: &str,
    entries: &[Entry],
) -> Result<(), FetchError> {
    let text = serde_json::to_vec(entries).expect("a listing is JSON");
    install::write(&listing(settings, repo, commit), &text)
}

/// Forgets a listing that the files contradict, so that the next fetch asks for it again.
pub(crate) fn forget_listing(settings: &HubSettings, repo: &HubRepo, commit: &str) {
    // One that is not there is forgotten already.
    let _ = fs::remove_file(listing(settings, repo, commit));
}

/// Makes `snapshots/<commit>/<path>` a link to the blob.
pub(crate) fn link(
    settings: &HubSettings,
    repo: &HubRepo,
    commit: &str,
    entry: &Entry,
) -> Result<(), FetchError> {
    let path = snapshot(settings, repo, commit).join(&entry.path);
    let up = "../".repeat(entry.path.split('/').count() + 1);
    let target = PathBuf::from(format!("{up}blobs/{}", entry.etag));
    if fs::read_link(&path).is_ok_and(|there| there == target) {
        return Ok(());
    }
    let parent = path.parent().expect("a file lies in its snapshot");
    fs::create_dir_all(parent).map_err(FetchError::io("create", parent))?;
    let aside = tempfile::Builder::new()
        .prefix(".vprep-")
        .make_in(parent, |aside| std::os::unix::fs::symlink(&target, aside))
        .map_err(FetchError::io("create", &path))?;
    aside.persist(&path).map(drop).map_err(|error| FetchError::io("create", &path)(error.error))
}

/// The files of a commit that are here, as other clients left them: for work without a network
/// where no listing was kept. They are named by the blobs that they link to.
pub(crate) fn present(settings: &HubSettings, repo: &HubRepo, commit: &str) -> Vec<Entry> {
    fn walk(root: &Path, dir: &Path, entries: &mut Vec<Entry>) {
        for item in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = item.path();
            if item.file_type().is_ok_and(|kind| kind.is_dir()) {
                walk(root, &path, entries);
                continue;
            }
            let name = path.strip_prefix(root).ok().and_then(Path::to_str);
            let etag = fs::read_link(&path).ok();
            let etag = etag.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
            if let (Some(name), Some(etag), Ok(meta)) = (name, etag, fs::metadata(&path)) {
                let entry = Entry {
                    path: name.to_owned(),
                    bytes: meta.len(),
                    etag: etag.to_owned(),
                    xet: false,
                };
                if entry.expected().is_well_formed() {
                    entries.push(entry);
                }
            }
        }
    }
    let root = snapshot(settings, repo, commit);
    let mut entries = Vec::new();
    walk(&root, &root, &mut entries);
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    entries
}
