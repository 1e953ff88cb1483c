//! Every fault does what its documentation says.

use std::time::{Duration, Instant};

use vprep_testkit::{Content, Declared, Fault, Hub, PlainFile, Repo, RetryAfter, Rule};

use crate::client::{Response, get, get_range, head};

const LEN: u64 = 200_000;
const KEY: &str = "files/x";
const URL: &str = "/files/x";

/// A hub whose file has one fault, and the file's bytes.
fn start(fault: Fault) -> (Hub, Vec<u8>) {
    let hub = Hub::start().unwrap();
    let content = Content::random(7, LEN);
    hub.add_file("x", PlainFile::new(content.clone()));
    hub.fault(KEY, fault);
    (hub, content.to_vec())
}

fn length(response: &Response) -> Option<&str> {
    response.header("content-length")
}

#[test]
fn cut_after_bytes_of_the_body() {
    let (hub, bytes) = start(Fault::Cut { after: 150_000 });
    let whole = get(&hub, URL);
    assert_eq!((whole.status, length(&whole)), (200, Some("200000")));
    assert!(whole.body == bytes[..150_000]);
    let part = get_range(&hub, URL, "bytes=150000-");
    assert!(part.body == bytes[150_000..]);
    let log = hub.log();
    assert_eq!((log[0].bytes, log[0].done), (150_000, false));
    assert_eq!(log[1].faults, [Fault::Cut { after: 150_000 }]);
    assert_eq!(head(&hub, URL).status, 200);
}

#[test]
fn no_response() {
    let (hub, _) = start(Fault::NoResponse);
    assert_eq!(get(&hub, URL).status, 0);
    assert_eq!(hub.log()[0].status, 0);
}

#[test]
fn stall_and_slow_take_their_time() {
    let (hub, bytes) = start(Fault::Stall { after: 1000, millis: 300 });
    let begin = Instant::now();
    assert!(get(&hub, URL).body == bytes);
    assert!(begin.elapsed() >= Duration::from_millis(300));

    let (hub, bytes) = start(Fault::Slow { bytes_per_second: 500_000 });
    let begin = Instant::now();
    assert!(get(&hub, URL).body == bytes);
    assert!(begin.elapsed() >= Duration::from_millis(390));
}

#[test]
fn a_stopped_hub_leaves_nobody_waiting() {
    let (hub, _) = start(Fault::Stall { after: 0, millis: 60_000 });
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let url = hub.file_url("x");
        scope.spawn(move || {
            let host = url["http://".len()..].split('/').next().unwrap();
            let mut stream = std::net::TcpStream::connect(host).unwrap();
            std::io::Write::write_all(&mut stream, b"GET /files/x HTTP/1.1\r\n\r\n").unwrap();
            std::io::Read::read_to_end(&mut stream, &mut Vec::new()).ok();
        });
        while hub.log().is_empty() {
            std::thread::yield_now();
        }
        drop(hub);
    });
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn flip_a_byte() {
    let (hub, bytes) = start(Fault::FlipByte { offset: 123_456 });
    let body = get(&hub, URL).body;
    let wrong: Vec<usize> = (0..bytes.len()).filter(|&i| body[i] != bytes[i]).collect();
    assert_eq!(wrong, [123_456]);
    assert!(get_range(&hub, URL, "bytes=123457-").body == bytes[123_457..]);
}

#[test]
fn short_bodies() {
    let short = |declared| start(Fault::ShortBody { missing: 50_000, declared });
    for (declared, said, range) in [
        (Declared::Full, Some("200000"), "bytes 100000-199999/200000"),
        (Declared::Short, Some("150000"), "bytes 100000-149999/200000"),
        (Declared::Nothing, None, "bytes 100000-199999/200000"),
    ] {
        let (hub, bytes) = short(declared);
        let whole = get(&hub, URL);
        assert_eq!(length(&whole), said, "{declared:?}");
        assert!(whole.body == bytes[..150_000], "{declared:?}");
        let part = get_range(&hub, URL, "bytes=100000-");
        assert_eq!(part.header("content-range"), Some(range), "{declared:?}");
        assert!(part.body == bytes[100_000..150_000], "{declared:?}");
    }
}

#[test]
fn pages_and_errors_instead_of_the_file() {
    let (hub, _) = start(Fault::HtmlPage);
    let page = get_range(&hub, URL, "bytes=5-");
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    assert!(page.body.starts_with(b"<!DOCTYPE html>"));

    let (hub, _) = start(Fault::Status { code: 503 });
    assert_eq!(get(&hub, URL).status, 503);

    let (hub, _) = start(Fault::RedirectLoop);
    assert_eq!(get(&hub, URL).header("location"), Some(URL));

    for (retry_after, check) in [
        (RetryAfter::Absent, None),
        (RetryAfter::Seconds(3), Some("3")),
        (RetryAfter::Date(5), Some("GMT")),
    ] {
        let (hub, _) = start(Fault::TooManyRequests { retry_after });
        let response = get(&hub, URL);
        assert_eq!(response.status, 429);
        let value = response.header("retry-after");
        assert_eq!(value.is_some(), check.is_some());
        assert!(value.unwrap_or_default().ends_with(check.unwrap_or_default()), "{value:?}");
    }
}

#[test]
fn ignore_range() {
    let (hub, bytes) = start(Fault::IgnoreRange);
    let whole = get_range(&hub, URL, "bytes=5-");
    assert_eq!((whole.status, whole.header("content-range")), (200, None));
    assert!(whole.body == bytes);
}

#[test]
fn a_new_version_after_some_requests() {
    let (hub, bytes) = start(Fault::Slow { bytes_per_second: u64::MAX });
    hub.rule(Rule::new(KEY, Fault::NewVersion).skip(2));
    let first = get(&hub, URL);
    assert_eq!(first.header("etag"), head(&hub, URL).header("etag"));
    assert!(get(&hub, URL).body == bytes);
    // Two downloads have passed, so the file has changed, for those who only ask too.
    let changed = head(&hub, URL);
    assert_ne!(changed.header("etag"), first.header("etag"));
    assert_ne!(changed.header("last-modified"), first.header("last-modified"));
    let new = get(&hub, URL);
    assert_eq!(new.header("etag"), changed.header("etag"));
    assert!(new.body == Content::bytes(bytes).altered().to_vec());
}

#[test]
fn a_new_version_of_a_repositorys_file() {
    let hub = Hub::start().unwrap();
    let content = Content::random(1, 1000);
    hub.add_repo(Repo::dataset("o/n").lfs("x", content.clone()));
    hub.rule(Rule::new("datasets/o/n/x", Fault::NewVersion).skip(1));
    let redirect = head(&hub, "/datasets/o/n/resolve/main/x");
    assert!(get(&hub, redirect.header("location").unwrap()).body == content.to_vec());
    let redirect = head(&hub, "/datasets/o/n/resolve/main/x");
    let etag = format!("\"{}\"", content.altered().sha256());
    assert_eq!(redirect.header("x-linked-etag"), Some(etag.as_str()));
    assert!(get(&hub, redirect.header("location").unwrap()).body == content.altered().to_vec());
}

#[test]
fn wrong_headers() {
    for (delta, said) in [(7, "200007"), (-7, "199993")] {
        let (hub, bytes) = start(Fault::WrongContentLength { delta });
        let response = get(&hub, URL);
        assert_eq!(length(&response), Some(said));
        assert!(response.body == bytes);
    }
    for (bytes_too, from) in [(false, 1000), (true, 1100)] {
        let (hub, bytes) = start(Fault::WrongContentRange { shift: 100, bytes_too });
        let part = get_range(&hub, URL, "bytes=1000-1999");
        assert_eq!(part.header("content-range"), Some("bytes 1100-2099/200000"));
        assert!(part.body == bytes[from..from + 1000]);
    }
}

#[test]
fn rules_can_name_an_address() {
    let (hub, bytes) = start(Fault::Slow { bytes_per_second: u64::MAX });
    hub.rule(Rule::new("/files/*", Fault::Status { code: 500 }).method("HEAD").times(1));
    assert!(get(&hub, URL).body == bytes);
    assert_eq!([head(&hub, URL).status, head(&hub, URL).status], [500, 200]);
    hub.clear_faults();
    hub.fault("/api/*", Fault::Status { code: 502 });
    assert_eq!(get(&hub, "/api/datasets/a/b").status, 502);
}

#[test]
fn faults_work_together() {
    let (hub, bytes) = start(Fault::Cut { after: 100 });
    hub.fault(KEY, Fault::IgnoreRange);
    hub.fault(KEY, Fault::FlipByte { offset: 5 });
    let response = get_range(&hub, URL, "bytes=50-");
    assert_eq!((response.status, response.body.len()), (200, 100));
    assert_ne!(response.body[5], bytes[5]);
}
