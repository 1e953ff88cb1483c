//! Repositories of the hub.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::digest::sha1_text;

/// What the hub calls a repository type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A dataset.
    Dataset,
    /// A model.
    Model,
}

impl Kind {
    /// The word in addresses and in [`Rule`](crate::Rule) paths.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Dataset => "datasets",
            Self::Model => "models",
        }
    }
}

/// How a file leaves the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// By the address that was asked for.
    Direct,
    /// By a relative redirect (307) within the hub, as for small files today.
    Relative,
    /// By an absolute redirect (302) to the CDN, as for large files.
    Cdn302,
    /// The same with status 307.
    Cdn307,
}

/// A file of a repository.
#[derive(Clone, Debug)]
pub(crate) struct RepoFile {
    pub(crate) content: Content,
    pub(crate) lfs: bool,
}

/// A repository at one commit.
#[derive(Clone, Debug)]
pub struct Repo {
    pub(crate) kind: Kind,
    pub(crate) id: String,
    pub(crate) branch: String,
    pub(crate) commit: Option<String>,
    pub(crate) gated: bool,
    pub(crate) private: bool,
    pub(crate) lfs_delivery: Delivery,
    pub(crate) git_delivery: Delivery,
    pub(crate) former_ids: Vec<String>,
    pub(crate) files: BTreeMap<String, RepoFile>,
}

impl Repo {
    /// An empty dataset, `owner/name`.
    pub fn dataset(id: impl Into<String>) -> Self {
        Self::new(Kind::Dataset, id)
    }

    /// An empty model, `owner/name`.
    pub fn model(id: impl Into<String>) -> Self {
        Self::new(Kind::Model, id)
    }

    /// An empty repository.
    pub fn new(kind: Kind, id: impl Into<String>) -> Self {
        Self {
            kind,
            id: id.into(),
            branch: "main".to_owned(),
            commit: None,
            gated: false,
            private: false,
            lfs_delivery: Delivery::Cdn302,
            git_delivery: Delivery::Relative,
            former_ids: Vec::new(),
            files: BTreeMap::new(),
        }
    }

    /// Adds a small file, kept in git: its ETag is its git object name.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, content: impl Into<Content>) -> Self {
        self.files.insert(path.into(), RepoFile { content: content.into(), lfs: false });
        self
    }

    /// Adds a large file, kept in LFS: its ETag is its sha256.
    #[must_use]
    pub fn lfs(mut self, path: impl Into<String>, content: impl Into<Content>) -> Self {
        self.files.insert(path.into(), RepoFile { content: content.into(), lfs: true });
        self
    }

    /// Puts the commit on this branch, tag or other reference instead of `main`.
    #[must_use]
    pub fn branch(mut self, branch: impl Into<String>) -> Self {
        self.branch = branch.into();
        self
    }

    /// Gives the commit this name, 40 hexadecimal digits, instead of one made from the files.
    #[must_use]
    pub fn commit(mut self, sha: impl Into<String>) -> Self {
        self.commit = Some(sha.into());
        self
    }

    /// Files need a token that [`Hub::add_token`](crate::Hub::add_token) allows for this
    /// repository; information and listings do not.
    #[must_use]
    pub fn gated(mut self) -> Self {
        self.gated = true;
        self
    }

    /// Without such a token the repository does not seem to exist.
    #[must_use]
    pub fn private(mut self) -> Self {
        self.private = true;
        self
    }

    /// How large files are delivered: [`Delivery::Cdn302`] if nothing is said.
    #[must_use]
    pub fn lfs_delivery(mut self, delivery: Delivery) -> Self {
        self.lfs_delivery = delivery;
        self
    }

    /// How small files are delivered: [`Delivery::Relative`] if nothing is said.
    #[must_use]
    pub fn git_delivery(mut self, delivery: Delivery) -> Self {
        self.git_delivery = delivery;
        self
    }

    /// Another id that redirects here, as after a renaming.
    #[must_use]
    pub fn formerly(mut self, id: impl Into<String>) -> Self {
        self.former_ids.push(id.into());
        self
    }

    /// The name of the commit.
    pub fn sha(&self) -> String {
        self.commit.clone().unwrap_or_else(|| {
            let files = self
                .files
                .iter()
                .map(|(path, file)| format!("{path}\0{}\0{}\n", file.lfs, file.content.identity()));
            let files: String = files.collect();
            sha1_text(&format!("{} {}\n{files}", self.kind.plural(), self.id))
        })
    }
}
