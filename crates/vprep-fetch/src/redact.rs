//! Secrets that cannot be printed, and addresses without the secrets in them.

use reqwest::Url;
use std::fmt;

/// A token or password. It has no `Display`, and its `Debug` shows stars.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret; an empty one is none.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(****)")
    }
}

/// An address for people to read: no user, password, query or fragment. Signed addresses carry
/// their signature in the query.
pub(crate) fn shown(url: &Url) -> String {
    let mut clean = url.clone();
    // Both fail only for addresses without a host, which carry no credentials either.
    let _ = clean.set_username("");
    let _ = clean.set_password(None);
    clean.set_query(None);
    clean.set_fragment(None);
    clean.into()
}

/// The same for text that may not be an address at all.
pub(crate) fn shown_text(text: &str) -> String {
    match Url::parse(text) {
        Ok(url) if url.has_host() => shown(&url),
        _ => match (text.find("://"), text.rfind('@')) {
            (Some(scheme), Some(at)) if scheme < at && !text.starts_with("hf://") => {
                format!("{}…{}", &text[..scheme + 3], &text[at..])
            }
            _ => text.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_what_is_secret() {
        for text in [
            "https://user:hunter2@example.org/a/b?X-Amz-Signature=hunter2#hunter2",
            "https://user:hunter2@ex ample/a",
        ] {
            assert!(!shown_text(text).contains("hunter2"), "{}", shown_text(text));
        }
        assert_eq!(shown_text("https://a:b@example.org/x?y"), "https://example.org/x");
        assert_eq!(shown_text("hf://datasets/a/b@main"), "hf://datasets/a/b@main");
    }

    #[test]
    fn a_secret_has_no_debug_text() {
        let secret = Secret::new(" hunter2\n").expect("not empty");
        assert_eq!(secret.reveal(), "hunter2");
        assert!(!format!("{secret:?}").contains("hunter2"));
        assert!(Secret::new(" \n").is_none());
    }
}
