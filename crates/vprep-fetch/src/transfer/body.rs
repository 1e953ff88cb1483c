//! Where bytes come from: an answer of a web server, or a stream of the hub crate for files that
//! xet serves. Here answers are compared with what the part holds.

use super::{Engine, Growing, Want, part::Version, range};
use crate::http::{self, Get, Trouble};
use crate::hub::{self, ByteStream, XetFile};
use crate::{FetchError, Secret, redact};
use futures_util::StreamExt;
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, IF_RANGE, LAST_MODIFIED, RANGE};
use reqwest::{Response, StatusCode, Url};
use std::ops::Range;
use std::sync::Arc;

/// One place that has a file.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// A web server.
    Web { url: Url, token: Option<Secret> },
    /// The hub's content-addressed store, through the hub crate's own client.
    Xet(Arc<XetFile>),
}

impl Origin {
    /// The address for people.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Web { url, .. } => redact::shown(url),
            Self::Xet(file) => file.shown(),
        }
    }

    pub(super) fn length(&self, expected: u64, found: u64) -> FetchError {
        FetchError::Length { url: self.shown(), expected, found }
    }
}

enum Stream {
    Web(Url, Response),
    Xet(String, ByteStream),
    Empty,
}

/// Bytes on their way to a span of the file.
pub(super) struct Body {
    stream: Stream,
    start: u64,
    /// Where it ends, if that is known.
    end: Option<u64>,
    whole: bool,
}

impl Body {
    /// Asks for a span. The first answer decides length and version of a part that has none.
    pub(super) async fn open(
        engine: &Engine<'_>,
        want: &Want,
        origin: &Origin,
        growing: &Growing,
        span: Range<u64>,
    ) -> Result<Self, Trouble> {
        if span.is_empty() && want.bytes == Some(0) {
            engine.begin(want, growing, Version { bytes: Some(0), ..Version::default() })?;
            return Ok(Self { stream: Stream::Empty, start: 0, end: Some(0), whole: true });
        }
        match origin {
            Origin::Web { url, token } => {
                Self::open_web(engine, want, growing, (url, token.as_ref()), span).await
            }
            Origin::Xet(file) => Self::open_xet(engine, want, growing, file, span).await,
        }
    }

    async fn open_xet(
        engine: &Engine<'_>,
        want: &Want,
        growing: &Growing,
        file: &XetFile,
        span: Range<u64>,
    ) -> Result<Self, Trouble> {
        let version = Version { bytes: want.bytes, ..Version::default() };
        let known = growing.part.borrow().version().cloned();
        // Bytes of a web server that named its version are of the same commit: go on with them.
        if known.is_some_and(|known| known.bytes != version.bytes) {
            return Err(Trouble::restart(changed(&file.shown())));
        }
        let opened = tokio::time::timeout(engine.stall(), file.open(span.clone())).await;
        let stream = match opened {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(hub::trouble(&file.shown(), &error)),
            Err(_) => return Err(stalled(engine, file.shown())),
        };
        engine.begin(want, growing, version)?;
        let stream = Stream::Xet(file.shown(), stream);
        Ok(Self { stream, start: span.start, end: Some(span.end), whole: false })
    }

    async fn open_web(
        engine: &Engine<'_>,
        want: &Want,
        growing: &Growing,
        (url, token): (&Url, Option<&Secret>),
        span: Range<u64>,
    ) -> Result<Self, Trouble> {
        let known = growing.part.borrow().version().cloned();
        let unproven = || {
            Trouble::restart(FetchError::Unstable {
                url: redact::shown(url),
                problem: "the server does not name the version of the file, so that it cannot be continued",
            })
        };
        let mut headers = Vec::new();
        if !growing.whole_only.get() {
            headers.push((RANGE, range(&span)));
        } else if growing.part.borrow().have() > 0 {
            return Err(unproven());
        }
        if let Some(validator) = known.as_ref().and_then(validator) {
            headers.push((IF_RANGE, validator));
        }
        let get = Get { url, token, headers };
        let response = engine.http.get(&get, &[StatusCode::RANGE_NOT_SATISFIABLE]).await?;
        let shown = redact::shown(url);
        let headers = response.headers();
        let length = response.content_length();
        let (start, end, total) = match response.status().as_u16() {
            206 => match content_range(headers) {
                Some((start, end, total)) if start == span.start && end <= span.end => {
                    (start, Some(end), total)
                }
                _ => {
                    return Err(Trouble::retry(FetchError::Unstable {
                        url: shown,
                        problem: "the server answers another range than it was asked for",
                    }));
                }
            },
            416 => (span.start, Some(span.start), unsatisfied(headers)),
            _ => (0, length, length),
        };
        let whole = response.status() != StatusCode::PARTIAL_CONTENT;
        if http::is_page(headers)
            && !is_page_name(url)
            && (want.bytes.is_none() || want.bytes != total)
        {
            return Err(Trouble::retry(FetchError::Page { url: shown }));
        }
        if let (Some(expected), Some(found)) = (want.bytes, total)
            && expected != found
        {
            return Err(Trouble::retry(FetchError::Length { url: shown, expected, found }));
        }
        let text = |name| headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let etag = text(ETAG);
        let modified = if etag.is_none() { text(LAST_MODIFIED) } else { None };
        let version = Version { bytes: total.or(want.bytes), etag, modified };
        if response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            return Self::nothing_there(engine, want, growing, span, version, &shown);
        }
        if let Some(known) = &known {
            if is_other(known, &version) {
                return Err(Trouble::restart(changed(&shown)));
            }
            if whole && (growing.part.borrow().have() > 0 || span.start > 0) {
                return Err(Trouble::restart(FetchError::Unstable {
                    url: shown,
                    problem: "the server does not continue where the connection broke",
                }));
            }
        }
        let piece = !whole && end != total;
        if (piece || start > 0) && !growing.may_join(want, known.as_ref().unwrap_or(&version)) {
            growing.whole_only.set(true);
            return Err(unproven());
        }
        engine.begin(want, growing, version)?;
        let end = if whole { total.or(want.bytes) } else { end };
        Ok(Self { stream: Stream::Web(url.clone(), response), start, end, whole })
    }

    /// The server has nothing at the place that was asked for.
    fn nothing_there(
        engine: &Engine<'_>,
        want: &Want,
        growing: &Growing,
        span: Range<u64>,
        version: Version,
        shown: &str,
    ) -> Result<Self, Trouble> {
        let unknown = growing.part.borrow().version().is_none_or(|known| known.bytes.is_none());
        if version.bytes == Some(span.start) && unknown {
            engine.begin(want, growing, version)?;
            growing.part.borrow_mut().end(span.start);
            return Ok(Self {
                stream: Stream::Empty,
                start: span.start,
                end: Some(span.start),
                whole: true,
            });
        }
        growing.whole_only.set(span.start == 0);
        Err(Trouble::restart(changed(shown)))
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn end(&self) -> Option<u64> {
        self.end
    }

    /// Whether it is the whole file, whatever was asked for.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// The next bytes.
    pub(super) async fn next(
        &mut self,
        engine: &Engine<'_>,
    ) -> Result<Option<bytes::Bytes>, Trouble> {
        match &mut self.stream {
            Stream::Empty => Ok(None),
            Stream::Web(url, response) => engine.http.chunk(url, response).await,
            Stream::Xet(shown, stream) => {
                let next = tokio::time::timeout(engine.stall(), stream.next()).await;
                match next {
                    Ok(Some(Ok(chunk))) => Ok(Some(chunk)),
                    Ok(Some(Err(error))) => Err(hub::trouble(shown, &error)),
                    Ok(None) => Ok(None),
                    Err(_) => Err(stalled(engine, shown.clone())),
                }
            }
        }
    }
}

fn stalled(engine: &Engine<'_>, url: String) -> Trouble {
    Trouble::retry(FetchError::Stalled { url, seconds: engine.stall().as_secs() })
}

fn changed(url: &str) -> FetchError {
    FetchError::Unstable { url: url.to_owned(), problem: "the file changes while it is fetched" }
}

/// Whether an answer is of another version than the part.
fn is_other(known: &Version, now: &Version) -> bool {
    let differ = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
    let bytes = known.bytes.is_some() && now.bytes.is_some() && known.bytes != now.bytes;
    bytes || differ(&known.etag, &now.etag) || differ(&known.modified, &now.modified)
}

/// What `If-Range` may say: a strong ETag, or else a date.
pub(super) fn validator(version: &Version) -> Option<String> {
    match (&version.etag, &version.modified) {
        (Some(etag), _) if etag.starts_with('"') => Some(etag.clone()),
        (None, Some(date)) => Some(date.clone()),
        _ => None,
    }
}

/// `bytes first-last/total` as start, end and total.
fn content_range(headers: &HeaderMap) -> Option<(u64, u64, Option<u64>)> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?.trim();
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let total = total.trim().parse().ok();
    (first <= last && total.is_none_or(|total| last < total)).then_some((first, last + 1, total))
}

/// `bytes */total`.
fn unsatisfied(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_RANGE)?.to_str().ok()?.trim().strip_prefix("bytes */")?.parse().ok()
}

fn is_page_name(url: &Url) -> bool {
    let path = url.path().to_ascii_lowercase();
    path.ends_with(".html") || path.ends_with(".htm")
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn content_ranges() {
        let parse = |text: &'static str| {
            content_range(&HeaderMap::from_iter([(CONTENT_RANGE, HeaderValue::from_static(text))]))
        };
        assert_eq!(parse("bytes 0-9/20"), Some((0, 10, Some(20))));
        assert_eq!(parse("bytes 5-9/*"), Some((5, 10, None)));
        for bad in ["bytes 9-5/20", "bytes 0-20/20", "0-9/20", "bytes */20", "bytes a-b/c"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn only_a_strong_name_of_a_version_may_continue_it() {
        let version = |etag: Option<&str>, modified: Option<&str>| Version {
            bytes: Some(1),
            etag: etag.map(str::to_owned),
            modified: modified.map(str::to_owned),
        };
        assert_eq!(validator(&version(Some("\"a\""), None)).as_deref(), Some("\"a\""));
        assert_eq!(validator(&version(Some("W/\"a\""), Some("date"))), None);
        assert_eq!(validator(&version(None, Some("date"))).as_deref(), Some("date"));
        assert!(is_other(&version(Some("W/\"a\""), None), &version(Some("W/\"b\""), None)));
        assert!(!is_other(&version(Some("\"a\""), None), &version(None, None)));
    }
}
