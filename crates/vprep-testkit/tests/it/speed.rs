//! The server is not what a throughput test measures.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use vprep_testkit::{Content, Hub, PlainFile, Rule};

/// Downloads and forgets; returns gigabytes a second.
fn rate(hub: &Hub, path: &str, len: u64) -> f64 {
    let mut stream = TcpStream::connect(&hub.url()["http://".len()..]).unwrap();
    let begin = Instant::now();
    write!(stream, "GET /files/{path} HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut block = vec![0; 1 << 20];
    let mut total = 0;
    loop {
        match stream.read(&mut block).unwrap() {
            0 => break,
            n => total += n as u64,
        }
    }
    assert!(total > len);
    total as f64 / begin.elapsed().as_secs_f64() / 1e9
}

#[test]
#[ignore = "a measurement: run it alone, with --nocapture"]
fn throughput() {
    const LEN: u64 = 2 << 30;
    let mut disk = tempfile::NamedTempFile::new().unwrap();
    let block = Content::random(1, 1 << 24).to_vec();
    for _ in 0..LEN >> 24 {
        disk.write_all(&block).unwrap();
    }
    let hub = Hub::start().unwrap();
    let none = vprep_testkit::EtagRule::None;
    hub.add_file("disk", PlainFile::new(Content::file(disk.path()).unwrap()).etag(none.clone()));
    hub.add_file("random", PlainFile::new(Content::random(1, LEN)).etag(none));
    println!("from disk:   {:.2} GB/s", rate(&hub, "disk", LEN));
    println!("from disk:   {:.2} GB/s", rate(&hub, "disk", LEN));
    println!("from a seed: {:.2} GB/s", rate(&hub, "random", LEN));
    hub.rule(Rule::new("files/disk", vprep_testkit::Fault::FlipByte { offset: 9 }));
    println!("one byte flipped: {:.2} GB/s", rate(&hub, "disk", LEN));
}
