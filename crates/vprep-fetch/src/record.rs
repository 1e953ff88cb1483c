//! `.vprep-fetch.json`: what was installed, so that it need not be fetched again.

use crate::{FetchError, FetchedFile, Verified, digest, install};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use vprep_core::Progress;

const NAME: &str = ".vprep-fetch.json";
const LOCK: &str = ".vprep-fetch.lock";
const SCHEMA: u32 = 1;

/// One installed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Installed {
    /// What it is, independent of where it came from: its digest, or else its address.
    pub(crate) identity: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    pub(crate) url: String,
    pub(crate) verified: Verified,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    schema: u32,
    files: BTreeMap<String, Installed>,
}

/// The record of a directory, which is locked as long as the value lives.
#[derive(Debug)]
pub(crate) struct Record {
    dir: PathBuf,
    _lock: File,
    text: Text,
}

impl Record {
    /// Locks the directory, which is made if need be, and reads its record. One that cannot be
    /// understood counts as none: its files are then verified or fetched again.
    pub(crate) fn open(dir: &Path) -> Result<Self, FetchError> {
        fs::create_dir_all(dir).map_err(FetchError::io("create", dir))?;
        let path = dir.join(LOCK);
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(FetchError::io("create", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FetchError::Locked { path: dir.into() }),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(FetchError::io("lock", path)(error)),
        }
        let text = fs::read(dir.join(NAME)).ok();
        let text = text.and_then(|text| serde_json::from_slice::<Text>(&text).ok());
        let text = text.filter(|text| text.schema == SCHEMA).unwrap_or_default();
        Ok(Self { dir: dir.to_owned(), _lock: lock, text })
    }

    /// The file at `path`, if it is what `identity` names and still has its recorded digest.
    pub(crate) fn installed(
        &self,
        path: &str,
        identity: &str,
        progress: &dyn Progress,
    ) -> Result<Option<FetchedFile>, FetchError> {
        let Some(known) = self.text.files.get(path).filter(|known| known.identity == identity)
        else {
            return Ok(None);
        };
        let file = self.dir.join(path);
        if fs::symlink_metadata(&file).map_or(true, |m| !m.is_file() || m.len() != known.bytes) {
            return Ok(None);
        }
        if digest::content(&file, None, progress)?.sha256 != known.sha256 {
            return Ok(None);
        }
        Ok(Some(known.fetched(path)))
    }

    /// What was recorded for an identity, whichever its path.
    pub(crate) fn with_identity<'a>(
        &'a self,
        identity: &'a str,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let matching = move |(path, known): (&'a String, &'a Installed)| {
            (known.identity == identity).then_some(path.as_str())
        };
        self.text.files.iter().filter_map(matching)
    }

    /// Records a file, before it is moved into place: a process that dies between leaves a record
    /// that its file contradicts, never a file that nobody vouches for.
    pub(crate) fn put(&mut self, path: &str, file: Installed) -> Result<(), FetchError> {
        self.put_all(&[(path.to_owned(), file)])
    }

    /// Records several files at once.
    pub(crate) fn put_all(&mut self, files: &[(String, Installed)]) -> Result<(), FetchError> {
        self.text.schema = SCHEMA;
        if files.iter().all(|(path, file)| self.text.files.get(path) == Some(file)) {
            return Ok(());
        }
        self.text.files.extend(files.iter().cloned());
        let mut text = serde_json::to_vec_pretty(&self.text).expect("a record is JSON");
        text.push(b'\n');
        install::write(&self.dir.join(NAME), &text)
    }
}

impl Installed {
    pub(crate) fn fetched(&self, path: &str) -> FetchedFile {
        FetchedFile {
            path: path.to_owned(),
            bytes: self.bytes,
            sha256: self.sha256.clone(),
            url: self.url.clone(),
            verified: self.verified,
        }
    }
}
