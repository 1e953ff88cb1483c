//! Local files and archives.

use crate::util::World;
use std::fs;
use std::io::Write;
use std::path::Path;
use vprep_fetch::Verified;
use vprep_testkit::{Content, Fault, PlainFile, Rule};

fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("creates");
    fs::File::create(path).and_then(|mut file| file.write_all(bytes)).expect("writes");
}

#[test]
fn local_files_are_copied_or_linked_once() {
    let world = World::new();
    let from = world.dir.path().join("from");
    put(&from.join("a/x.tsv"), b"1\tx\n");
    put(&from.join("y.txt"), b"y");
    let source = from.to_str().expect("UTF-8");
    let fetched = world.fetch(source).expect("copies");
    let paths: Vec<_> = fetched.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a/x.tsv", "y.txt"]);
    assert!(fetched.files.iter().all(|file| file.verified == Verified::Local));
    let inode =
        |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).expect("stats"));
    let target = world.target().join("y.txt");
    let before = inode(&target);
    world.fetch(source).expect("is there");
    assert_eq!(inode(&target), before, "not copied again");
    put(&from.join("y.txt"), b"z");
    world.fetch(source).expect("copies");
    assert_eq!(world.read("y.txt"), Some(b"z".to_vec()));
    let mut options = world.options();
    options.link = true;
    options.into = world.dir.path().join("linked");
    world.fetch_with(source, &options).expect("links");
    assert_eq!(inode(&options.into.join("y.txt")), inode(&from.join("y.txt")));
}

/// A packed archive of files.
pub(crate) fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *bytes).expect("appends");
    }
    tar.into_inner().and_then(|gzip| gzip.finish()).expect("finishes")
}

#[test]
fn archives_are_unpacked_and_resumed() {
    let world = World::new();
    let big = Content::random(1, 500_000).to_vec();
    let bytes =
        archive(&[("collection.tsv", &big), ("queries.tsv", b"1\tq\n"), ("other.tsv", b"")]);
    world.hub.add_file("c.tar.gz", PlainFile::new(bytes.clone()));
    world.hub.rule(Rule::new("files/c.tar.gz", Fault::Cut { after: 300_000 }).times(1));
    let mut options = world.options();
    options.extract = true;
    options.jobs = 1;
    options.include = vec!["collection.tsv".to_owned(), "queries.tsv".to_owned()];
    let url = world.hub.file_url("c.tar.gz");
    let fetched = world.fetch_with(&url, &options).expect("unpacks");
    assert_eq!(fetched.files.len(), 2);
    assert!(fetched.downloaded < bytes.len() as u64 + 70_000);
    assert!(world.read("collection.tsv") == Some(big));
    assert!(world.read("other.tsv").is_none() && world.read("c.tar.gz").is_none());
    world.hub.reset_log();
    assert_eq!(world.fetch_with(&url, &options).expect("is there").files, fetched.files);
    assert!(world.hub.log().is_empty());
    assert_eq!(crate::util::leftovers(&world.target()), Vec::<String>::new());
}

#[test]
fn a_set_whose_rows_contradict_it_is_refused() {
    let world = World::new();
    let bytes = archive(&[("collection.tsv", b"0\ta\n1\tb\n")]);
    let content = Content::bytes(bytes);
    world.hub.add_file("c.tar.gz", PlainFile::new(content.clone()));
    let text = format!(
        r#"schema = 1
        [[set]]
        name = "x"
        title = "t"
        homepage = "h"
        licence = "l"
        citation = "c"
        [[set.file]]
        path = "c.tar.gz"
        role = "archive"
        urls = ["https://m.test/c.tar.gz"]
        md5 = "{}"
        [[set.file.member]]
        path = "collection.tsv"
        role = "texts"
        rows = 3"#,
        content.md5()
    );
    let mut options = world.options();
    options.catalog = vprep_fetch::Catalog::parse(&text, "test").expect("a catalogue");
    options.rewrite =
        vprep_fetch::Rewrite::parse_all(&format!("https://m.test/={}/files/", world.hub.url()))
            .expect("parses");
    let error = world.fetch_with("x", &options).expect_err("two rows").to_string();
    assert!(error.contains("collection.tsv has 2 rows") && error.contains("says 3"), "{error}");
}
