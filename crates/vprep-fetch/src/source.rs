//! Where data comes from, as people write it.

use crate::{Expected, FetchError, redact};
use reqwest::Url;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A place to fetch from.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// A repository of the hub, whole or in part.
    Hub(HubRepo),
    /// One file of the web, with the digest of `#sha256=…` or `#md5=…` where one was given.
    Web {
        /// The address, without a fragment. It may carry credentials: print the source instead.
        url: Url,
        /// The digest that the file must have.
        expected: Option<Expected>,
    },
    /// A file or directory of this machine.
    Local(PathBuf),
    /// A name of the catalogue.
    Catalog(String),
}

/// Models or data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RepoKind {
    /// `hf://owner/name`
    Model,
    /// `hf://datasets/owner/name`
    Dataset,
}

impl RepoKind {
    /// The word in the addresses and cache directories of the hub.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Model => "models",
            Self::Dataset => "datasets",
        }
    }
}

/// A repository of the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRepo {
    /// Models or data.
    pub kind: RepoKind,
    /// The owner.
    pub owner: String,
    /// The name.
    pub name: String,
    /// A branch, tag or commit; `main` if none is given.
    pub revision: Option<String>,
}

impl HubRepo {
    /// `owner/name`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

impl fmt::Display for HubRepo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            RepoKind::Model => "",
            RepoKind::Dataset => "datasets/",
        };
        write!(f, "hf://{kind}{}/{}", self.owner, self.name)?;
        self.revision.as_ref().map_or(Ok(()), |revision| write!(f, "@{revision}"))
    }
}

impl Source {
    /// Reads a source as people write it. Of plain words, those that name a file or directory are
    /// local, the others are looked for in the catalogue.
    ///
    /// # Errors
    ///
    /// If it has an unknown scheme, or a repository is not `owner/name`.
    pub fn parse(text: &str) -> Result<Self, FetchError> {
        let bad = |problem: &str| FetchError::Source {
            text: redact::shown_text(text),
            problem: problem.to_owned(),
        };
        if text.is_empty() {
            return Err(bad("it is empty"));
        }
        if let Some(rest) = text.strip_prefix("hf://") {
            return parse_repo(rest).map(Self::Hub).map_err(bad);
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            let mut url = Url::parse(text).map_err(|error| bad(&error.to_string()))?;
            let expected = url.fragment().map(parse_fragment).transpose().map_err(bad)?.flatten();
            url.set_fragment(None);
            return Ok(Self::Web { url, expected });
        }
        if let Some((scheme, _)) = text.split_once("://") {
            return Err(bad(&format!("vprep does not speak `{scheme}`")));
        }
        let path = PathBuf::from(text);
        let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if path.exists() || !text.chars().all(name) || text.starts_with('.') {
            return Ok(Self::Local(path));
        }
        Ok(Self::Catalog(text.to_owned()))
    }
}

impl FromStr for Source {
    type Err = FetchError;

    fn from_str(text: &str) -> Result<Self, FetchError> {
        Self::parse(text)
    }
}

fn parse_repo(text: &str) -> Result<HubRepo, &'static str> {
    let (path, revision) = match text.split_once('@') {
        Some((_, "")) => return Err("the revision after @ is empty"),
        Some((path, revision)) => (path, Some(revision.to_owned())),
        None => (text, None),
    };
    let (kind, path) = match path.strip_prefix("datasets/") {
        Some(rest) => (RepoKind::Dataset, rest),
        None => (RepoKind::Model, path.strip_prefix("models/").unwrap_or(path)),
    };
    let legal = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    if revision.as_deref().is_some_and(|revision| crate::paths::below(revision).is_none()) {
        return Err("the revision is no name of a branch, tag or commit");
    }
    match path.trim_end_matches('/').split_once('/') {
        Some((owner, name)) if legal(owner) && legal(name) => {
            Ok(HubRepo { kind, owner: owner.to_owned(), name: name.to_owned(), revision })
        }
        _ => Err("a repository is owner/name"),
    }
}

fn parse_fragment(text: &str) -> Result<Option<Expected>, &'static str> {
    let expected = match text.split_once('=') {
        Some(("sha256", hex)) => Expected::Sha256(hex.to_ascii_lowercase()),
        Some(("md5", hex)) => Expected::Md5(hex.to_ascii_lowercase()),
        _ => return Ok(None),
    };
    if expected.is_well_formed() {
        Ok(Some(expected))
    } else {
        Err("the digest after # is malformed")
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hub(repo) => repo.fmt(f),
            Self::Web { url, .. } => f.write_str(&redact::shown(url)),
            Self::Local(path) => path.display().fmt(f),
            Self::Catalog(name) => f.write_str(name),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_apart() {
        let repo = |text: &str| match Source::parse(text).expect("parses") {
            Source::Hub(repo) => repo,
            other => panic!("{other:?}"),
        };
        let data = repo("hf://datasets/Cohere/wiki@refs/convert/parquet");
        assert_eq!((data.kind, data.id().as_str()), (RepoKind::Dataset, "Cohere/wiki"));
        assert_eq!(data.revision.as_deref(), Some("refs/convert/parquet"));
        assert_eq!(repo("hf://BAAI/bge-small-en-v1.5").kind, RepoKind::Model);
        assert_eq!(
            Source::parse("cohere_medium_1m").expect("parses"),
            Source::Catalog("cohere_medium_1m".into())
        );
        assert_eq!(Source::parse("/tmp").expect("parses"), Source::Local("/tmp".into()));
        assert_eq!(Source::parse("./x").expect("parses"), Source::Local("./x".into()));
        let hash = "a".repeat(64);
        match Source::parse(&format!("https://u:hunter2@e.org/f#sha256={hash}")).expect("parses") {
            Source::Web { expected, .. } => assert_eq!(expected, Some(Expected::Sha256(hash))),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn bad_sources_say_what_is_wrong_and_keep_passwords() {
        for (text, problem) in [
            ("hf://name", "a repository is owner/name"),
            ("hf://datasets/a/b/c", "a repository is owner/name"),
            ("hf://../b", "a repository is owner/name"),
            ("hf://a/b@", "the revision after @ is empty"),
            ("hf://a/b@../../x", "the revision is no name"),
            ("s3://bucket/key", "vprep does not speak `s3`"),
            ("ftp://u:hunter2@e.org/f", "vprep does not speak `ftp`"),
            ("https://u:hunter2@e.org/f#sha256=12", "the digest after # is malformed"),
            ("https://u:hunter2@[/f", "invalid"),
            ("", "it is empty"),
        ] {
            let error = Source::parse(text).expect_err(text).to_string();
            assert!(error.contains(problem), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        let source = Source::parse("https://u:hunter2@e.org/f?k=hunter2").expect("parses");
        assert!(!format!("{source} {source:?}").contains("hunter2"));
    }
}
