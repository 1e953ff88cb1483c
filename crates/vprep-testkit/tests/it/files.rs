//! Plain files: ETags, dates, ranges.

use std::io::{Read, Write};
use std::net::TcpStream;

use vprep_testkit::{Content, EtagRule, Hub, PlainFile};

use crate::client::{get, get_range, head, send};

const LEN: u64 = 300_000;

fn start() -> (Hub, Vec<u8>) {
    let hub = Hub::start().unwrap();
    let content = Content::random(7, LEN);
    hub.add_file("a b/x.bin", PlainFile::new(content.clone()));
    (hub, content.to_vec())
}

#[test]
fn whole_files_and_ranges() {
    let (hub, bytes) = start();
    let url = hub.file_url("a b/x.bin");
    let whole = get(&hub, &url);
    assert_eq!((whole.status, whole.header("content-length")), (200, Some("300000")));
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    assert!(whole.body == bytes);
    for (range, expected, said) in [
        ("bytes=0-0", &bytes[..1], "bytes 0-0/300000"),
        ("bytes=299990-", &bytes[299_990..], "bytes 299990-299999/300000"),
        ("bytes=-7", &bytes[299_993..], "bytes 299993-299999/300000"),
        ("bytes=5-400000", &bytes[5..], "bytes 5-299999/300000"),
    ] {
        let part = get_range(&hub, &url, range);
        assert_eq!((part.status, part.header("content-range")), (206, Some(said)), "{range}");
        assert!(part.body == expected, "{range}");
    }
    let none = get_range(&hub, &url, "bytes=300000-");
    assert_eq!((none.status, none.header("content-range")), (416, Some("bytes */300000")));
    assert!(get_range(&hub, &url, "bytes=0-1,5-6").body == bytes);

    let only = head(&hub, &url);
    assert_eq!((only.status, only.header("content-length")), (200, Some("300000")));
    assert!(only.body.is_empty());
    assert_eq!(get(&hub, "/files/missing").status, 404);
}

#[test]
fn etags_follow_the_rule() {
    let (hub, bytes) = start();
    let content = Content::bytes(bytes);
    let etag = |file: PlainFile| {
        hub.add_file("y", file);
        head(&hub, "/files/y").header("etag").map(str::to_owned)
    };
    let plain = PlainFile::new(content.clone());
    assert_eq!(etag(plain.clone()), Some(format!("\"{}\"", content.md5())));
    let multipart = etag(plain.clone().s3(100_000)).unwrap();
    assert!(multipart.ends_with("-3\""), "{multipart}");
    assert_eq!(etag(plain.clone().etag(EtagRule::Given("x".into()))), Some("\"x\"".into()));
    assert_eq!(etag(plain.etag(EtagRule::None)), None);
}

#[test]
fn conditions() {
    let (hub, bytes) = start();
    let url = hub.file_url("a b/x.bin");
    let first = head(&hub, &url);
    let (etag, date) = (first.header("etag").unwrap(), first.header("last-modified").unwrap());
    assert_eq!(date, "Sun, 01 Nov 2026 00:00:00 GMT");
    let part =
        |if_range| send(&hub, "GET", &url, &[("Range", "bytes=9-"), ("If-Range", if_range)], "");
    for (if_range, status, from) in [
        (etag, 206, 9),
        (date, 206, 9),
        ("\"other\"", 200, 0),
        ("Sun, 01 Nov 2026 00:00:01 GMT", 200, 0),
        (&format!("W/{etag}"), 200, 0),
    ] {
        let response = part(if_range);
        assert_eq!(response.status, status, "{if_range}");
        assert!(response.body == bytes[from..], "{if_range}");
    }
    let with = |name, value| send(&hub, "GET", &url, &[(name, value)], "").status;
    assert_eq!(with("If-None-Match", etag), 304);
    assert_eq!(with("If-None-Match", "\"other\""), 200);
    assert_eq!(with("If-Match", etag), 200);
    assert_eq!(with("If-Match", "\"other\""), 412);
}

#[test]
fn files_on_disk_are_streamed_whole_and_in_part() {
    let content = Content::random(9, 3_000_000);
    let mut disk = tempfile::NamedTempFile::new().unwrap();
    disk.write_all(&content.to_vec()).unwrap();
    let hub = Hub::start().unwrap();
    let served = Content::file(disk.path()).unwrap();
    assert_eq!(served.sha256(), content.sha256());
    hub.add_file("disk", PlainFile::new(served));
    assert!(get(&hub, "/files/disk").body == content.to_vec());
    assert!(
        get_range(&hub, "/files/disk", "bytes=1000001-2000000").body
            == content.to_vec()[1_000_001..2_000_001]
    );
    assert_eq!(hub.bytes_sent("files/disk"), 4_000_000);
    assert!(Content::file("/no/such/file").unwrap_err().to_string().contains("/no/such/file"));
}

#[test]
fn connections_are_kept() {
    let (hub, bytes) = start();
    let mut stream = TcpStream::connect(&hub.url()["http://".len()..]).unwrap();
    for _ in 0..3 {
        stream
            .write_all(b"GET /files/a%20b/x.bin HTTP/1.1\r\nHost: h\r\nRange: bytes=-9\r\n\r\n")
            .unwrap();
        let mut response = Vec::new();
        while !response.ends_with(&bytes[LEN as usize - 9..]) {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            response.push(byte[0]);
        }
    }
    assert_eq!(hub.log().len(), 3);
}
