//! The catalogue against itself.

use super::{Catalog, File, Set};
use crate::{Expected, Source, paths};
use std::collections::HashSet;

const ROLES: [&str; 8] =
    ["base", "queries", "neighbors", "qrels", "texts", "model", "labels", "archive"];

pub(super) fn catalog(catalog: &Catalog) -> Result<(), String> {
    if catalog.schema != 1 {
        return Err(format!("schema {} is unknown; this vprep reads 1", catalog.schema));
    }
    let mut names = HashSet::new();
    for set in &catalog.sets {
        if !names.insert(set.name.as_str()) {
            return Err(format!("two sets are called `{}`", set.name));
        }
        self::set(set).map_err(|problem| format!("set `{}`: {problem}", set.name))?;
    }
    for set in &catalog.sets {
        if let Some(instead) = set.instead.as_deref().filter(|name| !names.contains(name)) {
            return Err(format!("set `{}`: there is no `{instead}` to use instead", set.name));
        }
    }
    Ok(())
}

fn set(set: &Set) -> Result<(), String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if set.name.is_empty() || !set.name.chars().all(legal) || set.name.starts_with('.') {
        return Err("a name has letters, digits, `_`, `-` and `.`".to_owned());
    }
    for (what, text) in [
        ("title", &set.title),
        ("homepage", &set.homepage),
        ("licence", &set.licence),
        ("citation", &set.citation),
    ] {
        if text.trim().is_empty() {
            return Err(format!("{what} is empty"));
        }
    }
    if let (Some(named), Some(rows)) = (rows_in_name(&set.name), set.rows)
        && named != rows
    {
        return Err(format!("the name says {named} rows, and `rows` says {rows}"));
    }
    if set.files.is_empty() {
        return Err("it has no file".to_owned());
    }
    if let Some(hub) = &set.hub
        && !matches!(Source::parse(hub), Ok(Source::Hub(_)))
    {
        return Err(format!("`{hub}` is no repository of the hub"));
    }
    if set.metric.is_some() != set.dim.is_some()
        || set.metric.is_some() != set.unit_length.is_some()
    {
        return Err("metric, dim and unit_length belong together".to_owned());
    }
    let mut seen = HashSet::new();
    for file in &set.files {
        self::file(set, file).map_err(|problem| format!("file `{}`: {problem}", file.path))?;
        let installed = file.members.iter().map(|member| &member.path);
        for path in installed.chain([&file.path]) {
            if !seen.insert(path) {
                return Err(format!("two files are called `{path}`"));
            }
        }
    }
    for role in set.columns.keys() {
        let members = set.files.iter().flat_map(|file| file.members.iter().map(|m| &m.role));
        if !set.files.iter().map(|file| &file.role).chain(members).any(|has| has == role) {
            return Err(format!("columns are given for `{role}`, which no file is"));
        }
    }
    sums(set)
}

fn sums(set: &Set) -> Result<(), String> {
    let needed = || set.files.iter().filter(|file| !file.optional);
    let bytes: Option<u64> = needed().map(|file| file.bytes).sum();
    match (set.bytes, bytes) {
        (Some(said), Some(sum)) if said != sum => {
            return Err(format!("`bytes` says {said}, and its files have {sum}"));
        }
        (Some(_), None) => return Err("`bytes` is given, but not that of each file".to_owned()),
        _ => {}
    }
    let base = || needed().filter(|file| file.role == "base");
    let rows: Option<u64> = base().map(|file| file.rows).sum();
    match (set.rows, rows) {
        (Some(said), Some(sum)) if base().next().is_some() && said != sum => {
            Err(format!("`rows` says {said}, and the files of its base have {sum}"))
        }
        _ => Ok(()),
    }
}

fn file(set: &Set, file: &File) -> Result<(), String> {
    if !ROLES.contains(&file.role.as_str()) {
        return Err(format!("role `{}` is none of {}", file.role, ROLES.join(", ")));
    }
    if paths::below(&file.path).is_none() {
        return Err("it would leave the directory".to_owned());
    }
    match (&set.hub, file.urls.is_empty()) {
        (Some(_), false) => return Err("a file of a hub set has no urls".to_owned()),
        (None, true) => return Err("it has no urls".to_owned()),
        _ => {}
    }
    for url in &file.urls {
        if !matches!(Source::parse(url), Ok(Source::Web { .. })) || !url.starts_with("https://") {
            return Err(format!("`{url}` is no https address"));
        }
    }
    let digests = [&file.sha256, &file.md5, &file.s3_etag];
    if digests.iter().filter(|digest| digest.is_some()).count() > 1 {
        return Err("one digest is enough".to_owned());
    }
    if file.s3_etag.is_some() != file.s3_part_bytes.is_some() {
        return Err("s3_etag and s3_part_bytes belong together".to_owned());
    }
    if let Some(expected) = file.expected() {
        if !expected.is_well_formed() {
            return Err(format!("`{}` is no {}", expected.text(), expected.algorithm()));
        }
        parts(&expected, file.bytes)?;
    }
    if file.members.is_empty() != (file.role != "archive") {
        return Err("an archive has members, and nothing else has".to_owned());
    }
    for member in &file.members {
        if paths::below(&member.path).is_none() {
            return Err(format!("member `{}` would leave the directory", member.path));
        }
        if !ROLES.contains(&member.role.as_str()) {
            return Err(format!("role `{}` is none of {}", member.role, ROLES.join(", ")));
        }
        if let Some(md5) = member.md5.clone().map(Expected::Md5)
            && !md5.is_well_formed()
        {
            return Err(format!("member `{}`: `{}` is no md5", member.path, md5.text()));
        }
    }
    Ok(())
}

/// The parts of a multipart upload are as many as its length needs.
fn parts(expected: &Expected, bytes: Option<u64>) -> Result<(), String> {
    if let (Expected::S3Etag { etag, part_bytes }, Some(bytes)) = (expected, bytes)
        && let Some((_, parts)) = etag.split_once('-')
        && parts.parse() != Ok(bytes.div_ceil(*part_bytes))
    {
        let needed = bytes.div_ceil(*part_bytes);
        return Err(format!(
            "its ETag counts {parts} parts, and {bytes} bytes are {needed} of them"
        ));
    }
    Ok(())
}

/// The rows that a name ends in: `…_100k`, `…-1m`.
fn rows_in_name(name: &str) -> Option<u64> {
    let last = name.rsplit(['_', '-']).next()?.to_ascii_lowercase();
    let (digits, unit) = match (last.strip_suffix('k'), last.strip_suffix('m')) {
        (Some(digits), _) => (digits, 1_000),
        (_, Some(digits)) => (digits, 1_000_000),
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        schema = 1
        [[set]]
        name = "x_1m"
        title = "t"
        homepage = "https://e.org"
        licence = "l"
        citation = "c"
        metric = "cosine"
        dim = 768
        unit_length = false
        rows = 1_000_000
        bytes = 3_134_418_448
        columns.base = [{ name = "id", type = "int64" }]
        [[set.file]]
        path = "train.parquet"
        role = "base"
        urls = ["https://e.org/x"]
        bytes = 3_134_418_448
        s3_etag = "aa5dee664dc87b3e416c9863723a0ba4-374"
        s3_part_bytes = 8_388_608
        rows = 1_000_000
    "#;

    #[test]
    fn the_built_in_catalogue_does_not_contradict_itself() {
        let catalog = Catalog::built_in();
        for name in ["cohere_small_100k", "cohere_medium_1m", "cohere_large_10m"] {
            let set = catalog.get(name).expect("is there");
            assert_eq!(set.rows, rows_in_name(name));
            assert_eq!((set.dim, set.unit_length), (Some(768), Some(false)));
        }
        let passages = catalog.get("msmarco_passage_v1").expect("is there");
        let members: Vec<_> = passages.files[0].members.iter().map(|m| m.path.as_str()).collect();
        for member in ["collection.tsv", "queries.dev.small.tsv", "qrels.dev.small.tsv"] {
            assert!(members.contains(&member), "{member}");
        }
        assert!(passages.instead.is_some());
        let error = catalog.get("cohere").expect_err("unknown").to_string();
        assert!(error.contains("cohere_medium_1m"), "{error}");
    }

    #[test]
    fn contradictions_are_told_with_both_numbers() {
        Catalog::parse(GOOD, "test").expect("good");
        for (from, to, problem) in [
            (
                "rows = 1_000_000\n        bytes",
                "rows = 975_000\n        bytes",
                "the name says 1000000 rows, and `rows` says 975000",
            ),
            (
                "8_388_608\n        rows = 1_000_000",
                "8_388_608\n        rows = 975_000",
                "`rows` says 1000000, and the files of its base have 975000",
            ),
            (
                "bytes = 3_134_418_448\n        columns",
                "bytes = 3\n        columns",
                "`bytes` says 3, and its files have 3134418448",
            ),
            (
                "0ba4-374",
                "0ba4-373",
                "its ETag counts 373 parts, and 3134418448 bytes are 374 of them",
            ),
            ("aa5dee", "5dee", "is no S3 ETag"),
            ("dim = 768", "dimension = 768", "unknown field `dimension`"),
            ("train.parquet", "../train.parquet", "it would leave the directory"),
            ("\"base\"", "\"bass\"", "role `bass` is none of"),
            ("https://e.org/x", "http://e.org/x", "is no https address"),
            ("metric = \"cosine\"", "", "metric, dim and unit_length belong together"),
            ("schema = 1", "schema = 2", "schema 2 is unknown"),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            let error = Catalog::parse(&text, "test").expect_err(problem).to_string();
            assert!(error.contains(problem), "{error}");
        }
        let twice = format!("{GOOD}{}", GOOD.replace("schema = 1", ""));
        let error = Catalog::parse(&twice, "test").expect_err("twice").to_string();
        assert!(error.contains("two sets are called `x_1m`"), "{error}");
    }

    #[test]
    fn a_set_with_fewer_rows_than_its_name_says_is_refused() {
        let catalog = Catalog::built_in();
        let set = catalog.get("cohere_medium_1m").expect("is there");
        set.check_rows(1_000_000).expect("as declared");
        let error = set.check_rows(975_000).expect_err("too few").to_string();
        assert!(error.contains("975000 rows") && error.contains("1000000"), "{error}");
    }
}
