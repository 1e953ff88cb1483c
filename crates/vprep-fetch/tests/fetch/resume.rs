//! What came once does not come again.

use crate::util::{BLOCK, World};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use vprep_core::{Progress, Silent, Task};
use vprep_fetch::{FetchError, Source, fetch};
use vprep_testkit::{Content, Fault, PlainFile, Repo, Rule};

#[test]
fn after_a_cut_at_nine_tenths_one_tenth_is_fetched() {
    let len = 4_000_000;
    let content = Content::random(1, len);
    for jobs in [1, 4] {
        let world = World::new();
        world.hub.add_file("a.bin", PlainFile::new(content.clone()));
        world.hub.add_repo(Repo::model("acme/m").lfs("a.bin", content.clone()));
        let mut options = world.options();
        options.jobs = jobs;
        options.limits.tries = 1;
        options.limits.block = 4 * BLOCK;
        for (key, source) in [
            ("files/a.bin", world.hub.file_url("a.bin")),
            ("models/acme/m/a.bin", "hf://acme/m".to_owned()),
        ] {
            let share = if jobs == 1 { len * 9 / 10 } else { len / 4 * 9 / 10 };
            world.hub.rule(Rule::new(key, Fault::Cut { after: share }));
            world.fetch_with(&source, &options).expect_err("cut");
            assert!(world.read("a.bin").is_none());
            world.hub.clear_faults();
            world.hub.reset_log();
            let fetched = world.fetch_with(&source, &options).expect("resumes");
            assert!(world.read("a.bin") == Some(content.to_vec()));
            if jobs == 1 {
                let most = len / 10 + options.limits.block;
                assert!(fetched.downloaded <= most, "{} of {most}", fetched.downloaded);
                assert!(world.hub.bytes_sent(key) <= most);
            }
            assert!(world.hub.log().iter().filter(|e| e.is_download()).all(|e| e.range.is_some()));
            std::fs::remove_dir_all(world.target()).expect("removes");
        }
    }
}

#[test]
fn what_is_installed_or_cached_needs_no_request() {
    let world = World::new();
    let content = Content::random(2, 200_000);
    world.hub.add_file("a.bin", PlainFile::new(content.clone()));
    let commit = world.hub.add_repo(
        Repo::dataset("acme/words").file("README.md", "# words").lfs("data/a.bin", content.clone()),
    );
    let url = world.hub.file_url("a.bin");
    let pinned = format!("hf://datasets/acme/words@{commit}");
    let first = world.fetch(&pinned).expect("fetches");
    world.fetch(&url).expect("fetches");
    world.fetch("hf://datasets/acme/words").expect("fetches");
    world.hub.reset_log();
    assert_eq!(
        world.fetch(&pinned).expect("installed"),
        vprep_fetch::Fetched { downloaded: 0, ..first.clone() }
    );
    world.fetch(&url).expect("installed");
    let mut offline = world.options();
    offline.offline = true;
    world.fetch_with("hf://datasets/acme/words", &offline).expect("cached");
    std::fs::remove_dir_all(world.target()).expect("removes");
    let again = world.fetch_with("hf://datasets/acme/words", &offline).expect("cached");
    assert_eq!(again.files, first.files);
    assert!(world.hub.log().is_empty(), "{:?}", world.hub.log());
    let error = world.fetch_with(&url, &offline).expect_err("not cached").to_string();
    assert!(error.contains("the network is off"), "{error}");
    let error = world.fetch_with("hf://acme/other", &offline).expect_err("not cached").to_string();
    assert!(error.contains("hf://acme/other is not in the cache"), "{error}");
    assert!(world.hub.log().is_empty());
}

#[test]
fn an_installed_file_that_changed_is_made_right() {
    let world = World::new();
    let content = Content::random(3, 100_000);
    world.hub.add_file("a.bin", PlainFile::new(content.clone()));
    let url = world.hub.file_url("a.bin");
    world.fetch(&url).expect("fetches");
    let path = world.target().join("a.bin");
    let mut bytes = content.to_vec();
    bytes[500] ^= 1;
    let replaced = std::fs::File::create(&path);
    replaced.and_then(|mut f| std::io::Write::write_all(&mut f, &bytes)).expect("writes");
    world.fetch(&url).expect("fetches");
    assert!(world.read("a.bin") == Some(content.to_vec()));
}

#[test]
fn parts_of_other_versions_are_cleared() {
    let world = World::new();
    world.hub.add_file("a.bin", PlainFile::new("text"));
    std::fs::create_dir_all(world.target()).expect("creates");
    let old = world.target().join("a.bin.0123456789abcdef.vprep-part");
    let other = world.target().join("b.bin.0123456789abcdef.vprep-part");
    for path in [&old, &other] {
        std::fs::File::create(path).expect("creates");
    }
    world.fetch(&world.hub.file_url("a.bin")).expect("fetches");
    assert!(!old.exists() && other.exists());
}

struct Stop(AtomicBool);

impl Progress for Stop {
    fn task(&self, _: &str, _: u64, _: &'static str) -> Box<dyn Task> {
        Box::new(Silent)
    }

    fn is_interrupted(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

#[test]
fn an_interrupt_stops_within_a_second_and_keeps_what_came() {
    let world = World::new();
    let content = Content::random(4, 2_000_000);
    world.hub.add_file("a.bin", PlainFile::new(content.clone()));
    world
        .hub
        .rule(Rule::new("files/a.bin", Fault::Stall { after: 1_500_000, millis: 5_000 }).times(1));
    let mut options = world.options();
    options.jobs = 1;
    options.limits.stall = Duration::from_secs(30);
    let source = Source::parse(&world.hub.file_url("a.bin")).expect("parses");
    let stop = Stop(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| fetch(&source, &options, &stop));
        std::thread::sleep(Duration::from_millis(600));
        let asked = Instant::now();
        stop.0.store(true, Ordering::SeqCst);
        let result = run.join().expect("no panic");
        assert!(matches!(result, Err(FetchError::Interrupted(_))), "{result:?}");
        assert!(asked.elapsed() < Duration::from_secs(1));
    });
    let fetched = fetch(&source, &options, &Silent).expect("resumes");
    assert!(fetched.downloaded <= 500_000 + BLOCK, "{}", fetched.downloaded);
    assert!(world.read("a.bin") == Some(content.to_vec()));
}

#[test]
fn a_slow_server_gets_more_connections() {
    let world = World::new();
    let content = Content::random(9, 8_000_000);
    world.hub.add_file("a.bin", PlainFile::new(content.clone()));
    world.hub.rule(Rule::new("files/a.bin", Fault::Slow { bytes_per_second: 2_000_000 }));
    let mut options = world.options();
    (options.jobs, options.limits.fast) = (4, 150_000_000);
    world.fetch_with(&world.hub.file_url("a.bin"), &options).expect("fetches");
    assert!(world.read("a.bin") == Some(content.to_vec()));
    let log = world.hub.log();
    let downloads: Vec<_> = log.iter().filter(|entry| entry.is_download()).collect();
    assert_eq!(downloads[0].beside, 0, "begins with one");
    let most = downloads.iter().map(|entry| entry.beside).max();
    assert!(most >= Some(2), "{most:?} at most beside another");
}
