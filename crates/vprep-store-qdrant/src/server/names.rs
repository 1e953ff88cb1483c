//! What an index is called on the server.

use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Characters of the name of an index that are kept, so that the whole stays far below Qdrant's
/// limit of 255.
const KEPT: usize = 40;

/// Length of a build's id in hexadecimal.
const ID: usize = 32;

/// The alias of an index, `vprep_`, its name as far as it is plain, and a hash of all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alias(String);

impl Alias {
    /// The alias of the index `name`, which may be any text.
    pub(super) fn of(name: &str) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let kept: String = name.chars().take(KEPT).map(plain).collect();
        Self(format!("vprep_{kept}_{:016x}", xxh3_64(name.as_bytes())))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// A name that no other collection has.
    pub(super) fn new_collection(&self) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let unique = format!("{now} {} {count}", process::id());
        format!("{}_{:0ID$x}", self.0, xxh3_128(unique.as_bytes()))
    }

    /// Whether a collection is of a build of this index.
    pub(super) fn owns(&self, collection: &str) -> bool {
        let id = collection.strip_prefix(&self.0).and_then(|rest| rest.strip_prefix('_'));
        id.is_some_and(|id| id.len() == ID && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_makes_a_plain_name() {
        let long = "x".repeat(10_000);
        let hostile =
            ["", "../../etc/passwd", "a/b?c#d", "näme 数据 \0\n\"'`;$()", &long, "A b", "A_b"];
        let mut seen = std::collections::HashSet::new();
        for name in hostile {
            let alias = Alias::of(name);
            let collection = alias.new_collection();
            assert!(collection.len() <= 6 + KEPT + 1 + 16 + 1 + ID, "{collection}");
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            assert!(collection.chars().all(plain), "{collection}");
            assert!(seen.insert(alias.as_str().to_owned()), "{name:?} shares an alias");
            assert_eq!(alias, Alias::of(name));
        }
    }

    #[test]
    fn an_index_owns_its_builds_only() {
        let alias = Alias::of("base");
        let (first, second) = (alias.new_collection(), alias.new_collection());
        assert_ne!(first, second);
        assert!(alias.owns(&first) && alias.owns(&second));
        assert!(!Alias::of("base2").owns(&first));
        for other in ["base", alias.as_str(), &first[..first.len() - 1], "products"] {
            assert!(!alias.owns(other), "{other}");
        }
    }
}
