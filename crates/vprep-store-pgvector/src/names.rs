//! Names on the server. All are made of `a-z`, `0-9` and `_`, so they stand in SQL as they are.

use xxhash_rust::xxh3::xxh3_64;

/// How much of a dataset's name stays readable: with the rest the longest name, that of an index,
/// has 58 of the 63 bytes that PostgreSQL keeps.
const READABLE: usize = 30;

/// The table of a dataset: what is legal of its name, and a hash of all of it.
pub(crate) fn table(dataset: &str) -> String {
    let readable: String = dataset
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .take(READABLE)
        .collect();
    format!("vprep_{readable}_{:016x}", xxh3_64(dataset.as_bytes()))
}

/// The table of a build until it takes its place.
pub(crate) fn unfinished(build: &str) -> String {
    format!("vprep_unfinished_{build}")
}

/// The HNSW index of a table.
pub(crate) fn index(table: &str) -> String {
    format!("{table}_hnsw")
}

/// The index of a table's row numbers.
pub(crate) fn key(table: &str) -> String {
    format!("{table}_pkey")
}

/// Whether a name can be one that [`table`] made.
pub(crate) fn is_table(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with("vprep_") && name.len() <= 58 && name.chars().all(legal)
}

/// The comment on the table of a build.
pub(crate) fn comment(build: &str) -> String {
    format!("vprep {build}")
}

/// An id that no other build has: 128 random bits, in hexadecimal.
pub(crate) fn new_build() -> String {
    format!("{:032x}", fastrand::u128(..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_becomes_a_legal_one_of_its_own() {
        let long = "x".repeat(10_000);
        let names = [
            "",
            "a",
            "A",
            "a b",
            "a_b",
            "a\"b",
            "'; DROP TABLE x; --",
            "\0",
            "数据",
            &long,
            "_",
            "é",
        ];
        let tables: std::collections::HashSet<_> = names.iter().map(|name| table(name)).collect();
        assert_eq!(tables.len(), names.len(), "{tables:?}");
        for name in &tables {
            assert!(is_table(name) && index(name).len() < 63, "{name}");
        }
        assert!(index(&unfinished(&new_build())).len() < 63);
        assert!(table("cohere-100k").starts_with("vprep_cohere_100k_"));
        assert_ne!(new_build(), new_build());
    }

    #[test]
    fn a_name_from_elsewhere_is_no_table() {
        for name in ["users", "vprep_\"; DROP TABLE x", "vprep_a b", "", "vprep_\0"] {
            assert!(!is_table(name), "{name}");
        }
    }
}
