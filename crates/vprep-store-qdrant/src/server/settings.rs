//! Where the server is, and the key to it.

use super::NAME;
use std::fmt;
use vprep_store::StoreError;

const URL: &str = "VPREP_QDRANT_URL";
const API_KEYS: [&str; 2] = ["VPREP_QDRANT_API_KEY", "QDRANT_API_KEY"];
const EXAMPLE: &str = "http://localhost:6334";

/// URL and API key; its `Debug` shows neither.
#[derive(Clone)]
pub(super) struct Settings {
    url: Option<String>,
    api_key: Option<String>,
}

/// Settings that can be used.
#[derive(Clone, Copy)]
pub(super) struct Checked<'a> {
    pub(super) url: &'a str,
    /// Host and port, to be shown.
    pub(super) place: &'a str,
    pub(super) api_key: Option<&'a str>,
}

impl Settings {
    pub(super) fn new(url: Option<&str>, api_key: Option<&str>) -> Self {
        let given = |text: Option<&str>| {
            text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Self { url: given(url), api_key: given(api_key) }
    }

    pub(super) fn from_env() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
        let api_key = API_KEYS.into_iter().find_map(variable);
        Self::new(variable(URL).as_deref(), api_key.as_deref())
    }

    /// Checks both. Qdrant's client repeats a URL and a key that it cannot use in its messages, so
    /// it never gets such.
    pub(super) fn check(&self) -> Result<Checked<'_>, StoreError> {
        let not_configured =
            StoreError::NotConfigured { store: NAME, variable: URL, example: EXAMPLE };
        let url = self.url.as_deref().ok_or(not_configured)?;
        let unusable = |place: &str, message: String| {
            Err(StoreError::Unreachable { store: NAME, place: place.to_owned(), message })
        };
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
        let place = match authority {
            Some(authority) if authority.contains('@') => {
                let message = format!("its URL must not hold credentials; set {}", API_KEYS[0]);
                return unusable(authority.rsplit('@').next().unwrap_or_default(), message);
            }
            Some(place) if is_place(place) => place,
            _ => return unusable(URL, format!("it is not a URL such as {EXAMPLE}")),
        };
        let api_key = self.api_key.as_deref();
        if api_key.is_some_and(|key| !key.bytes().all(|byte| byte.is_ascii_graphic())) {
            let message = "the API key holds something else than visible ASCII characters";
            return unusable(place, message.to_owned());
        }
        Ok(Checked { url, place, api_key })
    }
}

/// Whether this is a host with a port or without.
fn is_place(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let in_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._[:]".contains(&byte);
    !host.is_empty()
        && host.bytes().all(in_host)
        && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(url: &str, key: Option<&str>) -> String {
        Settings::new(Some(url), key).check().err().expect("refused").to_string()
    }

    #[test]
    fn urls_are_taken_apart() {
        for (url, place) in [
            ("http://localhost:6334", "localhost:6334"),
            (" https://a-b.example.com/ ", "a-b.example.com"),
            ("http://[::1]:6334/path?query", "[::1]:6334"),
            ("http://[::1]", "[::1]"),
        ] {
            let settings = Settings::new(Some(url), Some("key"));
            let checked = settings.check().expect(url);
            assert_eq!((checked.place, checked.api_key), (place, Some("key")));
        }
    }

    #[test]
    fn what_is_no_url_is_refused_without_showing_it() {
        for url in [
            "hunter2",
            "ftp://hunter2",
            "http://",
            "http://hunter2:port",
            "http://hunter2:0",
            "http://hunter 2",
            "http://hunter2%20",
            "http://:6334",
            "http://hunter2:70000",
        ] {
            let message = message(url, None);
            assert!(message.contains("not a URL such as http://localhost:6334"), "{message}");
            assert!(!message.contains("hunter"), "{message}");
        }
    }

    #[test]
    fn credentials_are_not_shown() {
        let message_of_url = message("http://user:hunter2@example.com:6334", Some("key"));
        assert!(message_of_url.contains("example.com:6334"), "{message_of_url}");
        assert!(message_of_url.contains("VPREP_QDRANT_API_KEY"), "{message_of_url}");
        let message_of_key = message("http://example.com:6334", Some("hunter2\n!"));
        assert!(message_of_key.contains("visible ASCII"), "{message_of_key}");
        let debug = format!("{:?}", Settings::new(Some("http://hunter2"), Some("hunter2")));
        for text in [message_of_url, message_of_key, debug] {
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn without_a_url_the_variable_is_named() {
        for url in [None, Some(""), Some("  ")] {
            let error = Settings::new(url, None).check().err().expect("no URL");
            assert_eq!(
                error.to_string(),
                "store `qdrant` is not set up: set VPREP_QDRANT_URL to http://localhost:6334"
            );
        }
    }
}
