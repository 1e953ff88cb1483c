//! A server, a directory and small numbers.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use vprep_core::Silent;
use vprep_fetch::{FetchError, Fetched, Limits, Options, Secret, Source, fetch};
use vprep_testkit::Hub;

pub(crate) const BLOCK: u64 = 64 << 10;

pub(crate) struct World {
    pub(crate) hub: Hub,
    pub(crate) dir: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { hub: Hub::start().expect("starts"), dir: tempfile::tempdir().expect("a directory") }
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.dir.path().join("into")
    }

    /// Options that never look at this machine's environment.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::new(self.target());
        options.hub.endpoint = self.hub.url().parse().expect("an address");
        options.hub.cache = self.dir.path().join("cache");
        options.hub.token = None;
        options.hub.offline = false;
        options.offline = false;
        options.limits = limits();
        options
    }

    pub(crate) fn fetch(&self, source: &str) -> Result<Fetched, FetchError> {
        self.fetch_with(source, &self.options())
    }

    pub(crate) fn fetch_with(
        &self,
        source: &str,
        options: &Options,
    ) -> Result<Fetched, FetchError> {
        fetch(&Source::parse(source)?, options, &Silent)
    }

    pub(crate) fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.target().join(name)).ok()
    }
}

pub(crate) fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(5),
        stall: Duration::from_millis(700),
        tries: 4,
        first_wait: Duration::from_millis(2),
        longest_wait: Duration::from_millis(20),
        block: BLOCK,
        // Every connection that may be open is.
        fast: u64::MAX,
    }
}

pub(crate) fn token(text: &str) -> Option<Secret> {
    Secret::new(text)
}

/// Names below a directory that are not the user's.
pub(crate) fn leftovers(dir: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            names.extend(leftovers(&entry.path()));
        } else if name.contains(".vprep-part") || name.ends_with(".tmp") {
            names.push(name);
        }
    }
    names
}
