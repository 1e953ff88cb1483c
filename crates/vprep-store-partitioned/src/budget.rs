//! How much memory partitions may take.

use crate::parameters::MEMORY;
use bytesize::ByteSize;
use std::env::{VarError, var};
use vprep_store::{IndexFacts, StoreError};

/// Says what the build parameter says otherwise.
pub(crate) const VARIABLE: &str = "VPREP_GRAPH_MEMORY";

/// The bytes that [`VARIABLE`] allows, if it is set.
///
/// # Errors
///
/// If it is no number of bytes, or 0.
pub(crate) fn from_environment(store: &'static str) -> Result<Option<u64>, StoreError> {
    let wrong =
        StoreError::NotConfigured { store, variable: VARIABLE, example: "bytes, such as 512MiB" };
    match var(VARIABLE) {
        Ok(text) => parse(&text).map(Some).ok_or(wrong),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(wrong),
    }
}

/// The bytes that the build parameter allows.
pub(crate) fn from_facts(facts: &IndexFacts) -> u64 {
    u64::from(facts.parameters.get(MEMORY).copied().unwrap_or_default()) << 20
}

/// A number of bytes with or without a unit.
fn parse(text: &str) -> Option<u64> {
    let ByteSize(bytes) = text.trim().parse().ok()?;
    (bytes > 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_with_a_unit_or_without() {
        assert_eq!(parse("1000"), Some(1_000));
        assert_eq!(parse(" 512MiB "), Some(512 << 20));
        assert_eq!(parse("2 GiB"), Some(2 << 30));
        for wrong in ["", "0", "-1", "much", "12 apples"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
