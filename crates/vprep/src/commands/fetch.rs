//! `fetch`: public data into any directory, and what the catalogue holds.

use crate::cli::{FetchArgs, NetworkArgs};
use crate::error::CliError;
use crate::output::{Output, one_line};
use crate::table;
use indicatif::DecimalBytes;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use vprep_core::Kind;
use vprep_fetch::{Catalog, Fetched, Options, Rewrite, Set, Source, Verified, fetch as start};
use vprep_manifest::SCHEMA;
use vprep_pipeline::{Context, Network};

/// What `fetch --json` prints.
#[derive(Serialize)]
struct FetchReport<'a> {
    schema: u32,
    source: &'a str,
    revision: &'a Option<String>,
    licence: &'a Option<String>,
    into: String,
    downloaded: u64,
    files: Vec<FileReport<'a>>,
}

#[derive(Serialize)]
struct FileReport<'a> {
    path: &'a str,
    bytes: u64,
    sha256: &'a str,
    url: &'a str,
    verified: Verified,
}

/// What `fetch --list --json` prints.
#[derive(Serialize)]
struct ListReport<'a> {
    schema: u32,
    sets: Vec<&'a Set>,
}

/// What the flags and the environment say about the network.
pub(crate) fn network(args: &NetworkArgs) -> Result<Network, CliError> {
    let catalog = args.catalog.as_deref().map_or_else(|| Ok(Catalog::built_in()), Catalog::load)?;
    let rewrite = Rewrite::parse_all(args.mirror.as_deref().unwrap_or_default())?;
    Ok(Network { offline: args.offline, jobs: args.jobs.into(), catalog, rewrite })
}

pub(crate) fn fetch(
    args: &FetchArgs,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let catalog = &context.network.catalog;
    let (source, into) = match (&args.source, &args.into) {
        (Some(source), Some(into)) if !args.list => (source, into),
        (name, _) => return list(name.as_deref(), catalog, output),
    };
    let source = Source::parse(source)?;
    let options = Options {
        revision: args.revision.clone(),
        include: args.include.clone(),
        extract: args.extract,
        link: args.link,
        ..context.network.options(into)
    };
    let clock = Instant::now();
    let fetched = start(&source, &options, context.progress)?;
    let bytes = fetched.files.iter().map(|file| file.bytes).sum();
    output.done(
        "fetch",
        clock.elapsed().as_secs_f64(),
        &format!(
            "{}: {} files, {}, downloaded {}",
            fetched.source,
            fetched.files.len(),
            DecimalBytes(bytes),
            DecimalBytes(fetched.downloaded)
        ),
    );
    for file in &fetched.files {
        let known = match file.verified {
            Verified::Length => "only its length was checked",
            Verified::Nothing => "nothing could be checked",
            Verified::Digest | Verified::Archive | Verified::Local => continue,
        };
        let path = one_line(&file.path);
        output.note(format_args!("note: {path}: nobody publishes a digest of it, {known}"));
    }
    output.result(&report(&fetched, into), || {
        let line = |file: &vprep_fetch::FetchedFile| {
            format!("{}  {}\n", file.sha256, one_line(&file.path))
        };
        fetched.files.iter().map(line).collect()
    })?;
    Ok(None)
}

fn report<'a>(fetched: &'a Fetched, into: &Path) -> FetchReport<'a> {
    let file = |file: &'a vprep_fetch::FetchedFile| FileReport {
        path: &file.path,
        bytes: file.bytes,
        sha256: &file.sha256,
        url: &file.url,
        verified: file.verified,
    };
    FetchReport {
        schema: SCHEMA,
        source: &fetched.source,
        revision: &fetched.revision,
        licence: &fetched.licence,
        into: into.display().to_string(),
        downloaded: fetched.downloaded,
        files: fetched.files.iter().map(file).collect(),
    }
}

/// The catalogue, or one set of it whole.
fn list(name: Option<&str>, catalog: &Catalog, output: &Output) -> Result<Option<Kind>, CliError> {
    let sets: Vec<&Set> = match name {
        Some(name) => vec![catalog.get(name)?],
        None => catalog.sets().iter().collect(),
    };
    let report = ListReport { schema: SCHEMA, sets };
    output.result(&report, || match (name, report.sets.as_slice()) {
        (Some(_), [set]) => whole(set),
        _ => overview(&report.sets),
    })?;
    Ok(None)
}

fn overview(sets: &[&Set]) -> String {
    let row = |set: &&Set| {
        vec![
            set.name.clone(),
            set.rows.map_or_else(unknown, |rows| rows.to_string()),
            set.dim.map_or_else(|| "texts".to_owned(), |dim| dim.to_string()),
            set.bytes.map_or_else(unknown, size),
            set.title.clone(),
        ]
    };
    let rows = sets.iter().map(row).collect();
    table::plain(&["name", "rows", "dim", "size", "what"], &["rows", "dim", "size"], rows)
}

fn whole(set: &Set) -> String {
    let mut text = format!("{}: {}\n", set.name, set.title);
    let mut line = |name: &str, value: String| text += &format!("  {name:<12} {value}\n");
    line("homepage", set.homepage.clone());
    line("licence", set.licence.clone());
    line("citation", set.citation.clone());
    if let (Some(metric), Some(dim)) = (set.metric, set.dim) {
        let unit = if set.unit_length == Some(true) { "unit length" } else { "not unit length" };
        line("vectors", format!("dim {dim}, {metric}, {unit}"));
    }
    if let Some(rows) = set.rows {
        line("rows", rows.to_string());
    }
    for (role, columns) in &set.columns {
        let columns: Vec<_> = columns.iter().map(|c| format!("{} ({})", c.name, c.kind)).collect();
        line(role, columns.join(", "));
    }
    set.hub.iter().for_each(|hub| line("hub", hub.clone()));
    set.instead.iter().for_each(|instead| line("instead", instead.clone()));
    set.note.iter().for_each(|note| line("note", note.clone()));
    let row = |file: &vprep_fetch::File| {
        let digest = file.expected().map_or_else(
            || if set.hub.is_some() { "the hub's".to_owned() } else { "not published".to_owned() },
            |expected| format!("{} {}", expected.algorithm(), expected.text()),
        );
        let fetched = if file.optional { "on demand" } else { "yes" };
        let bytes = file.bytes.map_or_else(unknown, size);
        vec![file.path.clone(), file.role.clone(), bytes, fetched.to_owned(), digest]
    };
    let header = ["file", "role", "size", "fetched", "digest"];
    text + &table::plain(&header, &["size"], set.files.iter().map(row).collect())
}

fn size(bytes: u64) -> String {
    DecimalBytes(bytes).to_string()
}

fn unknown() -> String {
    "-".to_owned()
}
