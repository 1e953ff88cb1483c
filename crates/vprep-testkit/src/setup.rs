//! What a hub serves, as JSON: the argument of the program `vprep-testhub`, and the control
//! interface for tests in other languages.
//!
//! | request | effect |
//! | --- | --- |
//! | `POST /_test/setup` | adds what a [`Setup`] lists; answers with the commits, by repository |
//! | `POST /_test/faults` | adds a [`Rule`] or a list of them |
//! | `GET /_test/faults`, `DELETE /_test/faults` | lists the rules, takes them away |
//! | `GET /_test/log`, `DELETE /_test/log` | the requests so far ([`Entry`](crate::Entry)), forgets them |
//!
//! ```
//! use vprep_testkit::setup::Setup;
//! use vprep_testkit::Hub;
//!
//! let setup: Setup = serde_json::from_str(r#"{
//!     "tokens": {"hf_good": ["acme/secret"]},
//!     "repos": [{
//!         "kind": "dataset", "id": "acme/secret", "gated": true,
//!         "files": {"README.md": {"text": "hello"}},
//!         "lfs": {"train.parquet": {"random": {"seed": 7, "bytes": 1000}}}
//!     }],
//!     "files": {"a.bin": {"content": {"random": {"seed": 8, "bytes": 99}}, "etag": {"s3": 50}}},
//!     "faults": [{"path": "files/a.bin", "fault": {"kind": "cut", "after": 10}, "times": 1}]
//! }"#)?;
//! let hub = Hub::start()?;
//! let commits = setup.apply(&hub)?;
//! assert_eq!(commits["datasets/acme/secret"].as_str().map(str::len), Some(40));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::content::Content;
use crate::error::ContentError;
use crate::fault::Rule;
use crate::hub::Hub;
use crate::plain::{EtagRule, PlainFile};
use crate::repo::{Delivery, Kind, Repo};

/// What to serve. Every field may be left out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Setup {
    /// Tokens, and the gated or private repositories that they open.
    pub tokens: BTreeMap<String, Vec<String>>,
    /// Repositories.
    pub repos: Vec<RepoSetup>,
    /// Plain files, by their path under `/files/`.
    pub files: BTreeMap<String, PlainSetup>,
    /// Faults.
    pub faults: Vec<Rule>,
    /// Entries on a page of a listing.
    pub page: Option<usize>,
}

/// A commit of a repository; the fields are those of [`Repo`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepoSetup {
    /// `dataset` or `model`.
    pub kind: Kind,
    /// `owner/name`.
    pub id: String,
    /// The branch, `main` if left out.
    pub branch: Option<String>,
    /// The name of the commit, made from the files if left out.
    pub commit: Option<String>,
    /// Whether files need a token.
    #[serde(default)]
    pub gated: bool,
    /// Whether everything needs a token.
    #[serde(default)]
    pub private: bool,
    /// How large files are delivered: `direct`, `relative`, `cdn302` or `cdn307`.
    pub lfs_delivery: Option<Delivery>,
    /// How small files are delivered.
    pub git_delivery: Option<Delivery>,
    /// Ids that redirect here.
    #[serde(default)]
    pub formerly: Vec<String>,
    /// Small files.
    #[serde(default)]
    pub files: BTreeMap<String, ContentSetup>,
    /// Large files.
    #[serde(default)]
    pub lfs: BTreeMap<String, ContentSetup>,
}

/// A plain file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlainSetup {
    /// Its bytes.
    pub content: ContentSetup,
    /// `"md5"` (also if left out), `"none"`, `{"s3": PART_SIZE}` or `{"given": TEXT}`.
    #[serde(default)]
    pub etag: EtagSetup,
}

/// See [`EtagRule`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EtagSetup {
    /// [`EtagRule::Md5`].
    #[default]
    Md5,
    /// [`EtagRule::S3`].
    S3(u64),
    /// [`EtagRule::Given`].
    Given(String),
    /// [`EtagRule::None`].
    None,
}

/// See [`Content`].
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ContentSetup {
    /// `{"text": "…"}`.
    Text(String),
    /// `{"disk": "/a/path"}`.
    Disk(PathBuf),
    /// `{"random": {"seed": 7, "bytes": 1000}}`.
    Random {
        /// See [`Content::random`].
        seed: u64,
        /// The length.
        bytes: u64,
    },
}

impl ContentSetup {
    fn content(&self) -> Result<Content, ContentError> {
        match self {
            Self::Text(text) => Ok(Content::from(text.as_str())),
            Self::Disk(path) => Content::file(path),
            Self::Random { seed, bytes } => Ok(Content::random(*seed, *bytes)),
        }
    }
}

impl Setup {
    /// Adds everything to a hub. Returns an object of the commits' names, by `datasets/OWNER/NAME`
    /// or `models/OWNER/NAME`.
    ///
    /// # Errors
    ///
    /// If a file on disk cannot be opened; nothing has been added then.
    pub fn apply(&self, hub: &Hub) -> Result<Value, ContentError> {
        let repos = self.repos.iter().map(repo).collect::<Result<Vec<_>, _>>()?;
        let files = self
            .files
            .iter()
            .map(|(path, file)| Ok((path, plain(file)?)))
            .collect::<Result<Vec<_>, _>>()?;
        for (token, allowed) in &self.tokens {
            hub.add_token(token, allowed);
        }
        let mut commits = Map::new();
        for repo in repos {
            let name = format!("{}/{}", repo.kind.plural(), repo.id);
            commits.insert(name, Value::String(hub.add_repo(repo)));
        }
        for (path, file) in files {
            hub.add_file(path, file);
        }
        self.faults.iter().for_each(|rule| hub.rule(rule.clone()));
        if let Some(page) = self.page {
            hub.set_page_size(page.max(1));
        }
        Ok(Value::Object(commits))
    }
}

fn repo(setup: &RepoSetup) -> Result<Repo, ContentError> {
    let mut repo = Repo::new(setup.kind, &setup.id);
    repo.branch = setup.branch.clone().unwrap_or(repo.branch);
    repo.commit.clone_from(&setup.commit);
    repo.gated = setup.gated;
    repo.private = setup.private;
    repo.lfs_delivery = setup.lfs_delivery.unwrap_or(repo.lfs_delivery);
    repo.git_delivery = setup.git_delivery.unwrap_or(repo.git_delivery);
    repo.former_ids.clone_from(&setup.formerly);
    for (path, content) in &setup.files {
        repo = repo.file(path, content.content()?);
    }
    for (path, content) in &setup.lfs {
        repo = repo.lfs(path, content.content()?);
    }
    Ok(repo)
}

fn plain(setup: &PlainSetup) -> Result<PlainFile, ContentError> {
    let etag = match &setup.etag {
        EtagSetup::Md5 => EtagRule::Md5,
        EtagSetup::S3(part) => EtagRule::S3((*part).max(1)),
        EtagSetup::Given(text) => EtagRule::Given(text.clone()),
        EtagSetup::None => EtagRule::None,
    };
    Ok(PlainFile::new(setup.content.content()?).etag(etag))
}
