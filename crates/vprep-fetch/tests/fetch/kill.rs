//! `kill -9` at random moments.

use crate::util::{BLOCK, World};
use std::env;
use std::process::{Command, Stdio};
use std::time::Duration;
use vprep_core::sample::mix;
use vprep_testkit::{Content, Fault, Repo};

const KILLS: u64 = 50;
const BYTES_PER_SECOND: u64 = 600_000;
const VARIABLE: &str = "VPREP_TEST_FETCH";

/// The child of the test below: this test binary, started again.
#[test]
#[ignore = "started by the test below"]
fn child() {
    let Ok(text) = env::var(VARIABLE) else { return };
    let [source, into, cache, endpoint] = text.split('\n').collect::<Vec<_>>()[..] else { return };
    let mut options = vprep_fetch::Options::new(into);
    options.hub.endpoint = endpoint.parse().expect("an address");
    options.hub.cache = cache.into();
    options.limits = crate::util::limits();
    options.limits.stall = Duration::from_secs(20);
    let source = vprep_fetch::Source::parse(source).expect("parses");
    vprep_fetch::fetch(&source, &options, &vprep_core::Silent).expect("fetches");
}

#[test]
fn fifty_kills_leave_the_same_result() {
    let world = World::new();
    let contents: Vec<_> = (0..4).map(|i| Content::random(i, 1_500_000 + i)).collect();
    let mut repo = Repo::dataset("acme/words");
    for (i, content) in contents.iter().enumerate() {
        repo = repo.lfs(format!("{i}.bin"), content.clone());
    }
    let commit = world.hub.add_repo(repo);
    world.hub.fault("datasets/acme/words/*", Fault::Slow { bytes_per_second: BYTES_PER_SECOND });
    let source = format!("hf://datasets/acme/words@{commit}");
    let text = [
        source.as_str(),
        world.target().to_str().expect("UTF-8"),
        world.dir.path().join("cache").to_str().expect("UTF-8"),
        &world.hub.url(),
    ]
    .join("\n");
    let exe = env::current_exe().expect("a path");
    for kill in 0..KILLS {
        let mut child = Command::new(&exe)
            .args(["--exact", "kill::child", "--ignored"])
            .env(VARIABLE, &text)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        std::thread::sleep(Duration::from_millis(mix(kill) % 120));
        child.kill().expect("kills");
        child.wait().expect("waits");
    }
    world.hub.clear_faults();
    let fetched = world.fetch(&source).expect("fetches");
    assert_eq!(fetched.files.len(), 4);
    for (i, content) in contents.iter().enumerate() {
        assert!(world.read(&format!("{i}.bin")) == Some(content.to_vec()), "{i}");
    }
    // Of each of four connections, a kill costs the block that it was in, and what was on its way:
    // the server hands over the bytes of a twentieth of a second at once, and notices late.
    let sent: u64 =
        (0..4).map(|i| world.hub.bytes_sent(&format!("datasets/acme/words/{i}.bin"))).sum();
    let again = (sent - contents.iter().map(Content::len).sum::<u64>()) / KILLS;
    let most = 4 * (BLOCK + 2 * BYTES_PER_SECOND / 20);
    eprintln!("{again} bytes are sent again for each kill");
    assert!(again <= most, "{again} of {most}");
    let before = world.hub.log().len();
    world.fetch(&source).expect("is there");
    assert_eq!(world.hub.log().len(), before, "nothing is verified over the network");
    assert_eq!(crate::util::leftovers(world.dir.path()), Vec::<String>::new());
}
