//! A disk that fills up while a file comes.

use crate::util::{BLOCK, World, leftovers};
use std::fs::{self, File};
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use vprep_core::{Failure, Kind};
use vprep_fetch::FetchError;
use vprep_testkit::{Content, Fault, PlainFile, Repo};

const LEN: u64 = 4_000_000;
/// Bytes that come before the disk is filled.
const BEFORE: u64 = 1_500_000;

/// A small file system of its own.
struct Small(TempDir);

impl Small {
    /// Nothing, if this process may not mount one.
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=8m", "vprep-test"]).arg(dir.path());
        let mounted = mount.stderr(Stdio::null()).status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(dir))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_stops_the_fetch_and_space_continues_it() {
    let content = Content::random(1, LEN);
    for key in ["files/a.bin", "datasets/acme/words/a.bin"] {
        let Some(small) = Small::mount() else {
            eprintln!("skipped: no file system can be mounted here");
            return;
        };
        let world = World::new();
        world.hub.add_file("a.bin", PlainFile::new(content.clone()));
        world.hub.add_repo(Repo::dataset("acme/words").lfs("a.bin", content.clone()));
        world.hub.fault(key, Fault::Slow { bytes_per_second: 1_500_000 });
        let url = format!("{}#sha256={}", world.hub.file_url("a.bin"), content.sha256());
        let source =
            if key.starts_with("files/") { url } else { "hf://datasets/acme/words".into() };
        let mut options = world.options();
        options.into = small.0.path().join("into");
        options.hub.cache = small.0.path().join("cache");
        let filler = small.0.path().join("filler");
        let error = thread::scope(|scope| {
            scope.spawn(|| {
                while world.hub.bytes_sent(key) < BEFORE {
                    thread::sleep(Duration::from_millis(2));
                }
                let mut file = File::create(&filler).expect("creates");
                while file.write_all(&[1; 4096]).is_ok() {}
            });
            world.fetch_with(&source, &options).expect_err("the disk is full")
        });
        let full = match &error {
            FetchError::Io { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            FetchError::Space { .. } => true,
            _ => false,
        };
        assert!(full && error.kind() == Kind::Data, "{error}");
        let message = error.to_string();
        assert!(message.contains("free some space and run the same command again"), "{message}");
        assert!(!options.into.join("a.bin").exists());
        assert!(!leftovers(small.0.path()).is_empty(), "what came is kept");

        fs::remove_file(&filler).expect("removes");
        world.hub.clear_faults();
        let fetched = world.fetch_with(&source, &options).expect("there is space again");
        // The journal of a full disk cannot name the block that each connection was in.
        let most = LEN - BEFORE + options.jobs as u64 * 3 * BLOCK;
        assert!(fetched.downloaded <= most, "{} of {most}", fetched.downloaded);
        assert!(fs::read(options.into.join("a.bin")).expect("reads") == content.to_vec());
        assert_eq!(leftovers(small.0.path()), Vec::<String>::new());
    }
}
