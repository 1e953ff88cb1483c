//! What a fetch is told, and what it tells.

use crate::{Catalog, FetchError, HubSettings, redact};
use std::path::PathBuf;
use std::time::Duration;

/// How to fetch.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory to install into; it is made if need be.
    pub into: PathBuf,
    /// The revision of a hub repository, before one in the source; `main` if neither is given.
    pub revision: Option<String>,
    /// Install only files that one of these patterns matches; all if there is none. `*` matches `/`
    /// too, as in Python's `huggingface_hub`, and `data/` means everything below it.
    pub include: Vec<String>,
    /// Connections at once, over all files.
    pub jobs: usize,
    /// Whether to do without the network: only installed and cached files.
    pub offline: bool,
    /// Whether to hard-link local files instead of copying them.
    pub link: bool,
    /// Whether to unpack an archive from the web; `include` then chooses among its members. A set
    /// of the catalogue says so itself.
    pub extract: bool,
    /// The hub, its token and its cache.
    pub hub: HubSettings,
    /// The catalogue for names.
    pub catalog: Catalog,
    /// Addresses to ask in place of others.
    pub rewrite: Vec<Rewrite>,
    /// Times and numbers.
    pub limits: Limits,
}

impl Options {
    /// Options with what the environment says about the hub (`HF_HOME`, `HF_HUB_CACHE`, `HF_TOKEN`,
    /// `HF_ENDPOINT`, `HF_HUB_OFFLINE`), the built-in catalogue and four connections.
    pub fn new(into: impl Into<PathBuf>) -> Self {
        let hub = HubSettings::from_env();
        Self {
            into: into.into(),
            revision: None,
            include: Vec::new(),
            jobs: 4,
            offline: hub.offline,
            link: false,
            extract: false,
            hub,
            catalog: Catalog::built_in(),
            rewrite: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// When to give up, and in what portions to work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time to connect.
    pub connect: Duration,
    /// Time without a byte.
    pub stall: Duration,
    /// Tries without progress before the next mirror is asked.
    pub tries: u32,
    /// Bound of the first wait between tries; it doubles from try to try.
    pub first_wait: Duration,
    /// Bound of every wait.
    pub longest_wait: Duration,
    /// Bytes of a block, the unit of the journal.
    pub block: u64,
    /// Bytes per second of all files together at which a file gets no further connection; with
    /// `u64::MAX` it gets them all at once.
    pub fast: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            stall: Duration::from_secs(30),
            tries: 6,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
            block: 8 << 20,
            fast: 150_000_000,
        }
    }
}

/// Ask `to…` in place of `from…`: a mirror in the house, or a server of a test.
#[derive(Clone, PartialEq, Eq)]
pub struct Rewrite {
    from: String,
    to: String,
}

impl Rewrite {
    /// Replaces the beginning `from` of addresses by `to`.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { from: from.into(), to: to.into() }
    }

    /// Reads `from=to`, several of them separated by blanks.
    ///
    /// # Errors
    ///
    /// If one has no `=`, or is no pair of web addresses.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, FetchError> {
        let parse = |pair: &str| {
            let web = |text: &str| text.starts_with("http://") || text.starts_with("https://");
            match pair.split_once('=') {
                Some((from, to)) if web(from) && web(to) => Ok(Self::new(from, to)),
                _ => Err(FetchError::Setting {
                    what: "rewrite".to_owned(),
                    problem: format!(
                        "`{}` is not https://from=https://to",
                        redact::shown_text(pair)
                    ),
                }),
            }
        };
        text.split_whitespace().map(parse).collect()
    }

    pub(crate) fn apply(&self, url: &str) -> Option<String> {
        url.strip_prefix(&self.from).map(|rest| format!("{}{rest}", self.to))
    }
}

impl std::fmt::Debug for Rewrite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} → {}", redact::shown_text(&self.from), redact::shown_text(&self.to))
    }
}

/// What was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The source, without credentials.
    pub source: String,
    /// The commit of a hub repository.
    pub revision: Option<String>,
    /// Its licence, where the catalogue or the repository's card names one.
    pub licence: Option<String>,
    /// The files, sorted by path.
    pub files: Vec<FetchedFile>,
    /// Bytes that came over the network, those fetched again after faults included.
    pub downloaded: u64,
}

/// One installed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedFile {
    /// The path below the directory, with `/`.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its sha256 in hexadecimal.
    pub sha256: String,
    /// The address it came from, without credentials or query.
    pub url: String,
    /// How it was verified.
    pub verified: Verified,
}

/// How far a file can be trusted to be what its source holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verified {
    /// It has the digest that the hub, the catalogue or the caller names.
    Digest,
    /// It is a member of an archive that has such a digest.
    Archive,
    /// Nobody names a digest; it has the length that the server announced.
    Length,
    /// Nobody names a digest or a length; the connection ended in order.
    Nothing,
    /// It is a copy of a local file.
    Local,
}
