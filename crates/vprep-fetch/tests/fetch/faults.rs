//! Every fault alone, and mixes: the file is right, or the fetch fails and nothing is installed.

use crate::util::{World, leftovers};
use vprep_core::{Failure, Kind};
use vprep_fetch::{FetchError, Verified};
use vprep_testkit::{Content, Declared, Fault, Faults, PlainFile, Repo, RetryAfter, Rule};

const LEN: u64 = 300_000;

fn cases() -> Vec<(&'static str, Fault, Option<u64>)> {
    let cut = Fault::Cut { after: 200_000 };
    let short = |declared| Fault::ShortBody { missing: 1000, declared };
    vec![
        ("cut", cut.clone(), Some(1)),
        ("cut every time", cut, None),
        ("no response", Fault::NoResponse, Some(2)),
        ("stall", Fault::Stall { after: 1000, millis: 2_000 }, Some(1)),
        ("flip", Fault::FlipByte { offset: 100_000 }, Some(1)),
        ("short, full length", short(Declared::Full), Some(1)),
        ("short, short length", short(Declared::Short), Some(1)),
        ("short, no length", short(Declared::Nothing), Some(1)),
        ("page", Fault::HtmlPage, Some(1)),
        ("ignored range", Fault::IgnoreRange, None),
        ("429 seconds", Fault::TooManyRequests { retry_after: RetryAfter::Seconds(1) }, Some(1)),
        ("429 date", Fault::TooManyRequests { retry_after: RetryAfter::Date(1) }, Some(1)),
        ("503", Fault::Status { code: 503 }, Some(2)),
        ("wrong length", Fault::WrongContentLength { delta: 1000 }, Some(1)),
        ("wrong range", Fault::WrongContentRange { shift: 4096, bytes_too: false }, Some(1)),
        ("other range", Fault::WrongContentRange { shift: 1, bytes_too: true }, Some(1)),
    ]
}

#[test]
fn every_passing_fault_is_overcome() {
    for (name, fault, times) in cases() {
        let world = World::new();
        let content = Content::random(7, LEN);
        world.hub.add_file("a.bin", PlainFile::new(content.clone()));
        world.hub.add_repo(Repo::dataset("acme/words").lfs("a.bin", content.clone()));
        for key in ["files/a.bin", "datasets/acme/words/a.bin"] {
            let rule = Rule::new(key, fault.clone());
            world.hub.rule(times.map_or(rule.clone(), |times| rule.times(times)));
        }
        let url = format!("{}#sha256={}", world.hub.file_url("a.bin"), content.sha256());
        for source in [url.as_str(), "hf://datasets/acme/words"] {
            let _ = std::fs::remove_dir_all(world.target());
            let fetched = world.fetch(source).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(fetched.files[0].sha256, content.sha256(), "{name}");
            assert_eq!(fetched.files[0].verified, Verified::Digest);
            assert!(world.read("a.bin") == Some(content.to_vec()), "{name}");
            assert_eq!(leftovers(world.dir.path()), Vec::<String>::new(), "{name}");
        }
    }
}

#[test]
fn a_lasting_fault_fails_with_its_cause_and_installs_nothing() {
    for (fault, kind, text) in [
        (Fault::FlipByte { offset: 5 }, Kind::Data, "sha256 is "),
        (Fault::HtmlPage, Kind::Unreachable, "a web page"),
        (Fault::NoResponse, Kind::Unreachable, "the connection broke"),
        (Fault::Status { code: 404 }, Kind::Unreachable, "HTTP status 404: not found"),
        (Fault::Status { code: 500 }, Kind::Unreachable, "the server is in trouble"),
        (Fault::RedirectLoop, Kind::Unreachable, "more than 10 redirects"),
        (Fault::NewVersion, Kind::Data, "sha256 is "),
        (
            Fault::TooManyRequests { retry_after: RetryAfter::Absent },
            Kind::Unreachable,
            "rate limited",
        ),
        (Fault::Stall { after: 10, millis: 3_000 }, Kind::Unreachable, "nothing arrived for"),
    ] {
        let world = World::new();
        let content = Content::random(8, 50_000);
        world.hub.add_file("a.bin", PlainFile::new(content.clone()));
        world.hub.fault("files/a.bin", fault.clone());
        let url = format!("{}#sha256={}", world.hub.file_url("a.bin"), content.sha256());
        let error = world.fetch(&url).expect_err("lasting");
        assert_eq!(error.kind(), kind, "{fault:?}: {error}");
        let message = error.to_string();
        assert!(message.contains(text) && message.contains("/files/a.bin"), "{fault:?}: {message}");
        if let FetchError::Digest { expected, found, .. } = &error {
            assert_eq!(expected, content.sha256());
            assert_ne!(found, expected);
        }
        assert!(world.read("a.bin").is_none(), "{fault:?}");
    }
}

#[test]
fn a_mirror_helps() {
    let world = World::new();
    let content = Content::random(9, LEN);
    for name in ["a/x.bin", "b/x.bin"] {
        world.hub.add_file(name, PlainFile::new(content.clone()));
    }
    world.hub.fault("files/a/x.bin", Fault::FlipByte { offset: 1 });
    let text = format!(
        r#"schema = 1
        [[set]]
        name = "x"
        title = "t"
        homepage = "h"
        licence = "l"
        citation = "c"
        [[set.file]]
        path = "x.bin"
        role = "labels"
        urls = ["https://m.test/a/x.bin", "https://m.test/b/x.bin"]
        bytes = {LEN}
        md5 = "{}""#,
        content.md5()
    );
    let mut options = world.options();
    options.catalog = vprep_fetch::Catalog::parse(&text, "test").expect("a catalogue");
    options.rewrite =
        vec![vprep_fetch::Rewrite::new("https://m.test/", format!("{}/files/", world.hub.url()))];
    let fetched = world.fetch_with("x", &options).expect("the mirror is right");
    assert!(fetched.files[0].url.ends_with("/b/x.bin"));
    assert_eq!(fetched.licence.as_deref(), Some("l"));
    world.hub.fault("files/b/x.bin", Fault::Status { code: 404 });
    std::fs::remove_dir_all(world.target()).expect("removes");
    let error = world.fetch_with("x", &options).expect_err("both fail").to_string();
    assert!(
        error.contains("md5 is ") && error.contains("; then ") && error.contains("404"),
        "{error}"
    );
}

#[test]
fn without_a_digest_the_length_is_what_is_known() {
    let world = World::new();
    let content = Content::random(10, LEN);
    world.hub.add_file("a.bin", PlainFile::new(content.clone()));
    world.hub.rule(Rule::new("files/a.bin", Fault::Cut { after: 100_000 }).times(1));
    let fetched = world.fetch(&world.hub.file_url("a.bin")).expect("fetches");
    assert_eq!(fetched.files[0].verified, Verified::Length);
    assert!(world.read("a.bin") == Some(content.to_vec()));
}

#[test]
fn a_new_version_in_the_middle_is_never_mixed() {
    for etag in [vprep_testkit::EtagRule::Md5, vprep_testkit::EtagRule::None] {
        let world = World::new();
        let content = Content::random(11, LEN);
        world.hub.add_file("a.bin", PlainFile::new(content.clone()).etag(etag));
        world.hub.rule(Rule::new("files/a.bin", Fault::Cut { after: 150_000 }).times(1));
        world.hub.rule(Rule::new("files/a.bin", Fault::NewVersion).skip(1));
        world.fetch(&world.hub.file_url("a.bin")).expect("fetches");
        assert!(world.read("a.bin") == Some(content.altered().to_vec()), "the new one, whole");
    }
}

/// At least 300 random mixes, over plain files and hub files.
#[test]
fn random_mixes_give_the_file_or_nothing() {
    let workers: Vec<_> = (0..8u64)
        .map(|worker| {
            std::thread::spawn(move || {
                (0..40).map(|run| mix(worker * 40 + run)).filter(|ok| *ok).count()
            })
        })
        .collect();
    let right: usize = workers.into_iter().map(|worker| worker.join().expect("no panic")).sum();
    assert!((100..320).contains(&right), "{right} of 320 came through");
}

fn mix(seed: u64) -> bool {
    let world = World::new();
    let len = [0, 1, 1000, 65_536, 100_000, LEN][(seed % 6) as usize];
    let content = Content::random(seed, len);
    let on_hub = seed.is_multiple_of(2);
    let key = if on_hub {
        world.hub.add_repo(Repo::dataset("acme/words").lfs("a.bin", content.clone()));
        "datasets/acme/words/a.bin"
    } else {
        world.hub.add_file("a.bin", PlainFile::new(content.clone()));
        "files/a.bin"
    };
    let rules = Faults::random(seed).rules(key, len);
    // A commit never changes; this fault would change what its listing says.
    let possible = |rule: &Rule| !(on_hub && *rule.fault() == Fault::NewVersion);
    for rule in rules.into_iter().filter(possible) {
        world.hub.rule(rule);
    }
    let url = format!("{}#md5={}", world.hub.file_url("a.bin"), content.md5());
    let source = if on_hub { "hf://datasets/acme/words" } else { url.as_str() };
    match world.fetch(source) {
        Ok(_) => {
            assert!(world.read("a.bin") == Some(content.to_vec()), "seed {seed}");
            true
        }
        Err(error) => {
            assert!(matches!(error.kind(), Kind::Unreachable | Kind::Data), "seed {seed}: {error}");
            assert!(world.read("a.bin").is_none(), "seed {seed}: {error}");
            // What stayed is no obstacle once the server is well again.
            world.hub.clear_faults();
            world.fetch(source).unwrap_or_else(|e| panic!("seed {seed}: {error}; then {e}"));
            assert!(world.read("a.bin") == Some(content.to_vec()), "seed {seed}");
            false
        }
    }
}
