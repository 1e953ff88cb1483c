//! The catalogue: public data that people benchmark with. What exists is data, in
//! `datasets/catalog.toml`; here are its types and the checks that it does not contradict itself.

mod check;

use crate::{Expected, FetchError, FetchedFile, rows};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use vprep_core::{Metric, Progress};

const BUILT_IN: &str = include_str!("../../../../datasets/catalog.toml");

/// Every known set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    schema: u32,
    #[serde(rename = "set")]
    sets: Vec<Set>,
}

/// One public set.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The name in `vprep fetch <name>`.
    pub name: String,
    /// What it is, in a line.
    pub title: String,
    /// Where people read about it.
    pub homepage: String,
    /// Under which terms it may be used.
    pub licence: String,
    /// How to cite it.
    pub citation: String,
    /// How its vectors are to be compared, if it has vectors.
    pub metric: Option<Metric>,
    /// Their dimension.
    pub dim: Option<u32>,
    /// Whether they are unit length.
    pub unit_length: Option<bool>,
    /// Rows of the base, where known.
    pub rows: Option<u64>,
    /// Bytes of the files that are fetched unless told, where all are known.
    pub bytes: Option<u64>,
    /// A repository of the hub that holds the files, as `hf://…`; else each file has `urls`.
    pub hub: Option<String>,
    /// The set that holds the same data in another form, for when this one cannot be had. It is
    /// never taken silently: its files and texts may differ.
    pub instead: Option<String>,
    /// What else one should know.
    pub note: Option<String>,
    /// Columns of the tables, by the role of their file.
    #[serde(default)]
    pub columns: BTreeMap<String, Vec<Column>>,
    /// The files.
    #[serde(default, rename = "file")]
    pub files: Vec<File>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type of its elements, as in `int64` or `list<float32>`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A file of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Where it is installed; of a hub set, a pattern of paths in the repository.
    pub path: String,
    /// What it is: `base`, `queries`, `neighbors`, `qrels`, `texts`, `model`, `labels` or `archive`.
    pub role: String,
    /// Where it can be had, in order.
    #[serde(default)]
    pub urls: Vec<String>,
    /// Its length, where known.
    pub bytes: Option<u64>,
    /// Its sha256, where known.
    pub sha256: Option<String>,
    /// Its md5, where known.
    pub md5: Option<String>,
    /// Its S3 multipart ETag, where known; `s3_part_bytes` goes with it.
    pub s3_etag: Option<String>,
    /// Bytes of each part of that upload.
    pub s3_part_bytes: Option<u64>,
    /// Its rows, where known.
    pub rows: Option<u64>,
    /// Whether it is fetched only on demand (`--include`).
    #[serde(default)]
    pub optional: bool,
    /// Of an archive: the members that are installed. The archive itself is not.
    #[serde(default, rename = "member")]
    pub members: Vec<Member>,
}

/// A member of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its path in the archive, and below the directory.
    pub path: String,
    /// What it is, as for a [`File`].
    pub role: String,
    /// Its length, where known.
    pub bytes: Option<u64>,
    /// Its md5, where known.
    pub md5: Option<String>,
    /// Its rows, where known.
    pub rows: Option<u64>,
    /// Whether it is installed only on demand.
    #[serde(default)]
    pub optional: bool,
}

impl Catalog {
    /// The catalogue that vprep ships.
    pub fn built_in() -> Self {
        Self::parse(BUILT_IN, "built-in catalogue").expect("a test checks the built-in catalogue")
    }

    /// Reads a catalogue.
    ///
    /// # Errors
    ///
    /// If it cannot be read, has unknown keys or contradicts itself.
    pub fn load(path: &Path) -> Result<Self, FetchError> {
        let text = fs::read_to_string(path).map_err(FetchError::io("read", path))?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads a catalogue from its text; `origin` names it in messages.
    ///
    /// # Errors
    ///
    /// If it has unknown keys or contradicts itself.
    pub fn parse(text: &str, origin: &str) -> Result<Self, FetchError> {
        let bad = |problem| FetchError::Catalog { origin: origin.to_owned(), problem };
        let catalog: Self = toml::from_str(text)
            .map_err(|error| bad(error.to_string().trim_end().replace('\n', " ")))?;
        check::catalog(&catalog).map_err(bad)?;
        Ok(catalog)
    }

    /// The sets, in the catalogue's order.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// The set of a name.
    ///
    /// # Errors
    ///
    /// If there is none; the error lists those that there are.
    pub fn get(&self, name: &str) -> Result<&Set, FetchError> {
        self.sets.iter().find(|set| set.name == name).ok_or_else(|| FetchError::UnknownName {
            name: name.to_owned(),
            known: self.sets.iter().map(|set| set.name.clone()).collect(),
        })
    }
}

impl Set {
    /// Compares the rows of the installed base with those that the set declares.
    ///
    /// # Errors
    ///
    /// [`FetchError::Rows`] with both numbers if they differ.
    pub fn check_rows(&self, found: u64) -> Result<(), FetchError> {
        same_rows(&self.name, self.rows, found)
    }

    /// Counts the rows of files that were installed below `into` and compares them with what the set
    /// declares: each file's, and those of its base (or texts) as a whole if all its files are there.
    /// Files whose format does not tell are passed over.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or [`FetchError::Rows`] with both numbers.
    pub fn check_installed(
        &self,
        into: &Path,
        files: &[FetchedFile],
        progress: &dyn Progress,
    ) -> Result<(), FetchError> {
        let (mut total, mut complete) = (0, false);
        for part in self.parts() {
            let pattern = glob::Pattern::new(part.path).ok();
            let is_it = |path: &str| match (&self.hub, &pattern) {
                (Some(_), Some(pattern)) => pattern.matches(path),
                _ => path == part.path,
            };
            let counts = matches!(part.role, "base" | "texts") && !part.optional;
            let mut found = None;
            for file in files.iter().filter(|file| is_it(&file.path)) {
                if part.rows.is_some() || (counts && self.rows.is_some()) {
                    let rows = rows::count(&into.join(&file.path), progress)?;
                    found = rows.map(|rows| found.unwrap_or(0) + rows);
                }
            }
            match found {
                Some(found) => {
                    same_rows(&format!("{}: {}", self.name, part.path), part.rows, found)?;
                    total += if counts { found } else { 0 };
                    complete |= counts;
                }
                None if counts => return Ok(()),
                None => {}
            }
        }
        if complete { self.check_rows(total) } else { Ok(()) }
    }

    /// What is installed: files, and members in place of archives.
    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.files.iter().flat_map(|file| {
            let whole = file.members.is_empty().then_some(Part {
                path: &file.path,
                role: &file.role,
                rows: file.rows,
                optional: file.optional,
            });
            let members = file.members.iter().map(|member| Part {
                path: &member.path,
                role: &member.role,
                rows: member.rows,
                optional: member.optional,
            });
            whole.into_iter().chain(members)
        })
    }
}

struct Part<'a> {
    path: &'a str,
    role: &'a str,
    rows: Option<u64>,
    optional: bool,
}

fn same_rows(what: &str, declared: Option<u64>, found: u64) -> Result<(), FetchError> {
    match declared {
        Some(declared) if declared != found => {
            Err(FetchError::Rows { what: what.to_owned(), declared, found })
        }
        _ => Ok(()),
    }
}

impl File {
    /// The digest that the file must have.
    pub fn expected(&self) -> Option<Expected> {
        let etag = || {
            let part_bytes = self.s3_part_bytes.unwrap_or(0);
            self.s3_etag.clone().map(|etag| Expected::S3Etag { etag, part_bytes })
        };
        let sha256 = self.sha256.clone().map(Expected::Sha256);
        sha256.or_else(|| self.md5.clone().map(Expected::Md5)).or_else(etag)
    }
}
