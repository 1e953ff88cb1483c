//! Atomic publishing: all files of a stage appear together, or none does.
//!
//! A stage writes its outputs below `.vprep/tmp`, on the dataset's own file system. `commit` syncs
//! them, writes a journal of the renames to come, renames, and removes the journal. A process that
//! dies before the journal stands changes nothing; one that dies after it leaves the renames to
//! the next writer, which finishes them when it takes the lock. What a dead process left below
//! `.vprep/tmp` is removed then too.

use crate::DataError;
use crate::digest::{Content, hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

const STATE: &str = ".vprep";
const JOURNAL: &str = "commit.json";

/// A dataset directory that this process alone writes to, until the value is dropped. The lock is
/// the operating system's, so a process that dies does not keep it.
#[derive(Debug)]
pub struct Workdir {
    root: PathBuf,
    /// Held open; closing it gives the lock up.
    #[cfg_attr(not(test), expect(dead_code, reason = "its being open is its use"))]
    lock: File,
    /// What was made for this value, and is removed with it if nothing is published.
    created: Created,
}

#[derive(Debug, PartialEq, Eq)]
enum Created {
    /// The dataset's directory.
    Root,
    /// Only `.vprep` in it.
    State,
    Nothing,
}

impl Workdir {
    /// Locks the dataset at `root`, which is created if need be, and finishes or clears away what
    /// a dead process left.
    ///
    /// # Errors
    ///
    /// If another process holds the lock, or the directory cannot be written.
    pub fn lock(root: &Path) -> Result<Self, DataError> {
        let state = root.join(STATE);
        let created = match (root.exists(), state.exists()) {
            (false, _) => Created::Root,
            (true, false) => Created::State,
            (true, true) => Created::Nothing,
        };
        fs::create_dir_all(&state).map_err(DataError::io("create", &state))?;
        let path = state.join("lock");
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(DataError::io("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                // The holder may not have written its number yet: then none is shown.
                let _ = lock.read_to_string(&mut pid);
                return Err(DataError::Locked { path: root.into(), pid: pid.trim().parse().ok() });
            }
            Err(TryLockError::Error(source)) => return Err(DataError::io("lock", path)(source)),
        }
        lock.set_len(0)
            .and_then(|()| write!(lock, "{}", std::process::id()))
            .map_err(DataError::io("write", &path))?;
        let workdir = Self { root: root.to_owned(), lock, created };
        workdir.recover()?;
        Ok(workdir)
    }

    /// Whether a dead writer left a decided change at `root` that the next lock will finish.
    pub fn is_unfinished(root: &Path) -> bool {
        root.join(STATE).join(JOURNAL).exists()
    }

    /// The dataset directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Starts a set of outputs that will appear together.
    ///
    /// # Errors
    ///
    /// If the temporary directory cannot be made.
    pub fn begin(&self) -> Result<Transaction<'_>, DataError> {
        let dir = self.tmp();
        fs::create_dir_all(&dir).map_err(DataError::io("create", &dir))?;
        Ok(Transaction { workdir: self, renames: Vec::new() })
    }

    fn tmp(&self) -> PathBuf {
        self.root.join(STATE).join("tmp")
    }

    fn journal(&self) -> PathBuf {
        self.root.join(STATE).join(JOURNAL)
    }

    fn recover(&self) -> Result<(), DataError> {
        let journal = self.journal();
        if journal.exists() {
            let text = fs::read(&journal).map_err(DataError::io("read", &journal))?;
            let renames: Vec<Rename> = serde_json::from_slice(&text)
                .map_err(|error| DataError::malformed(&journal, error.to_string()))?;
            self.apply(&renames)?;
        }
        self.clear()
    }

    /// Does the renames of a journal; those already done are passed over.
    fn apply(&self, renames: &[Rename]) -> Result<(), DataError> {
        for rename in renames {
            let staged = self.tmp().join(&rename.staged);
            let target = self.root.join(&rename.target);
            let due = if rename.remove { target.exists() } else { staged.exists() };
            if !due {
                continue;
            }
            let parent = target.parent().expect("a target lies in the dataset").to_owned();
            fs::create_dir_all(&parent).map_err(DataError::io("create", &parent))?;
            if rename.remove || target.is_dir() {
                // A directory cannot be renamed over one that holds files.
                let old = self.tmp().join(format!("{}.old", rename.staged));
                fs::rename(&target, &old).map_err(DataError::io("replace", &target))?;
            }
            if !rename.remove {
                fs::rename(&staged, &target).map_err(DataError::io("write", &target))?;
            }
            sync_dir(&parent)?;
        }
        let journal = self.journal();
        if journal.exists() {
            fs::remove_file(&journal).map_err(DataError::io("remove", &journal))?;
            sync_dir(&self.root.join(STATE))?;
        }
        Ok(())
    }

    fn clear(&self) -> Result<(), DataError> {
        let tmp = self.tmp();
        match fs::remove_dir_all(&tmp) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(DataError::io("remove", tmp)(error))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Workdir {
    fn drop(&mut self) {
        if self.journal().exists() {
            // What was decided is still to be done, by the next writer, with what lies staged.
            return;
        }
        // Best effort: what stays behind is cleared by the next writer.
        let _ = self.clear();
        let state = self.root.join(STATE);
        let only_the_lock = fs::read_dir(&state).is_ok_and(|entries| entries.count() == 1);
        if self.created != Created::Nothing && only_the_lock {
            let _ = fs::remove_dir_all(&state);
            if self.created == Created::Root {
                let _ = fs::remove_dir(&self.root);
            }
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Rename {
    /// Name below `.vprep/tmp`.
    staged: String,
    /// Path relative to the dataset.
    target: String,
    /// Whether the target is to vanish; then nothing is staged.
    remove: bool,
}

/// Outputs that will appear together. Dropped without [`Transaction::commit`], they vanish.
#[derive(Debug)]
pub struct Transaction<'a> {
    workdir: &'a Workdir,
    renames: Vec<Rename>,
}

impl Transaction<'_> {
    /// Starts the file that will stand at `target`, a path relative to the dataset.
    ///
    /// # Errors
    ///
    /// If it cannot be created.
    pub fn create(&mut self, target: &str) -> Result<StagedFile, DataError> {
        let path = self.stage(target);
        StagedFile::create(&path, self.workdir.root.join(target))
    }

    /// Starts the directory that will stand at `target`, and returns where to fill it.
    ///
    /// # Errors
    ///
    /// If it cannot be created.
    pub fn create_dir(&mut self, target: &str) -> Result<PathBuf, DataError> {
        let path = self.stage(target);
        fs::create_dir_all(&path).map_err(DataError::io("create", &path))?;
        Ok(path)
    }

    /// Lets the file or directory at `target` vanish with the commit.
    pub fn remove(&mut self, target: &str) {
        self.stage(target);
        self.renames.last_mut().expect("just pushed").remove = true;
    }

    fn stage(&mut self, target: &str) -> PathBuf {
        let staged = format!("{:03}", self.renames.len());
        let path = self.workdir.tmp().join(&staged);
        self.renames.push(Rename { staged, target: target.to_owned(), remove: false });
        path
    }

    /// Publishes everything. The files were synced when each was finished; directories are synced
    /// here.
    ///
    /// # Errors
    ///
    /// If the system refuses. Then either nothing was changed, or the next writer finishes the
    /// change.
    pub fn commit(mut self) -> Result<(), DataError> {
        let tmp = self.workdir.tmp();
        for rename in &self.renames {
            let path = tmp.join(&rename.staged);
            if path.is_dir() {
                sync_tree(&path)?;
            }
        }
        sync_dir(&tmp)?;
        let journal = self.workdir.journal();
        let staged = tmp.join(JOURNAL);
        let mut file = File::create(&staged).map_err(DataError::io("create", &staged))?;
        serde_json::to_writer(&mut file, &self.renames)
            .map_err(io::Error::from)
            .and_then(|()| file.sync_all())
            .map_err(DataError::io("write", &staged))?;
        fs::rename(&staged, &journal).map_err(DataError::io("write", &journal))?;
        sync_dir(journal.parent().expect("the journal lies in a directory"))?;
        self.workdir.apply(&self.renames)?;
        self.renames.clear();
        Ok(())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.workdir.journal().exists() {
            // Best effort: what stays behind is cleared by the next writer.
            let _ = self.workdir.clear();
        }
    }
}

/// A file that is being written aside. It is hashed while it is written.
#[derive(Debug)]
pub struct StagedFile {
    inner: BufWriter<Hashing>,
    /// Where it will stand, for messages.
    path: PathBuf,
}

impl StagedFile {
    /// Starts a file at `staged` that will stand at `path`.
    pub(crate) fn create(staged: &Path, path: PathBuf) -> Result<Self, DataError> {
        let file = File::create(staged).map_err(DataError::io("create", staged))?;
        Ok(Self { inner: BufWriter::with_capacity(1 << 20, Hashing::new(file)), path })
    }

    /// Where the file will stand.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Flushes and syncs the file, and returns its digest.
    ///
    /// # Errors
    ///
    /// If the system refuses, as when the disk is full.
    pub fn finish(self) -> Result<Content, DataError> {
        let path = self.path;
        let hashing = self
            .inner
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .map_err(DataError::io("write", &path))?;
        hashing.file.sync_all().map_err(DataError::io("write", &path))?;
        Ok(Content { bytes: hashing.bytes, sha256: hex(&hashing.hash.finalize()) })
    }
}

impl Write for StagedFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.inner.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[derive(Debug)]
struct Hashing {
    file: File,
    hash: Sha256,
    bytes: u64,
}

impl Hashing {
    fn new(file: File) -> Self {
        Self { file, hash: Sha256::new(), bytes: 0 }
    }
}

impl Write for Hashing {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buffer)?;
        self.hash.update(&buffer[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

pub(crate) fn sync_dir(dir: &Path) -> Result<(), DataError> {
    File::open(dir).and_then(|file| file.sync_all()).map_err(DataError::io("sync", dir))
}

fn sync_tree(dir: &Path) -> Result<(), DataError> {
    for entry in fs::read_dir(dir).map_err(DataError::io("list", dir))? {
        let path = entry.map_err(DataError::io("list", dir))?.path();
        if path.is_dir() {
            sync_tree(&path)?;
        } else {
            sync_dir(&path)?;
        }
    }
    sync_dir(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(transaction: &mut Transaction<'_>, name: &str, text: &str) -> Content {
        let mut file = transaction.create(name).expect("creates");
        file.write_all(text.as_bytes()).expect("writes");
        file.finish().expect("syncs")
    }

    #[test]
    fn nothing_is_seen_before_the_commit_and_everything_after() {
        let dir = tempfile::tempdir().expect("a directory");
        let workdir = Workdir::lock(dir.path()).expect("locks");
        let mut transaction = workdir.begin().expect("begins");
        let content = stage(&mut transaction, "a", "abc");
        let index = transaction.create_dir("indexes/x").expect("creates");
        File::create(index.join("f")).expect("creates");
        assert!(content.sha256.starts_with("ba7816bf"));
        assert!(!dir.path().join("a").exists());
        transaction.commit().expect("commits");
        assert_eq!(fs::read(dir.path().join("a")).expect("reads"), b"abc");
        assert!(dir.path().join("indexes/x/f").exists());
        assert!(!workdir.tmp().exists(), "nothing temporary is left");
    }

    #[test]
    fn a_dropped_transaction_leaves_no_trace() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().join("new");
        let workdir = Workdir::lock(&root).expect("locks");
        let mut transaction = workdir.begin().expect("begins");
        stage(&mut transaction, "a", "abc");
        drop(transaction);
        drop(workdir);
        assert!(!root.exists(), "a directory made for nothing goes too");
    }

    #[test]
    fn the_next_writer_finishes_what_a_dead_one_had_decided() {
        let dir = tempfile::tempdir().expect("a directory");
        let workdir = Workdir::lock(dir.path()).expect("locks");
        let mut transaction = workdir.begin().expect("begins");
        stage(&mut transaction, "a", "new");
        stage(&mut transaction, "b", "new");
        // As left by a process that died after the first of two renames.
        let journal = serde_json::to_vec(&transaction.renames).expect("JSON");
        File::create(workdir.journal()).and_then(|mut f| f.write_all(&journal)).expect("writes");
        fs::rename(workdir.tmp().join("000"), dir.path().join("a")).expect("renames");
        std::mem::forget(transaction);
        workdir.lock.unlock().expect("unlocks");
        std::mem::forget(workdir);
        let workdir = Workdir::lock(dir.path()).expect("locks");
        assert_eq!(fs::read(dir.path().join("b")).expect("reads"), b"new");
        assert!(!workdir.journal().exists());
    }

    #[test]
    fn a_commit_that_fails_halfway_is_finished_by_the_next_writer() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name);
        let workdir = Workdir::lock(dir.path()).expect("locks");
        let mut transaction = workdir.begin().expect("begins");
        stage(&mut transaction, "a", "new");
        stage(&mut transaction, "b/c", "new");
        // A file stands where a directory is wanted.
        File::create(path("b")).expect("creates");
        transaction.commit().expect_err("cannot be written");
        drop(workdir);
        Workdir::lock(dir.path()).expect_err("still in the way");
        fs::remove_file(path("b")).expect("removes");
        drop(Workdir::lock(dir.path()).expect("locks"));
        assert_eq!(fs::read(path("a")).expect("reads"), b"new");
        assert_eq!(fs::read(path("b/c")).expect("reads"), b"new");
    }

    #[test]
    fn what_is_removed_vanishes_with_the_commit() {
        let dir = tempfile::tempdir().expect("a directory");
        let workdir = Workdir::lock(dir.path()).expect("locks");
        let mut transaction = workdir.begin().expect("begins");
        stage(&mut transaction, "a", "abc");
        stage(&mut transaction, "b/c", "abc");
        transaction.commit().expect("commits");
        let mut transaction = workdir.begin().expect("begins");
        transaction.remove("a");
        transaction.remove("b");
        assert!(dir.path().join("a").exists());
        transaction.commit().expect("commits");
        assert!(!dir.path().join("a").exists() && !dir.path().join("b").exists());
    }

    #[test]
    fn a_second_writer_is_told_who_holds_the_dataset() {
        let dir = tempfile::tempdir().expect("a directory");
        let _first = Workdir::lock(dir.path()).expect("locks");
        let error = Workdir::lock(dir.path()).expect_err("locked").to_string();
        let pid = std::process::id();
        assert!(error.contains(&format!("another vprep (process {pid}) is writing")), "{error}");
    }

    #[test]
    fn a_directory_replaces_a_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        let workdir = Workdir::lock(dir.path()).expect("locks");
        for name in ["old", "new"] {
            let mut transaction = workdir.begin().expect("begins");
            let index = transaction.create_dir("x").expect("creates");
            File::create(index.join(name)).expect("creates");
            transaction.commit().expect("commits");
        }
        assert!(dir.path().join("x/new").exists() && !dir.path().join("x/old").exists());
    }
}
