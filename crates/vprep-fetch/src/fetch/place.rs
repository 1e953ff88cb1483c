//! From a file that came to the files that were asked for.

use super::{Arrived, Run, member_identity};
use crate::hub::cache;
use crate::plan::{Item, Kind, Members, Patterns};
use crate::record::Installed;
use crate::transfer::Got;
use crate::{FetchError, FetchedFile, Verified, archive, install, space};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

impl Run<'_> {
    /// Moves a file that is here to its place.
    pub(super) fn install(&mut self, arrived: Arrived<'_>) -> Result<Vec<FetchedFile>, FetchError> {
        match arrived {
            Arrived::Installed(file) => Ok(vec![file]),
            Arrived::Blob(item, installed) => self.install_blob(item, &installed),
            Arrived::Archive(members, item, got) => self.unpack(members, item, got),
        }
    }

    fn install_blob(
        &mut self,
        item: &Item,
        installed: &Installed,
    ) -> Result<Vec<FetchedFile>, FetchError> {
        let Kind::Cached(repo, _, entry) = &item.kind else {
            unreachable!("only blobs are cached")
        };
        let blob = cache::blobs(&self.options.hub, repo).join(&entry.etag);
        let target = self.options.into.join(&item.path);
        let target = target.as_path();
        self.record.get_mut().put(&item.path, installed.clone())?;
        // A blob may itself be a link, as into the cache of a network file system.
        let real = blob.canonicalize().map_err(FetchError::io("read", &blob))?;
        if !install::link(&real, target)? {
            space::check(target.parent().unwrap_or(Path::new(".")), installed.bytes)?;
            let mut file = File::open(&real).map_err(FetchError::io("open", &real))?;
            let task = self.progress.task("copy from the cache", installed.bytes, "B");
            install::copy(&mut file, &real, target, self.progress, &*task)?;
        }
        Ok(vec![installed.fetched(&item.path)])
    }

    fn unpack(
        &mut self,
        members: &Members,
        item: &Item,
        got: Got,
    ) -> Result<Vec<FetchedFile>, FetchError> {
        let path = got.part.path().to_owned();
        let archive = got.part.file();
        let mut file = archive.try_clone().map_err(FetchError::io("read", &path))?;
        let names: BTreeSet<&str> = match members {
            Members::Named(names) => names.iter().map(|(name, _)| name.as_str()).collect(),
            Members::Matching(_) => BTreeSet::new(),
        };
        let patterns = match members {
            Members::Named(_) => None,
            Members::Matching(texts) => Some(Patterns::new(texts)?),
        };
        let wanted =
            |name: &str| patterns.as_ref().map_or_else(|| names.contains(name), |p| p.select(name));
        let task = self.progress.task("unpack", got.bytes, "B");
        let into = &self.options.into;
        let unpacked = archive::unpack(&mut file, &path, into, &wanted, self.progress, &*task);
        drop(task);
        let bad = |problem: String| FetchError::Archive { path: into.join(&item.path), problem };
        let unpacked = match unpacked {
            // What unpacks badly though its digest is right, or unknown, is of no use.
            Err(error @ FetchError::Archive { .. }) => {
                got.part.discard();
                return Err(error);
            }
            result => result?,
        };
        if let Members::Named(names) = members {
            for (name, md5) in names {
                let member = unpacked.get(name);
                let member = member.ok_or_else(|| bad(format!("it has no member `{name}`")))?;
                if let Some(expected) = md5.as_ref().filter(|md5| **md5 != member.md5) {
                    return Err(FetchError::Digest {
                        url: format!("{}!{name}", got.url),
                        algorithm: "md5",
                        expected: expected.clone(),
                        found: member.md5.clone(),
                    });
                }
            }
        } else if unpacked.is_empty() {
            return Err(bad("it has no member that is asked for".to_owned()));
        }
        let verified = match got.verified {
            Verified::Digest => Verified::Archive,
            other => other,
        };
        let mut placed = Vec::new();
        for (name, member) in unpacked {
            install::place(member.file, &into.join(&name))?;
            let identity = member_identity(item, members, &name);
            let (bytes, sha256) = (member.bytes, member.sha256);
            let url = format!("{}!{name}", got.url);
            placed.push((name, Installed { identity, bytes, sha256, url, verified }));
        }
        // All at once: fewer than all would look like all to the next run.
        self.record.get_mut().put_all(&placed)?;
        got.part.discard();
        Ok(placed.iter().map(|(name, file)| file.fetched(name)).collect())
    }
}
