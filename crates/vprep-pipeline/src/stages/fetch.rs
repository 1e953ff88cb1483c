//! `fetch`: public data into `raw/`.
//!
//! Files arrive below `.vprep/fetch`, where a fetch that was cut off continues, and are published
//! as hard links: `raw/` holds what the source holds, whole, and nothing else.

use super::{Outcome, grouped};
use crate::facts::FetchStageFacts;
use crate::record::Record;
use crate::run::Stage;
use crate::{Context, PipelineError};
use std::fs;
use std::path::Path;
use vprep_data::{Content, DataError, files_below, listing_content};
use vprep_fetch::{Fetched, Set, Source, Verified, fetch};
use vprep_manifest::{
    FetchFacts, FetchTable, FetchedFile, RAW, SourceTable, canonical_json, sha256,
};

/// Where files arrive, relative to the dataset.
const ARRIVALS: &str = ".vprep/fetch";

pub(crate) fn run(table: &FetchTable, stage: &mut Stage<'_>) -> Result<Outcome, PipelineError> {
    let source = source(table)?;
    let arrivals = stage.dir.join(ARRIVALS);
    bring_along(&stage.dir.join(RAW), &arrivals)?;
    let mut options = stage.context.network.options(&arrivals);
    options.revision.clone_from(&table.revision);
    options.include.clone_from(&table.include);
    options.extract = table.extract;
    let fetched = fetch(&source, &options, stage.context.progress)?;

    let target = stage.outputs.create_dir(RAW)?;
    let mut listing = Vec::new();
    for file in &fetched.files {
        link(&arrivals.join(&file.path), &target.join(&file.path))?;
        let content = Content { bytes: file.bytes, sha256: file.sha256.clone() };
        listing.push((file.path.clone(), content));
    }
    let content = listing_content(listing);
    let mut summary = format!("{}: {} files", fetched.source, fetched.files.len());
    summary += &format!(", {} MB", grouped(content.bytes.div_ceil(1_000_000)));
    match fetched.downloaded {
        0 => summary += ", nothing downloaded",
        bytes => summary += &format!(", {} MB downloaded", grouped(bytes.div_ceil(1_000_000))),
    }
    stage.outputs.add(RAW, content);
    let facts = FetchStageFacts {
        about: Some(about(&source, &fetched, stage.context)),
        entry: entry(table, stage.context),
        fetched: facts(fetched),
    };
    Ok(Outcome::new(&facts, summary))
}

/// What a recipe's table names. A plain word is a name of the catalogue, whatever files lie around.
///
/// # Errors
///
/// If it is no source, a path (which `[import]` reads where it lies), or carries a password, which
/// a recipe would publish.
pub(crate) fn source(table: &FetchTable) -> Result<Source, PipelineError> {
    if !table.source.contains("://") && !table.source.contains(['/', '\\']) {
        return Ok(Source::Catalog(table.source.clone()));
    }
    match Source::parse(&table.source)? {
        Source::Local(path) => Err(PipelineError::Usage(format!(
            "fetch.source = {path:?} is a path; name its files in [import.base] instead"
        ))),
        Source::Web { url, .. } if !url.username().is_empty() || url.password().is_some() => {
            Err(PipelineError::Usage(
                "fetch.source carries a user name or password, and recipes are published; fetch the \
                 file with `vprep fetch`, and name it in [import.base]"
                    .to_owned(),
            ))
        }
        source => Ok(source),
    }
}

/// Digest of the catalogue's entry of a table's source; none where the catalogue has none.
pub(crate) fn entry(table: &FetchTable, context: &Context<'_>) -> Option<String> {
    match source(table) {
        Ok(Source::Catalog(name)) => {
            let set = context.network.catalog.get(&name).ok()?;
            Some(sha256(canonical_json(set).as_bytes()))
        }
        _ => None,
    }
}

/// The digest of the entry that a record was made from.
pub(crate) fn recorded_entry(record: &Record) -> Option<String> {
    record.facts.get("entry")?.as_str().map(str::to_owned)
}

/// Lets files that lie in `raw/` already count as arrived, if they prove to be what is wanted.
fn bring_along(raw: &Path, arrivals: &Path) -> Result<(), PipelineError> {
    if !raw.is_dir() {
        return Ok(());
    }
    for file in files_below(raw)? {
        let arrival = arrivals.join(&file);
        if !arrival.exists() {
            link(&raw.join(&file), &arrival)?;
        }
    }
    Ok(())
}

/// A hard link, or a copy where the file system has none.
fn link(from: &Path, to: &Path) -> Result<(), DataError> {
    let parent = to.parent().expect("a file lies in a directory");
    fs::create_dir_all(parent).map_err(DataError::io("create", parent))?;
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to).map_err(DataError::io("copy", from))?;
    }
    Ok(())
}

/// Where the data comes from, for the manifest.
fn about(source: &Source, fetched: &Fetched, context: &Context<'_>) -> SourceTable {
    let set: Option<&Set> = match source {
        Source::Catalog(name) => context.network.catalog.get(name).ok(),
        _ => None,
    };
    SourceTable {
        name: set.map_or_else(|| fetched.source.clone(), |set| set.title.clone()),
        url: Some(set.map_or_else(|| fetched.source.clone(), |set| set.homepage.clone())),
        revision: fetched.revision.clone(),
        licence: fetched.licence.clone(),
        citation: set.map(|set| set.citation.clone()),
    }
}

fn facts(fetched: Fetched) -> FetchFacts {
    let verified = |verified| match verified {
        Verified::Digest => "digest",
        Verified::Archive => "archive",
        Verified::Length => "length",
        Verified::Nothing | Verified::Local => "nothing",
    };
    let file = |file: vprep_fetch::FetchedFile| FetchedFile {
        verified: verified(file.verified).to_owned(),
        path: file.path,
        bytes: file.bytes,
        sha256: file.sha256,
    };
    FetchFacts {
        source: fetched.source,
        revision: fetched.revision,
        files: fetched.files.into_iter().map(file).collect(),
    }
}
