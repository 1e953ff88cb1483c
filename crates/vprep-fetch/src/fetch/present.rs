//! What is here already, and what it is.

use super::{Arrived, Run, installed, member_identity};
use crate::digest::{self, Content};
use crate::hub::cache;
use crate::plan::{Item, Kind, Members};
use crate::{Expected, FetchError, FetchedFile};
use std::fs;
use std::path::Path;
use vprep_core::Progress;

impl Run<'_> {
    /// The files of an item that need no transfer.
    pub(super) fn present(&mut self, item: &Item) -> Result<Option<Vec<FetchedFile>>, FetchError> {
        if let Kind::Archive(members) = &item.kind {
            return self.unpacked(item, members);
        }
        let record = self.record.get_mut();
        if let Some(file) = record.installed(&item.path, &item.identity, self.progress)? {
            return Ok(Some(vec![file]));
        }
        if let Kind::Cached(..) = item.kind {
            let Some(blob) = self.blob(item)? else { return Ok(None) };
            return self.install(blob).map(Some);
        }
        // A process that died after the renaming, or a file that somebody brought along.
        let target = self.options.into.join(&item.path);
        let Some(expected) = &item.expected else { return Ok(None) };
        let Some(content) = content_of(&target, item.bytes, expected, self.progress)? else {
            return Ok(None);
        };
        let installed = installed(item, content.bytes, content.sha256);
        self.record.get_mut().put(&item.path, installed.clone())?;
        Ok(Some(vec![installed.fetched(&item.path)]))
    }

    /// The members of an archive, if all that are wanted are in place.
    fn unpacked(
        &mut self,
        item: &Item,
        members: &Members,
    ) -> Result<Option<Vec<FetchedFile>>, FetchError> {
        let record = self.record.get_mut();
        let identity = |member: &str| member_identity(item, members, member);
        let names: Vec<String> = match members {
            Members::Named(names) => names.iter().map(|(name, _)| name.clone()).collect(),
            Members::Matching(_) => {
                let identity = identity("");
                record.with_identity(&identity).map(str::to_owned).collect()
            }
        };
        let mut files = Vec::new();
        for name in &names {
            match record.installed(name, &identity(name), self.progress)? {
                Some(file) => files.push(file),
                None => return Ok(None),
            }
        }
        Ok((!files.is_empty()).then_some(files))
    }

    /// The blob of the cache, if it is there and is what its name says. One that is not is removed:
    /// it would be wrong for every client.
    pub(super) fn blob<'i>(&self, item: &'i Item) -> Result<Option<Arrived<'i>>, FetchError> {
        let (Kind::Cached(repo, commit, entry), Some(expected)) = (&item.kind, &item.expected)
        else {
            return Ok(None);
        };
        let path = cache::blobs(&self.options.hub, repo).join(&entry.etag);
        if !path.is_file() {
            return Ok(None);
        }
        let Some(content) = content_of(&path, item.bytes, expected, self.progress)? else {
            fs::remove_file(&path).map_err(FetchError::io("remove", &path))?;
            return Ok(None);
        };
        cache::link(&self.options.hub, repo, commit, entry)?;
        Ok(Some(Arrived::Blob(item, installed(item, content.bytes, content.sha256))))
    }
}

/// The content of a file, if it is what is expected.
fn content_of(
    path: &Path,
    bytes: Option<u64>,
    expected: &Expected,
    progress: &dyn Progress,
) -> Result<Option<Content>, FetchError> {
    let Ok(meta) = fs::metadata(path) else { return Ok(None) };
    if !meta.is_file() || bytes.is_some_and(|bytes| bytes != meta.len()) {
        return Ok(None);
    }
    let content = digest::content(path, Some(expected), progress)?;
    Ok(content.is(expected).then_some(content))
}
