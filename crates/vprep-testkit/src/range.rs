//! The headers `Range`, `If-Range` and `If-None-Match`.

use std::time::SystemTime;

/// What a `Range` header asks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Everything: no header, or one that a server may ignore.
    Whole,
    /// `start..end`.
    Part(u64, u64),
    /// Nothing that the file has.
    Unsatisfiable,
}

/// Reads a `Range` header for a file of `len` bytes. Several ranges at once, other units and
/// malformed headers are ignored, as the standard allows.
pub(crate) fn parse(header: Option<&str>, len: u64) -> Asked {
    let Some(spec) = header.and_then(|text| text.trim().strip_prefix("bytes=")) else {
        return Asked::Whole;
    };
    let Some((first, last)) = spec.trim().split_once('-') else {
        return Asked::Whole;
    };
    match (first.trim(), last.trim()) {
        ("", suffix) => match suffix.parse::<u64>() {
            Ok(0) => Asked::Unsatisfiable,
            Ok(_) if len == 0 => Asked::Unsatisfiable,
            Ok(n) => Asked::Part(len - n.min(len), len),
            Err(_) => Asked::Whole,
        },
        (first, last) => {
            let last = if last.is_empty() { Ok(u64::MAX) } else { last.parse() };
            match (first.parse::<u64>(), last) {
                (Ok(first), Ok(last)) if first > last => Asked::Whole,
                (Ok(first), Ok(_)) if first >= len => Asked::Unsatisfiable,
                (Ok(first), Ok(last)) => Asked::Part(first, last.min(len - 1) + 1),
                _ => Asked::Whole,
            }
        }
    }
}

/// Whether `If-Range` holds: the same strong ETag, or the very date.
pub(crate) fn if_range(header: &str, etag: Option<&str>, modified: Option<SystemTime>) -> bool {
    let header = header.trim();
    if header.starts_with('"') {
        return etag == Some(header);
    }
    match (httpdate::parse_http_date(header), modified) {
        (Ok(asked), Some(modified)) => asked == modified,
        _ => false,
    }
}

/// Whether a list of ETags (`If-Match`, `If-None-Match`) names this one.
pub(crate) fn names(header: &str, etag: Option<&str>) -> bool {
    let Some(etag) = etag else { return false };
    header.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for (header, expected) in [
            ("bytes=0-", Asked::Part(0, 10)),
            ("bytes=0-0", Asked::Part(0, 1)),
            ("bytes=3-5", Asked::Part(3, 6)),
            ("bytes=3-500", Asked::Part(3, 10)),
            ("bytes=-4", Asked::Part(6, 10)),
            ("bytes=-400", Asked::Part(0, 10)),
            ("bytes=-0", Asked::Unsatisfiable),
            ("bytes=10-", Asked::Unsatisfiable),
            ("bytes=5-3", Asked::Whole),
            ("bytes=0-1,3-4", Asked::Whole),
            ("lines=0-1", Asked::Whole),
            ("bytes=x", Asked::Whole),
        ] {
            assert_eq!(parse(Some(header), 10), expected, "{header}");
        }
        assert_eq!(parse(None, 10), Asked::Whole);
        assert_eq!(parse(Some("bytes=0-"), 0), Asked::Unsatisfiable);
    }

    #[test]
    fn weak_tags_never_hold_for_ranges() {
        assert!(if_range("\"a\"", Some("\"a\""), None));
        assert!(!if_range("W/\"a\"", Some("\"a\""), None));
        assert!(!if_range("\"b\"", Some("\"a\""), None));
        assert!(!if_range("\"a\"", None, None));
    }
}
