//! Requests and response heads, as bytes.

use std::io::{self, BufRead, Read, Write};

/// Longest request head.
const MAX_HEAD: usize = 64 << 10;
/// Longest request body: control messages with inline content.
const MAX_BODY: u64 = 64 << 20;

/// A request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query as sent.
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) keep_alive: bool,
}

impl Request {
    /// Reads one request; `None` if the client has closed the connection.
    pub(crate) fn read(stream: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let line = stream.take(MAX_HEAD as u64).read_until(b'\n', &mut head)?;
            if line == 0 {
                return Ok(None);
            }
            if head.len() > MAX_HEAD {
                return Err(invalid("request head too long"));
            }
        }
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut parsed = httparse::Request::new(&mut headers);
        parsed.parse(&head).map_err(|error| invalid(&error.to_string()))?;
        let mut request = Self {
            method: parsed.method.unwrap_or_default().to_owned(),
            target: parsed.path.unwrap_or_default().to_owned(),
            keep_alive: parsed.version == Some(1),
            headers: parsed
                .headers
                .iter()
                .map(|header| {
                    let value = String::from_utf8_lossy(header.value).into_owned();
                    (header.name.to_ascii_lowercase(), value)
                })
                .collect(),
            body: Vec::new(),
        };
        if request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            request.keep_alive = false;
        }
        let length = match request.header("content-length") {
            Some(text) => text.parse().map_err(|_| invalid("bad content-length"))?,
            None if request.header("transfer-encoding").is_some() => {
                return Err(invalid("chunked requests are not read here"));
            }
            None => 0,
        };
        if length > MAX_BODY {
            return Err(invalid("request body too long"));
        }
        stream.take(length).read_to_end(&mut request.body)?;
        Ok(Some(request))
    }

    /// The value of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The path as sent.
    pub(crate) fn path(&self) -> &str {
        self.target.split_once('?').map_or(&self.target, |(path, _)| path)
    }

    /// A parameter of the query.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        parameters(query).into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Whether a parameter of the query is true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.query(name).is_some_and(|value| matches!(value.as_str(), "1" | "true" | "True"))
    }

    /// The token of `Authorization: Bearer …`.
    pub(crate) fn token(&self) -> Option<&str> {
        self.header("authorization").and_then(|value| value.strip_prefix("Bearer "))
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Decodes `a=b&c=d`.
pub(crate) fn parameters(text: &str) -> Vec<(String, String)> {
    text.split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (decode(&key.replace('+', " ")), decode(&value.replace('+', " "))))
        .collect()
}

/// Decodes `%41`.
pub(crate) fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = tail.get(..2).filter(|_| first == b'%');
        let code = code.and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Encodes what may not stand in a path.
pub(crate) fn encode_path(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    text.bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// The status and headers of a response.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(&'static str, String)>,
}

impl Head {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, headers: Vec::new() }
    }

    /// The same headers with another status.
    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds a header if there is a value.
    pub(crate) fn with_some(self, name: &'static str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn write(&self, stream: &mut impl Write) -> io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            206 => "Partial Content",
            302 => "Found",
            304 => "Not Modified",
            307 => "Temporary Redirect",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            416 => "Range Not Satisfiable",
            429 => "Too Many Requests",
            503 => "Service Unavailable",
            _ => "Status",
        };
        let mut text = format!("HTTP/1.1 {} {reason}\r\nServer: vprep-testkit\r\n", self.status);
        for (name, value) in &self.headers {
            text.extend([name, ": ", value, "\r\n"]);
        }
        text.push_str("\r\n");
        stream.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_encoding() {
        assert_eq!(decode("refs%2Fconvert%2Fparquet"), "refs/convert/parquet");
        assert_eq!(decode("100%"), "100%");
        assert_eq!(decode(&encode_path("a b/ü#?.txt")), "a b/ü#?.txt");
        assert_eq!(parameters("a=1+2&b")[0], ("a".to_owned(), "1 2".to_owned()));
    }

    #[test]
    fn requests() {
        let text = "POST /a?x=1 HTTP/1.1\r\nContent-Length: 2\r\nAuthorization: Bearer t\r\n\r\nhi";
        let request = Request::read(&mut text.as_bytes()).unwrap().unwrap();
        assert_eq!((request.path(), request.token()), ("/a", Some("t")));
        assert!(request.flag("x") && request.keep_alive);
        assert_eq!(request.body, b"hi");
        assert!(Request::read(&mut "".as_bytes()).unwrap().is_none());
    }
}
