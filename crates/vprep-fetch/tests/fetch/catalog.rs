//! The whole built-in catalogue, with fakes in the places of its files.

use crate::local::archive;
use crate::util::World;
use toml::{Table, Value};
use vprep_fetch::{Catalog, File, RepoKind, Rewrite, Source};
use vprep_testkit::{Content, Fault, PlainFile, Repo};

const BUILT_IN: &str = include_str!("../../../../datasets/catalog.toml");

/// The name that the server has for what stands at an address.
fn key(url: &str) -> String {
    format!("files/{}", url.strip_prefix("https://").expect("the catalogue is checked"))
}

fn list<'a>(table: &'a mut Table, name: &str) -> impl Iterator<Item = &'a mut Table> {
    let array = table.get_mut(name).and_then(Value::as_array_mut);
    array.into_iter().flatten().map(|value| value.as_table_mut().expect("a table"))
}

/// Puts a file's length and digests in the places of others.
fn describe(entry: &mut Table, content: &Content) {
    entry.remove("rows");
    let part = entry.get("s3_part_bytes").and_then(Value::as_integer);
    for (name, value) in [
        ("bytes", Value::Integer(content.len() as i64)),
        ("sha256", content.sha256().into()),
        ("md5", content.md5().into()),
        ("s3_etag", content.s3_etag(part.unwrap_or(1) as u64).into()),
    ] {
        if let Some(place) = entry.get_mut(name) {
            *place = value;
        }
    }
}

fn text<'a>(table: &'a Table, name: &str) -> &'a str {
    table[name].as_str().expect("a text")
}

/// Serves a fake for each file, and returns the catalogue of the fakes.
fn fakes(world: &World) -> Catalog {
    let mut catalog: Table = BUILT_IN.parse().expect("TOML");
    let mut seed = 0;
    for set in list(&mut catalog, "set") {
        set.remove("rows");
        let mut repo = match set.get("hub").map(|hub| Source::parse(hub.as_str().expect("a text")))
        {
            Some(Ok(Source::Hub(repo))) => Some(match repo.kind {
                RepoKind::Model => (Repo::model(repo.id()), repo),
                RepoKind::Dataset => (Repo::dataset(repo.id()), repo),
            }),
            _ => None,
        };
        let mut bytes = 0;
        for file in list(set, "file") {
            seed += 1;
            let mut members = Vec::new();
            for member in list(file, "member") {
                let content = Content::random(seed, 100 + members.len() as u64);
                describe(member, &content);
                members.push((text(member, "path").to_owned(), content.to_vec()));
            }
            let content = if members.is_empty() {
                Content::random(seed, 1000 + seed)
            } else {
                let members: Vec<_> =
                    members.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
                archive(&members).into()
            };
            describe(file, &content);
            if file.get("optional").and_then(Value::as_bool) != Some(true) {
                bytes += content.len() as i64;
            }
            for url in file.get("urls").and_then(Value::as_array).into_iter().flatten() {
                let name = key(url.as_str().expect("a text"));
                let name = name.trim_start_matches("files/");
                world.hub.add_file(name, PlainFile::new(content.clone()));
            }
            repo = repo.map(|(fake, repo)| {
                (fake.lfs(text(file, "path").replace('*', "0.bin"), content), repo)
            });
        }
        if let Some(sum) = set.get_mut("bytes") {
            *sum = Value::Integer(bytes);
        }
        if let Some((fake, mut repo)) = repo {
            let commit = world.hub.add_repo(fake);
            // Pinned ones stay pinned.
            repo.revision = repo.revision.map(|_| commit);
            set.insert("hub".to_owned(), repo.to_string().into());
        }
    }
    let text = toml::to_string(&catalog).expect("TOML");
    Catalog::parse(&text, "fakes").expect("the structure of the built-in one")
}

#[test]
fn every_file_is_asked_for_at_its_addresses_in_order() {
    let world = World::new();
    let mut options = world.options();
    options.catalog = fakes(&world);
    options.include = vec!["*".to_owned()];
    options.rewrite = vec![Rewrite::new("https://", format!("{}/files/", world.hub.url()))];
    let sets = options.catalog.sets().to_vec();
    assert_eq!(sets.len(), Catalog::built_in().sets().len());
    for set in &sets {
        let mirrors = set.files.iter().map(|file| file.urls.len()).max().unwrap_or(0);
        for refusing in 0..mirrors.max(1) {
            world.hub.clear_faults();
            world.hub.reset_log();
            let asked = |file: &File| -> Vec<String> {
                let last = refusing.min(file.urls.len().saturating_sub(1));
                file.urls.iter().take(last + 1).map(|url| key(url)).collect()
            };
            for file in &set.files {
                for refused in asked(file).iter().rev().skip(1) {
                    world.hub.fault(refused.clone(), Fault::Status { code: 404 });
                }
            }
            let _ = std::fs::remove_dir_all(world.target());
            let fetched = world.fetch_with(&set.name, &options).unwrap_or_else(|error| {
                panic!("{} with {refusing} addresses refusing: {error}", set.name)
            });
            let installed = set.files.iter().map(|file| file.members.len().max(1)).sum::<usize>();
            assert_eq!(fetched.files.len(), installed, "{}", set.name);
            let log = world.hub.log();
            let keys: Vec<&str> = log.iter().filter_map(|entry| entry.key.as_deref()).collect();
            for file in &set.files {
                if set.hub.is_some() {
                    let path = format!("/{}", file.path.replace('*', "0.bin"));
                    assert!(keys.iter().any(|key| key.ends_with(&path)), "{path}");
                    continue;
                }
                let mut seen = keys.clone();
                seen.retain(|seen| file.urls.iter().any(|url| key(url) == *seen));
                assert_eq!(seen, asked(file), "{}: {}", set.name, file.path);
            }
        }
    }
}
