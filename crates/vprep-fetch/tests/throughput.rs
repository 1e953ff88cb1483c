//! Throughput against curl, in the same run. `cargo test --release --test throughput -- --ignored`

use std::fs;
use std::process::Command;
use std::time::Instant;
use vprep_core::Silent;
use vprep_fetch::{Options, Source, fetch};
use vprep_testkit::{Content, EtagRule, Hub, PlainFile};

#[test]
#[ignore = "a measurement: needs curl, two gigabytes of disk and a quiet machine"]
fn four_fifths_of_curl_hashing_included() {
    let dir = tempfile::tempdir().expect("a directory");
    let len = 1 << 30;
    let file = dir.path().join("served");
    let copied = fs::File::create(&file).and_then(|mut to| {
        let content = Content::random(1, 64 << 20).to_vec();
        (0..len / content.len()).try_for_each(|_| std::io::Write::write_all(&mut to, &content))
    });
    copied.expect("writes");
    let hub = Hub::start().expect("starts");
    let content = Content::file(&file).expect("opens");
    // The server computes other ETags anew for each request.
    hub.add_file("a.bin", PlainFile::new(content.clone()).etag(EtagRule::Given("v1".to_owned())));
    let plain = hub.file_url("a.bin");
    let hashed = format!("{plain}#sha256={}", content.sha256());
    let into = dir.path().join("into");
    let mut ratios = Vec::new();
    for round in 0..6 {
        let target = dir.path().join("curl");
        let start = Instant::now();
        let status = Command::new("curl").args(["-sf", "-o"]).arg(&target).arg(&plain).status();
        assert!(status.expect("curl runs").success());
        let curl = start.elapsed().as_secs_f64();
        fs::remove_file(target).expect("removes");
        let mut times = Vec::new();
        for jobs in [1, 4] {
            let mut options = Options::new(&into);
            options.jobs = jobs;
            options.offline = false;
            let source = Source::parse(&hashed).expect("parses");
            let start = Instant::now();
            fetch(&source, &options, &Silent).expect("fetches");
            times.push(start.elapsed().as_secs_f64());
            fs::remove_dir_all(&into).expect("removes");
        }
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or_default();
        eprintln!(
            "curl {curl:.2} s, vprep {:.2} s (1 job), {:.2} s (4 jobs), load {load}",
            times[0], times[1]
        );
        if round > 0 {
            ratios.push(curl / times[1]);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    eprintln!("{median:.2} of curl's throughput (median of {})", ratios.len());
    assert!(median >= 0.8, "{ratios:?} of curl's throughput");
}
