//! Misbehaviour on demand: what goes wrong, where, and how often.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::hub::lock;

/// One way in which a response goes wrong. In JSON: `{"kind": "cut", "after": 1000}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fault {
    /// The connection closes after `after` bytes of the body.
    Cut {
        /// Bytes of this response's body that still arrive.
        after: u64,
    },
    /// The connection closes before any response.
    NoResponse,
    /// After `after` bytes of the body nothing comes for `millis`; then the rest follows.
    Stall {
        /// Bytes of this response's body before the pause.
        after: u64,
        /// Length of the pause.
        millis: u64,
    },
    /// The body comes at this speed.
    Slow {
        /// Bytes a second.
        bytes_per_second: u64,
    },
    /// One byte is wrong. Ranges that do not hold it are right.
    FlipByte {
        /// Offset in the file.
        offset: u64,
    },
    /// The last `missing` bytes of the body never come.
    ShortBody {
        /// Bytes left out.
        missing: u64,
        /// What the header says about the length.
        declared: Declared,
    },
    /// A web page with status 200, as captive portals and proxies serve it.
    HtmlPage,
    /// Status 200 and the whole file, whatever range was asked for.
    IgnoreRange,
    /// From here on the file has another ETag and other bytes: [`Content::altered`].
    ///
    /// [`Content::altered`]: crate::Content::altered
    NewVersion,
    /// Status 429.
    TooManyRequests {
        /// When to come back.
        retry_after: RetryAfter,
    },
    /// An error status with an empty body, for instance 404, 500 or 503.
    Status {
        /// The status.
        code: u16,
    },
    /// A redirect to the same address, for ever.
    RedirectLoop,
    /// `Content-Length` is wrong by `delta`; the body is whole, and then the connection closes.
    WrongContentLength {
        /// Added to the true length.
        delta: i64,
    },
    /// A range is answered with another one, `shift` bytes further on.
    WrongContentRange {
        /// Added to the start in `Content-Range`.
        shift: i64,
        /// Whether the bytes are those of the header, or those that were asked for.
        bytes_too: bool,
    },
}

/// What a short response says about its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Declared {
    /// The full length: the client sees that bytes are missing.
    Full,
    /// The short length: the response is consistent in itself.
    Short,
    /// Nothing: the end of the connection is the end of the body.
    Nothing,
}

/// The form of `Retry-After`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RetryAfter {
    /// No such header.
    Absent,
    /// `Retry-After: 3`.
    Seconds(u64),
    /// `Retry-After: Wed, 21 Oct 2026 07:28:00 GMT`, this many seconds from now.
    Date(u64),
}

/// A fault, and the requests that it befalls.
///
/// A path without a slash in front names a file, however it is reached: `files/PATH`,
/// `datasets/OWNER/NAME/PATH` or `models/OWNER/NAME/PATH`. The rule then counts the `GET` requests
/// that would send its bytes, on the hub or on the CDN, and no redirect or `HEAD`. A path with a
/// slash in front is that of the URL (percent-encoded as sent, without the query), and every
/// request to it counts. `*` stands for any characters.
///
/// In JSON: `{"path": "files/a", "fault": {"kind": "cut", "after": 9}, "skip": 0, "times": 1}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    path: String,
    fault: Fault,
    #[serde(default)]
    skip: u64,
    #[serde(default)]
    times: Option<u64>,
    #[serde(default)]
    method: Option<String>,
}

impl Rule {
    /// The fault befalls every request to `path`.
    pub fn new(path: impl Into<String>, fault: Fault) -> Self {
        Self { path: path.into(), fault, skip: 0, times: None, method: None }
    }

    /// The first `requests` go well.
    #[must_use]
    pub fn skip(mut self, requests: u64) -> Self {
        self.skip = requests;
        self
    }

    /// Only this many requests are hit, from the first that is not skipped.
    #[must_use]
    pub fn times(mut self, requests: u64) -> Self {
        self.times = Some(requests);
        self
    }

    /// Only requests of this method count.
    #[must_use]
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = Some(method.into());
        self
    }

    /// The fault.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Whether the rule strikes for ever.
    pub fn is_permanent(&self) -> bool {
        self.times.is_none()
    }

    /// Whether the `n`-th request (from 0) is hit.
    fn strikes(&self, n: u64) -> bool {
        n >= self.skip && self.times.is_none_or(|times| n - self.skip < times)
    }

    fn concerns(&self, request: &Asked<'_>) -> bool {
        if self.method.as_deref().is_some_and(|method| method != request.method) {
            return false;
        }
        if self.path.starts_with('/') {
            return matches(&self.path, request.path);
        }
        request.sends_bytes && request.key.is_some_and(|key| matches(&self.path, key))
    }
}

/// What rules look at in a request.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    /// As sent, without the query.
    pub(crate) path: &'a str,
    /// The file, if it is one.
    pub(crate) key: Option<&'a str>,
    /// Whether this is a `GET` answered with the file's bytes.
    pub(crate) sends_bytes: bool,
}

/// Everything that will go wrong with one response.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) faults: Vec<Fault>,
}

impl Plan {
    /// The first fault for which `pick` has an answer.
    pub(crate) fn find<T>(&self, pick: impl FnMut(&Fault) -> Option<T>) -> Option<T> {
        self.faults.iter().find_map(pick)
    }
}

/// The rules in force, with the number of requests that each has seen.
#[derive(Default)]
pub(crate) struct Rules(Mutex<Vec<(Rule, u64)>>);

impl Rules {
    pub(crate) fn add(&self, rule: Rule) {
        lock(&self.0).push((rule, 0));
    }

    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }

    pub(crate) fn list(&self) -> Vec<Rule> {
        lock(&self.0).iter().map(|(rule, _)| rule.clone()).collect()
    }

    /// Counts a request and says what goes wrong with it.
    pub(crate) fn plan(&self, request: &Asked<'_>) -> Plan {
        let mut plan = Plan::default();
        for (rule, seen) in lock(&self.0).iter_mut().filter(|(rule, _)| rule.concerns(request)) {
            if rule.strikes(*seen) {
                plan.faults.push(rule.fault.clone());
            }
            *seen += 1;
        }
        plan
    }

    /// Whether a file is at its new version. Nothing is counted.
    pub(crate) fn is_new_version(&self, key: &str) -> bool {
        lock(&self.0).iter().any(|(rule, seen)| {
            rule.fault == Fault::NewVersion
                && matches(rule.path.trim_start_matches('/'), key)
                && rule.strikes(*seen)
        })
    }
}

/// Matches a text with a pattern in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| matches(tail, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(matches("files/a", "files/a"));
        assert!(matches("files/*", "files/a/b"));
        assert!(matches("*.parquet", "datasets/o/n/x.parquet"));
        assert!(matches("a*c*", "abbc"));
        assert!(!matches("files/a", "files/ab"));
        assert!(!matches("*.parquet", "x.parquet.tmp"));
    }

    #[test]
    fn a_rule_skips_and_then_strikes_a_number_of_times() {
        let rules = Rules::default();
        rules.add(Rule::new("files/a", Fault::HtmlPage).skip(1).times(2));
        let hit = |key, sends_bytes| {
            let asked = Asked { method: "GET", path: "/files/a", key: Some(key), sends_bytes };
            !rules.plan(&asked).faults.is_empty()
        };
        assert!(!hit("files/b", true));
        assert!(!hit("files/a", false));
        assert_eq!([0; 5].map(|_| hit("files/a", true)), [false, true, true, false, false]);
    }

    #[test]
    fn rules_as_json() {
        let text = r#"{"path":"files/a","fault":{"kind":"too-many-requests","retry_after":{"seconds":1}},"times":1}"#;
        let rule: Rule = serde_json::from_str(text).unwrap();
        let fault = Fault::TooManyRequests { retry_after: RetryAfter::Seconds(1) };
        assert_eq!(rule, Rule::new("files/a", fault).times(1));
        let typo = r#"{"path":"files/a","fault":{"kind":"cut","after":1,"byte":2}}"#;
        assert!(serde_json::from_str::<Rule>(typo).is_err());
    }
}
