//! What a source comes to: files, where each can be had, and what it must be.

use crate::http::Http;
use crate::hub::{self, Entry, Hub, cache, listing};
use crate::transfer::Origin;
use crate::{Catalog, Expected, FetchError, File, HubRepo, Options, Set, Source, digest, redact};
use reqwest::Url;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Patterns of `--include`.
pub(crate) struct Patterns {
    texts: Vec<String>,
    patterns: Vec<glob::Pattern>,
}

impl Patterns {
    pub(crate) fn new(texts: &[String]) -> Result<Self, FetchError> {
        let parse = |text: &String| {
            // `data/` is everything below it, as in Python's client.
            let text = if text.ends_with('/') { format!("{text}*") } else { text.clone() };
            glob::Pattern::new(&text).map_err(|error| FetchError::Pattern {
                pattern: text.clone(),
                problem: error.msg.to_owned(),
            })
        };
        let patterns = texts.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { texts: texts.to_vec(), patterns })
    }

    /// Whether everything is wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    pub(crate) fn select(&self, path: &str) -> bool {
        self.is_empty() || self.patterns.iter().any(|pattern| pattern.matches(path))
    }

    /// The patterns, if each is a plain path.
    fn literal(&self) -> Option<&[String]> {
        let plain = |text: &String| !text.ends_with('/') && !text.contains(['*', '?', '[']);
        (!self.is_empty() && self.texts.iter().all(plain)).then_some(&self.texts)
    }

    pub(crate) fn nothing(&self, origin: &str, listed: usize) -> FetchError {
        FetchError::NothingMatches {
            origin: origin.to_owned(),
            patterns: if self.is_empty() { vec!["*".to_owned()] } else { self.texts.clone() },
            listed,
        }
    }
}

/// A fetch, planned.
pub(crate) struct Plan {
    pub(crate) revision: Option<String>,
    pub(crate) items: Vec<Item>,
    /// The set whose rows are compared in the end.
    pub(crate) set: Option<Set>,
}

/// A file to have.
#[derive(Debug)]
pub(crate) struct Item {
    /// Below the directory, with `/`.
    pub(crate) path: String,
    /// See [`crate::record::Installed`].
    pub(crate) identity: String,
    pub(crate) bytes: Option<u64>,
    pub(crate) expected: Option<Expected>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) kind: Kind,
}

/// What becomes of a file that came.
#[derive(Debug)]
pub(crate) enum Kind {
    /// It is moved into place.
    Plain,
    /// It becomes a blob of the cache, and is linked or copied from there.
    Cached(HubRepo, String, Entry),
    /// It is unpacked.
    Archive(Members),
}

/// Members of an archive.
#[derive(Clone, Debug)]
pub(crate) enum Members {
    /// These, with the md5 where it is known.
    Named(Vec<(String, Option<String>)>),
    /// Those that match.
    Matching(Vec<String>),
}

pub(crate) async fn plan(
    source: &Source,
    options: &Options,
    http: &Http,
) -> Result<Plan, FetchError> {
    match source {
        Source::Hub(repo) => {
            let patterns = Patterns::new(&options.include)?;
            let repo = HubRepo {
                revision: options.revision.clone().or_else(|| repo.revision.clone()),
                ..repo.clone()
            };
            hub(&repo, &patterns, options, http).await
        }
        Source::Web { url, expected } => {
            let item = web(url, expected.clone(), options)?;
            Ok(Plan { revision: None, items: vec![item], set: None })
        }
        Source::Catalog(name) => catalog(&options.catalog, name, options, http).await,
        Source::Local(_) => unreachable!("local sources need no plan"),
    }
}

async fn hub(
    repo: &HubRepo,
    patterns: &Patterns,
    options: &Options,
    http: &Http,
) -> Result<Plan, FetchError> {
    let settings = &options.hub;
    let hub = Hub::new(settings, &options.limits)?;
    let revision = repo.revision.as_deref().unwrap_or("main");
    let offline = options.offline;
    let missing = || FetchError::Offline { what: format!("{repo}") };
    let commit = if cache::is_commit(revision) {
        revision.to_ascii_lowercase()
    } else if offline {
        cache::read_ref(settings, repo, revision).ok_or_else(missing)?
    } else {
        let commit = hub.commit(http, repo, revision).await?;
        cache::write_ref(settings, repo, revision, &commit)?;
        commit
    };
    let entries = match listing::cached(settings, repo, &commit) {
        Some(entries) => entries,
        None => {
            let present = cache::present(settings, repo, &commit);
            let named = patterns.literal().is_some_and(|names| {
                names.iter().all(|name| present.iter().any(|entry| entry.path == *name))
            });
            if named || offline {
                present
            } else {
                let entries = hub.listing(http, repo, &commit).await?;
                cache::write_listing(settings, repo, &commit, &entries)?;
                entries
            }
        }
    };
    let listed = entries.len();
    if listed == 0 && offline {
        return Err(missing());
    }
    let origins = |entry: &Entry| {
        let url = hub.file_url(repo, &commit, &entry.path);
        let web = Origin::Web { url, token: settings.token.clone() };
        let xet = || Origin::Xet(Arc::new(hub.xet_file(repo, &commit, &entry.path)));
        if entry.xet && settings.xet { vec![xet(), web] } else { vec![web] }
    };
    let item = |entry: Entry| {
        let expected = entry.expected();
        Item {
            path: entry.path.clone(),
            identity: identity(&expected),
            bytes: Some(entry.bytes),
            expected: Some(expected),
            origins: origins(&entry),
            kind: Kind::Cached(repo.clone(), commit.clone(), entry),
        }
    };
    let items: Vec<Item> =
        entries.into_iter().filter(|entry| patterns.select(&entry.path)).map(item).collect();
    if items.is_empty() {
        return Err(patterns.nothing(&repo.to_string(), listed));
    }
    Ok(Plan { revision: Some(commit), items, set: None })
}

fn web(url: &Url, expected: Option<Expected>, options: &Options) -> Result<Item, FetchError> {
    let bad = |problem: &str| FetchError::Source {
        text: redact::shown(url),
        problem: problem.to_owned(),
    };
    let last = url.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default();
    let name = unescape(last);
    if name.contains('/') || crate::paths::below(&name).is_none() || name.starts_with(".vprep") {
        return Err(bad("its last part is no file name"));
    }
    let kind = if options.extract {
        Patterns::new(&options.include)?;
        Kind::Archive(Members::Matching(options.include.clone()))
    } else {
        Kind::Plain
    };
    let identity = match &expected {
        Some(expected) => identity(expected),
        // The address may carry secrets, its hash does not tell them.
        None => format!("url:{}", digest::hex(&Sha256::digest(url.as_str()))),
    };
    let origins = vec![origin(url.as_str(), options)?];
    Ok(Item { path: name, identity, bytes: None, expected, origins, kind })
}

async fn catalog(
    catalog: &Catalog,
    name: &str,
    options: &Options,
    http: &Http,
) -> Result<Plan, FetchError> {
    let set = catalog.get(name)?;
    let patterns = Patterns::new(&options.include)?;
    if let Some(source) = &set.hub {
        let Source::Hub(mut repo) = Source::parse(source)? else {
            unreachable!("the catalogue is checked")
        };
        repo.revision = options.revision.clone().or(repo.revision);
        let needed = set.files.iter().filter(|file| !file.optional).map(|file| file.path.clone());
        let default = Patterns::new(&needed.collect::<Vec<_>>())?;
        let patterns = if patterns.is_empty() { default } else { patterns };
        let plan = hub(&repo, &patterns, options, http).await?;
        return Ok(Plan { set: Some(set.clone()), ..plan });
    }
    let mut items = Vec::new();
    for file in &set.files {
        if let Some(kind) = wanted(file, &patterns) {
            items.push(catalog_item(set, file, kind, options)?);
        }
    }
    if items.is_empty() {
        return Err(patterns.nothing(&set.name, set.files.len()));
    }
    Ok(Plan { revision: None, items, set: Some(set.clone()) })
}

/// Whether a file of a set is fetched: what is not optional, or what a pattern names.
fn wanted(file: &File, patterns: &Patterns) -> Option<Kind> {
    let want = |path: &str, optional: bool| {
        if patterns.is_empty() { !optional } else { patterns.select(path) }
    };
    if file.members.is_empty() {
        return want(&file.path, file.optional).then_some(Kind::Plain);
    }
    let members = file.members.iter().filter(|m| want(&m.path, m.optional || file.optional));
    let members: Vec<_> = members.map(|m| (m.path.clone(), m.md5.clone())).collect();
    (!members.is_empty()).then_some(Kind::Archive(Members::Named(members)))
}

fn catalog_item(set: &Set, file: &File, kind: Kind, options: &Options) -> Result<Item, FetchError> {
    let expected = file.expected();
    let identity =
        expected.as_ref().map_or_else(|| format!("catalog:{}/{}", set.name, file.path), identity);
    let origins = file.urls.iter().map(|url| origin(url, options)).collect::<Result<_, _>>()?;
    Ok(Item { path: file.path.clone(), identity, bytes: file.bytes, expected, origins, kind })
}

/// The address to ask, after the options' rewriting.
fn origin(url: &str, options: &Options) -> Result<Origin, FetchError> {
    let rewritten = options.rewrite.iter().find_map(|rule| rule.apply(url));
    let url = Url::parse(rewritten.as_deref().unwrap_or(url)).map_err(|error| {
        FetchError::Source { text: redact::shown_text(url), problem: error.to_string() }
    })?;
    Ok(Origin::Web { url, token: None })
}

fn identity(expected: &Expected) -> String {
    format!("{}:{}", expected.algorithm(), expected.text())
}

/// The name of a part: the digest that the file must have, or else its identity's hash.
pub(crate) fn key(item: &Item) -> String {
    match &item.expected {
        Some(expected) => expected.text().to_owned(),
        None => digest::hex(&Sha256::digest(&item.identity))[..16].to_owned(),
    }
}

/// Undoes `%20` and the like.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let code = code.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, code) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Where the part of an item lies.
pub(crate) fn part_of(item: &Item, options: &Options) -> std::path::PathBuf {
    match &item.kind {
        Kind::Cached(repo, _, entry) => {
            let dir = hub::cache::blobs(&options.hub, repo);
            crate::transfer::Part::path_of(&dir, "", &entry.etag)
        }
        Kind::Plain | Kind::Archive(_) => {
            let target = options.into.join(&item.path);
            let dir = target.parent().unwrap_or(&options.into).to_owned();
            let name = target.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            crate::transfer::Part::path_of(&dir, name, &key(item))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_pythons_client() {
        let patterns = |texts: &[&str]| {
            let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
            Patterns::new(&texts).expect("parses")
        };
        assert!(patterns(&[]).select("a/b"));
        assert!(patterns(&["*.parquet"]).select("a/b.parquet"));
        assert!(patterns(&["a/"]).select("a/b/c"));
        assert!(!patterns(&["a/"]).select("b/a"));
        assert!(patterns(&["a/b"]).literal().is_some() && patterns(&["a*"]).literal().is_none());
        assert!(Patterns::new(&["a[".to_owned()]).is_err());
    }

    #[test]
    fn names_of_addresses_cannot_lead_out() {
        let options = Options::new("/tmp/x");
        let item = |url| web(&Url::parse(url).expect("an address"), None, &options);
        assert_eq!(item("https://e.org/a/b%20c.txt?k=v").expect("a name").path, "b c.txt");
        for bad in ["https://e.org/", "https://e.org/a%2F..%2F..%2Fb", "https://e.org/%2e%2e%5cx"] {
            assert!(item(bad).is_err(), "{bad}");
        }
    }
}
