//! Requests, and what their answers mean.

use crate::error::Cause;
use crate::retry;
use crate::{FetchError, Limits, Secret, redact};
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use std::error::Error;
use std::time::{Duration, SystemTime};
use tokio::time::timeout;

const REDIRECTS: usize = 10;

/// A failure, and what to do about it.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) error: FetchError,
    pub(crate) next: Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Trying again would give the same.
    Stop,
    /// Try again, after what the server asked for.
    Retry(Option<Duration>),
    /// Throw away what there is, and begin again.
    Restart,
}

impl Trouble {
    pub(crate) fn retry(error: FetchError) -> Self {
        Self { error, next: Next::Retry(None) }
    }

    pub(crate) fn restart(error: FetchError) -> Self {
        Self { error, next: Next::Restart }
    }
}

impl From<FetchError> for Trouble {
    fn from(error: FetchError) -> Self {
        Self { error, next: Next::Stop }
    }
}

/// A web client that follows redirects by itself, so that a token goes to the host it is for and
/// no further.
#[derive(Debug)]
pub(crate) struct Http {
    client: Client,
    stall: Duration,
}

/// A GET request.
#[derive(Clone, Debug)]
pub(crate) struct Get<'a> {
    pub(crate) url: &'a Url,
    pub(crate) token: Option<&'a Secret>,
    pub(crate) headers: Vec<(HeaderName, String)>,
}

impl Http {
    pub(crate) fn new(limits: &Limits) -> Result<Self, FetchError> {
        let client = builder(limits)
            .redirect(redirect::Policy::none())
            // Parallel ranges are parallel connections.
            .http1_only()
            .build()
            .map_err(|error| unusable(&error))?;
        Ok(Self { client, stall: limits.stall })
    }

    /// The answer's head, if its status is a success or one of `accepted`.
    pub(crate) async fn get(
        &self,
        get: &Get<'_>,
        accepted: &[StatusCode],
    ) -> Result<Response, Trouble> {
        let mut url = get.url.clone();
        let mut token = get.token;
        for _ in 0..=REDIRECTS {
            let mut request = self
                .client
                .get(url.clone())
                .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            for (name, value) in &get.headers {
                request = request.header(name, value);
            }
            if let Some(token) = token
                && let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", token.reveal()))
            {
                value.set_sensitive(true);
                request = request.header(AUTHORIZATION, value);
            }
            let response = timeout(self.stall, request.send())
                .await
                .map_err(|_| Trouble::retry(self.stalled(get.url)))?
                .map_err(|error| Trouble::retry(network(get.url, &error)))?;
            let Some(next) = redirected(&url, &response)? else {
                let status = response.status();
                if status.is_success() || accepted.contains(&status) {
                    return Ok(response);
                }
                return Err(refused(get.url, status, response.headers()));
            };
            if next.origin() != url.origin() {
                token = None;
            }
            url = next;
        }
        Err(FetchError::Network {
            url: redact::shown(get.url),
            problem: format!("more than {REDIRECTS} redirects"),
        }
        .into())
    }

    /// The whole body of a small answer.
    pub(crate) async fn body(&self, url: &Url, mut response: Response) -> Result<Vec<u8>, Trouble> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk(url, &mut response).await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The next bytes of a body.
    pub(crate) async fn chunk(
        &self,
        url: &Url,
        response: &mut Response,
    ) -> Result<Option<bytes::Bytes>, Trouble> {
        timeout(self.stall, response.chunk())
            .await
            .map_err(|_| Trouble::retry(self.stalled(url)))?
            .map_err(|error| Trouble::retry(network(url, &error)))
    }

    fn stalled(&self, url: &Url) -> FetchError {
        FetchError::Stalled { url: redact::shown(url), seconds: self.stall.as_secs() }
    }
}

/// What every client of vprep has in common.
pub(crate) fn builder(limits: &Limits) -> reqwest::ClientBuilder {
    Client::builder()
        .user_agent(concat!("vprep/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(limits.connect)
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
}

pub(crate) fn unusable(error: &reqwest::Error) -> FetchError {
    FetchError::Setting { what: "web client".to_owned(), problem: reason(error) }
}

fn redirected(url: &Url, response: &Response) -> Result<Option<Url>, Trouble> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let bad = |problem: &str| {
        Trouble::from(FetchError::Network { url: redact::shown(url), problem: problem.to_owned() })
    };
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let next = location
        .and_then(|location| url.join(location).ok())
        .ok_or_else(|| bad("a redirect without an address"))?;
    match (url.scheme(), next.scheme()) {
        (_, "https") | ("http", "http") => Ok(Some(next)),
        _ => Err(bad("a redirect to an address that is not secure")),
    }
}

/// What a refusal means.
pub(crate) fn refused(url: &Url, status: StatusCode, headers: &HeaderMap) -> Trouble {
    let code = headers.get("x-error-code").and_then(|value| value.to_str().ok());
    let cause = cause(status, code);
    let error = FetchError::Answer { url: redact::shown(url), status: status.as_u16(), cause };
    match cause {
        Cause::RateLimited | Cause::Server => {
            let asked = retry::asked(headers, SystemTime::now());
            match asked {
                Some(asked) if asked > retry::PATIENCE => error.into(),
                asked => Trouble { error, next: Next::Retry(asked) },
            }
        }
        _ => error.into(),
    }
}

/// The likely cause of a status, with the hub's own code where there is one.
pub(crate) fn cause(status: StatusCode, code: Option<&str>) -> Cause {
    match (status.as_u16(), code) {
        (_, Some("GatedRepo")) => Cause::Gated,
        (401, Some("EntryNotFound" | "RevisionNotFound")) | (404 | 410, _) => Cause::NotFound,
        (401 | 407, _) => Cause::Unauthorised,
        (403, _) => Cause::Gated,
        (429, _) => Cause::RateLimited,
        (408 | 425, _) => Cause::Server,
        _ if status.is_server_error() => Cause::Server,
        _ => Cause::Other,
    }
}

fn network(url: &Url, error: &reqwest::Error) -> FetchError {
    FetchError::Network { url: redact::shown(url), problem: reason(error) }
}

/// The innermost cause, which names no address.
pub(crate) fn reason(error: &reqwest::Error) -> String {
    if error.is_connect() && error.is_timeout() {
        return "connecting took too long".to_owned();
    }
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = match innermost.downcast_ref::<std::io::Error>() {
        Some(error) => vprep_core::io_words::plain(error),
        // Its own text would carry the address.
        None if innermost.is::<reqwest::Error>() => "the request failed".to_owned(),
        None => innermost.to_string(),
    };
    if error.is_connect() {
        format!("cannot connect: {text}")
    } else {
        format!("the connection broke: {text}")
    }
}

/// Whether an answer is a web page.
pub(crate) fn is_page(headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    text.is_some_and(|text| text.trim_start().to_ascii_lowercase().starts_with("text/html"))
}
