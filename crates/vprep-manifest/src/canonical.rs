//! Canonical JSON and its digest.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The canonical JSON text of a value: keys sorted, two spaces of indentation, a final newline.
///
/// # Panics
///
/// If the value cannot be JSON (a map with keys that are no strings): a bug of the type.
pub fn canonical_json(value: &impl Serialize) -> String {
    let mut value = serde_json::to_value(value).expect("vprep's types are JSON; this is a bug");
    // Whether a serde_json map sorts its keys depends on a feature that any crate may turn on.
    value.sort_all_objects();
    let mut text = serde_json::to_string_pretty(&value).expect("a JSON value prints");
    text.push('\n');
    text
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

/// The sha256 of some bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The digest of a value without some of its top-level keys.
pub(crate) fn digest_without(value: &impl Serialize, keys: &[&str]) -> String {
    let mut value = serde_json::to_value(value).expect("vprep's types are JSON; this is a bug");
    if let Value::Object(map) = &mut value {
        keys.iter().for_each(|key| drop(map.remove(*key)));
    }
    sha256(canonical_json(&value).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_at_every_level() {
        let value: Value =
            serde_json::from_str(r#"{"b":{"z":1,"a":[{"y":0,"x":0}]},"a":1}"#).expect("valid JSON");
        let text: String = canonical_json(&value).split_whitespace().collect();
        assert_eq!(text, r#"{"a":1,"b":{"a":[{"x":0,"y":0}],"z":1}}"#);
    }

    #[test]
    fn sha256_of_nothing_is_the_published_one() {
        assert!(sha256(b"").starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
    }
}
