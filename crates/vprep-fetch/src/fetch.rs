//! A whole fetch: plan, transfers, installation.

use crate::digest::{self, Content};
use crate::http::Http;
use crate::hub::cache;
use crate::plan::{self, Item, Kind, Members, Patterns, Plan};
use crate::record::{Installed, Record};
use crate::transfer::{self, Engine, Got, Want};
use crate::{
    Expected, FetchError, Fetched, FetchedFile, Options, Source, Verified, archive, install, local,
    space,
};
use futures_util::stream::{StreamExt, TryStreamExt};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::Semaphore;
use vprep_core::{Failure, Interrupted, Progress};

/// How often the user's wish to stop is looked for.
const WATCH: Duration = Duration::from_millis(100);
/// How long to wait before looking again whether another process has finished with a file.
const BUSY: Duration = Duration::from_millis(300);

/// Fetches a source into a directory. See the [crate] for what is guaranteed.
///
/// Files of the hub are hard links to the cache where both lie on one file system, and copies
/// otherwise; a program that writes into an installed file would write into the cache.
///
/// # Errors
///
/// Of any kind of [`FetchError`]. What came so far stays in partial files, which the same call
/// continues; of a file that could not be verified nothing is installed.
pub fn fetch(
    source: &Source,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Fetched, FetchError> {
    if options.jobs == 0 {
        return Err(FetchError::Setting {
            what: "jobs".into(),
            problem: "0; use 1 or more".into(),
        });
    }
    if options.limits.block == 0 {
        return Err(FetchError::Setting { what: "block".into(), problem: "0 bytes".into() });
    }
    let mut record = Record::open(&options.into)?;
    if let Source::Local(path) = source {
        let mut files = local::fetch(path, options, &mut record, progress)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        return Ok(Fetched {
            source: source.to_string(),
            revision: None,
            licence: None,
            files,
            downloaded: 0,
        });
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(FetchError::io("start the network for", &options.into))?;
    let result = runtime.block_on(async {
        tokio::select! {
            biased;
            () = stopped(progress) => Err(Interrupted.into()),
            result = remote(source, options, record, progress) => result,
        }
    });
    // A name that is being looked up would hold the runtime for as long as the system likes.
    runtime.shutdown_background();
    result
}

async fn stopped(progress: &dyn Progress) {
    while !progress.is_interrupted() {
        tokio::time::sleep(WATCH).await;
    }
}

async fn remote(
    source: &Source,
    options: &Options,
    record: Record,
    progress: &dyn Progress,
) -> Result<Fetched, FetchError> {
    let http = Http::new(&options.limits)?;
    let plan = plan::plan(source, options, &http).await?;
    sweep(&plan, options);
    let mut run = Run { options, progress, record: RefCell::new(record) };
    let mut files = Vec::new();
    let mut missing = Vec::new();
    for item in &plan.items {
        match run.present(item)? {
            Some(present) => files.extend(present),
            None => missing.push(item),
        }
    }
    if let (Some(item), true) = (missing.first(), options.offline) {
        return Err(FetchError::Offline { what: format!("{} of {source}", item.path) });
    }
    run.check_space(&missing)?;
    let total = missing.iter().filter_map(|item| item.bytes).sum();
    let engine = Engine {
        http,
        limits: &options.limits,
        slots: Semaphore::new(options.jobs),
        progress,
        task: progress.task("fetch", total, "B"),
        downloaded: Cell::new(0),
    };
    let arrived: Vec<Arrived<'_>> = futures_util::stream::iter(missing)
        .map(|item| run.transfer(&engine, item))
        .buffer_unordered(options.jobs)
        .try_collect()
        .await?;
    let downloaded = engine.downloaded.get();
    drop(engine);
    for arrived in arrived {
        files.extend(run.install(arrived)?);
    }
    if let Some(set) = &plan.set {
        set.check_installed(&options.into, &files, progress)?;
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Fetched {
        source: source.to_string(),
        revision: plan.revision,
        licence: plan.set.map(|set| set.licence),
        files,
        downloaded,
    })
}

/// A file that is here, and not yet in its place.
enum Arrived<'a> {
    Installed(FetchedFile),
    Blob(&'a Item, Installed),
    Archive(&'a Members, &'a Item, Got),
}

struct Run<'a> {
    options: &'a Options,
    progress: &'a dyn Progress,
    record: RefCell<Record>,
}

impl Run<'_> {
    /// The files of an item that need no transfer.
    fn present(&mut self, item: &Item) -> Result<Option<Vec<FetchedFile>>, FetchError> {
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
    fn blob<'i>(&self, item: &'i Item) -> Result<Option<Arrived<'i>>, FetchError> {
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

    /// Fails before anything is fetched for which there is no room.
    fn check_space(&self, missing: &[&Item]) -> Result<(), FetchError> {
        let mut needs = std::collections::BTreeMap::<PathBuf, u64>::new();
        for item in missing {
            let part = plan::part_of(item, self.options);
            let have = fs::metadata(&part).map_or(0, |meta| meta.blocks() * 512);
            let dir = part.parent().unwrap_or(&self.options.into).to_owned();
            *needs.entry(dir).or_default() += item.bytes.unwrap_or(0).saturating_sub(have);
        }
        for (dir, need) in needs {
            fs::create_dir_all(&dir).map_err(FetchError::io("create", &dir))?;
            space::check(&dir, need)?;
        }
        Ok(())
    }

    /// Fetches what is missing and verifies it.
    async fn transfer<'i>(
        &self,
        engine: &Engine<'_>,
        item: &'i Item,
    ) -> Result<Arrived<'i>, FetchError> {
        let want = Want {
            name: item.path.clone(),
            part: plan::part_of(item, self.options),
            origins: item.origins.clone(),
            bytes: item.bytes,
            expected: item.expected.clone(),
        };
        let got = loop {
            let fetched = engine.fetch(&want).await;
            if let (Err(error), Kind::Cached(repo, commit, _)) = (&fetched, &item.kind)
                && error.kind() == vprep_core::Kind::Data
                && error.is_remote()
            {
                cache::forget_listing(&self.options.hub, repo, commit);
            }
            if let Some(got) = fetched? {
                break got;
            }
            tokio::time::sleep(BUSY).await;
            if let Some(blob) = self.blob(item)? {
                return Ok(blob);
            }
        };
        let mut installed = installed(item, got.bytes, got.sha256.clone());
        installed.url.clone_from(&got.url);
        installed.verified = got.verified;
        match &item.kind {
            Kind::Plain => {
                self.record.borrow_mut().put(&item.path, installed.clone())?;
                got.part.publish(&self.options.into.join(&item.path))?;
                Ok(Arrived::Installed(installed.fetched(&item.path)))
            }
            Kind::Cached(repo, commit, entry) => {
                let blob = cache::blobs(&self.options.hub, repo).join(&entry.etag);
                got.part.publish(&blob)?;
                cache::link(&self.options.hub, repo, commit, entry)?;
                Ok(Arrived::Blob(item, installed))
            }
            Kind::Archive(members) => Ok(Arrived::Archive(members, item, got)),
        }
    }

    /// Moves a file that is here to its place.
    fn install(&mut self, arrived: Arrived<'_>) -> Result<Vec<FetchedFile>, FetchError> {
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

/// What the record says of a member. Members that are chosen by patterns belong to their patterns:
/// with others, other members may be wanted.
fn member_identity(item: &Item, members: &Members, name: &str) -> String {
    match members {
        Members::Named(_) => format!("{}!{name}", item.identity),
        Members::Matching(texts) => format!("{}!{}", item.identity, texts.join(" ")),
    }
}

fn installed(item: &Item, bytes: u64, sha256: String) -> Installed {
    Installed {
        identity: item.identity.clone(),
        bytes,
        sha256,
        url: item.origins.first().map(transfer::Origin::shown).unwrap_or_default(),
        verified: Verified::Digest,
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

/// Clears what dead processes left: parts of other versions of the files that are fetched now,
/// files that were being written aside, and anything that is two weeks old.
fn sweep(plan: &Plan, options: &Options) {
    let mut dirs = BTreeSet::new();
    for item in &plan.items {
        let part = plan::part_of(item, options);
        let dir = part.parent().map(Path::to_owned).unwrap_or_default();
        let ours = part.file_name().map(|name| name.to_string_lossy().into_owned());
        match &item.kind {
            Kind::Cached(..) => {
                if dirs.insert(dir.clone()) {
                    let blobs = dir.clone();
                    transfer::sweep(&dir, &|name| {
                        let etag = name.split('.').next().unwrap_or_default();
                        blobs.join(etag).is_file()
                    });
                }
            }
            Kind::Plain | Kind::Archive(_) => {
                let name = Path::new(&item.path).file_name().unwrap_or_default().to_string_lossy();
                let prefix = format!("{name}.");
                transfer::sweep(&dir, &|part| {
                    part.strip_prefix(&prefix).is_some_and(|rest| rest.matches('.').count() == 1)
                        && Some(part) != ours.as_deref()
                });
            }
        }
        if let Some(dir) = options.into.join(&item.path).parent() {
            clear_aside(dir);
        }
    }
}

/// This process has the directory, so files written aside belong to dead ones.
fn clear_aside(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(".vprep-") && name.ends_with(".tmp") {
            let _ = fs::remove_file(entry.path());
        }
    }
}
