//! The hub's protocol and cache.

use crate::util::{World, token};
use std::fs;
use std::time::{Duration, Instant};
use vprep_core::Failure;
use vprep_testkit::{Content, Fault, Repo, RetryAfter, Rule};

#[test]
fn the_cache_has_the_layout_that_all_clients_share() {
    let world = World::new();
    let content = Content::random(1, 100_000);
    let commit = world.hub.add_repo(
        Repo::dataset("acme/words")
            .file("README.md", "# words")
            .lfs("data/a b.bin", content.clone()),
    );
    world.hub.set_page_size(1);
    let fetched = world.fetch("hf://datasets/acme/words").expect("fetches");
    assert_eq!(fetched.revision.as_deref(), Some(commit.as_str()));
    let paths: Vec<_> = fetched.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["README.md", "data/a b.bin"]);
    let repo = world.dir.path().join("cache/datasets--acme--words");
    assert_eq!(fs::read_to_string(repo.join("refs/main")).expect("a ref"), commit);
    let link = repo.join("snapshots").join(&commit).join("data/a b.bin");
    let target = fs::read_link(&link).expect("a link");
    assert_eq!(target.to_str(), Some(format!("../../../blobs/{}", content.sha256()).as_str()));
    assert_eq!(fs::read(link).expect("reads"), content.to_vec());
    let readme = Content::from("# words");
    assert!(repo.join("blobs").join(readme.git_blob()).is_file());
}

#[test]
fn what_another_client_cached_is_used_and_what_it_broke_is_mended() {
    let world = World::new();
    let content = Content::random(2, 100_000);
    let commit = world.hub.add_repo(Repo::model("acme/m").lfs("a.bin", content.clone()));
    let repo = world.dir.path().join("cache/models--acme--m");
    let blob = repo.join("blobs").join(content.sha256());
    let snapshot = repo.join("snapshots").join(&commit);
    for dir in [repo.join("blobs"), snapshot.clone()] {
        fs::create_dir_all(dir).expect("creates");
    }
    let put = |bytes: &[u8]| {
        let file = fs::File::create(&blob);
        file.and_then(|mut f| std::io::Write::write_all(&mut f, bytes)).expect("writes");
    };
    put(&content.to_vec());
    let target = format!("../../blobs/{}", content.sha256());
    std::os::unix::fs::symlink(target, snapshot.join("a.bin")).expect("links");
    let mut options = world.options();
    options.include = vec!["a.bin".to_owned()];
    options.revision = Some(commit);
    world.fetch_with("hf://acme/m", &options).expect("cached");
    assert!(world.hub.log().is_empty(), "{:?}", world.hub.log());
    fs::remove_dir_all(world.target()).expect("removes");
    put(&content.altered().to_vec());
    world.fetch_with("hf://acme/m", &options).expect("mended");
    assert!(world.read("a.bin") == Some(content.to_vec()));
    assert!(fs::read(&blob).expect("reads") == content.to_vec());
}

#[test]
fn include_chooses_and_nothing_chosen_is_an_error() {
    let world = World::new();
    world.hub.add_repo(Repo::model("acme/m").file("a.json", "{}").file("b/c.txt", "c"));
    let mut options = world.options();
    options.include = vec!["*.txt".to_owned()];
    let fetched = world.fetch_with("hf://acme/m", &options).expect("fetches");
    assert_eq!(fetched.files.len(), 1);
    options.include = vec!["*.parquet".to_owned()];
    let error = world.fetch_with("hf://acme/m", &options).expect_err("nothing").to_string();
    assert_eq!(error, "hf://acme/m: none of its 2 files matches *.parquet");
}

#[test]
fn refusals_name_their_cause() {
    let world = World::new();
    let gated = Repo::dataset("acme/gated").gated().lfs("a.bin", Content::random(3, 9));
    world.hub.add_repo(gated);
    world.hub.add_token("hf_good", ["acme/gated"]);
    let mut options = world.options();
    let error = world.fetch_with("hf://datasets/acme/gated", &options).expect_err("gated");
    assert_eq!(error.kind().exit_code(), 5);
    assert!(error.to_string().contains("HF_TOKEN"), "{error}");
    options.hub.token = token("hf_good");
    world.fetch_with("hf://datasets/acme/gated", &options).expect("allowed");
    assert!(
        world.hub.log().iter().filter(|entry| entry.cdn).all(|entry| !entry.authorization),
        "the token stays with the hub"
    );
    options.hub.token = None;
    for (source, text) in [
        ("hf://datasets/acme/none", "acme/none"),
        ("hf://datasets/acme/gated@nothing", "acme/gated"),
    ] {
        let error = world.fetch_with(source, &options).expect_err(source).to_string();
        assert!(error.contains(text) && error.contains("HTTP status 40"), "{error}");
    }
}

#[test]
fn listings_survive_faults() {
    let world = World::new();
    world.hub.add_repo(Repo::dataset("acme/words").file("a.txt", "a"));
    world.hub.rule(Rule::new("/api/datasets/acme/words/*", Fault::Status { code: 503 }).times(2));
    world.hub.rule(Rule::new("/api/datasets/acme/words/*", Fault::HtmlPage).skip(3).times(1));
    world.fetch("hf://datasets/acme/words").expect("fetches");
}

#[test]
fn a_date_to_come_back_is_kept() {
    let world = World::new();
    world.hub.add_repo(Repo::dataset("acme/words").file("a.txt", "a"));
    let busy = Fault::TooManyRequests { retry_after: RetryAfter::Date(3) };
    world.hub.rule(Rule::new("/api/datasets/acme/words/revision/main", busy).times(1));
    let start = Instant::now();
    world.fetch("hf://datasets/acme/words").expect("fetches");
    // Dates are whole seconds.
    assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
    let log = world.hub.log();
    let asked: Vec<_> = log.iter().filter(|entry| entry.target.contains("/revision/")).collect();
    assert_eq!(asked.iter().map(|entry| entry.status).collect::<Vec<_>>(), [429, 200]);
}
