//! A whole fetch: plan, transfers, installation.

mod place;
mod present;
mod sweep;

use crate::http::Http;
use crate::hub::cache;
use crate::plan::{self, Item, Kind, Members};
use crate::record::{Installed, Record};
use crate::transfer::{self, Engine, Got, Want};
use crate::{FetchError, Fetched, FetchedFile, Options, Source, Verified, local, space};
use futures_util::stream::{StreamExt, TryStreamExt};
use std::cell::{Cell, RefCell};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;
use sweep::sweep;
use tokio::sync::Semaphore;
use vprep_core::{Failure, Interrupted, Progress};

/// How often the user's wish to stop is looked for.
const WATCH: Duration = Duration::from_millis(100);
/// Threads that receive, and decrypt what comes encrypted.
const RECEIVERS: usize = 2;
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
    // The connections are driven by the runtime's own threads, which receive; what comes is written
    // by this one.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(RECEIVERS)
        .thread_name("vprep-receive")
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
