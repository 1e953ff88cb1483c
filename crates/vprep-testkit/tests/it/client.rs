//! A client that shows what came over the wire.

use std::io::{Read, Write};
use std::net::TcpStream;

use vprep_testkit::Hub;

/// A response as it came.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    /// What came after the head, until the server closed the connection.
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Sends a request to a path of the hub, or to an absolute address, and reads to the end.
pub(crate) fn send(
    hub: &Hub,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response {
    let (host, path) = match target.strip_prefix("http://") {
        Some(rest) => rest.split_at(rest.find('/').unwrap()),
        None => (&hub.url()["http://".len()..].to_owned()[..], target),
    };
    let mut stream = TcpStream::connect(host).unwrap();
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    parse(&bytes)
}

pub(crate) fn get(hub: &Hub, target: &str) -> Response {
    send(hub, "GET", target, &[], "")
}

pub(crate) fn head(hub: &Hub, target: &str) -> Response {
    send(hub, "HEAD", target, &[], "")
}

pub(crate) fn get_range(hub: &Hub, target: &str, range: &str) -> Response {
    send(hub, "GET", target, &[("Range", range)], "")
}

/// A response of status 0 is no response.
fn parse(bytes: &[u8]) -> Response {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        assert!(bytes.is_empty(), "half a head");
        return Response { status: 0, headers: Vec::new(), body: Vec::new() };
    };
    let text = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    Response { status, headers, body: bytes[end + 4..].to_vec() }
}
