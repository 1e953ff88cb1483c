//! When to try again.

use backon::{BackoffBuilder, ExponentialBuilder};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use std::time::{Duration, SystemTime};

/// How long a server may make us wait; a longer wish is an answer in itself.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Exponential waits with full jitter: each is drawn between nothing and the exponential bound, so
/// that many clients do not come back together.
pub(crate) struct Waits {
    bounds: backon::ExponentialBackoff,
    longest: Duration,
}

impl Waits {
    /// Waits that begin below `first` and stay below `longest`.
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        let bounds = ExponentialBuilder::default()
            .with_min_delay(first)
            .with_max_delay(longest)
            .without_max_times()
            .build();
        Self { bounds, longest }
    }

    /// The next wait, at least as long as the server asked.
    pub(crate) fn next(&mut self, asked: Option<Duration>) -> Duration {
        let wait = self.bounds.next().unwrap_or(self.longest).mul_f64(fastrand::f64());
        asked.map_or(wait, |asked| asked + wait.min(Duration::from_secs(1)))
    }
}

/// What `Retry-After` asks for, in seconds or as a date.
pub(crate) fn asked(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn waits_grow_to_a_bound_and_are_jittered() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_secs(2));
        let mut waits = Waits::new(first, longest);
        assert!(waits.next(None) <= first);
        let all: Vec<_> = (0..40).map(|_| waits.next(None)).collect();
        assert!(all.iter().all(|wait| *wait <= longest));
        assert!(all.iter().any(|wait| *wait > Duration::from_millis(300)), "they grow");
        assert!(all.windows(2).any(|pair| pair[0] > pair[1]), "they are jittered");
        assert!(waits.next(Some(Duration::from_secs(7))) >= Duration::from_secs(7));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Wed, 21 Oct 2026 07:28:00 GMT").expect("a date");
        let parse = |text: &'static str| {
            asked(&HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]), now)
        };
        assert_eq!(parse("3"), Some(Duration::from_secs(3)));
        assert_eq!(parse("Wed, 21 Oct 2026 07:28:05 GMT"), Some(Duration::from_secs(5)));
        assert_eq!(parse("Wed, 21 Oct 2026 07:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(parse("soon"), None);
    }
}
