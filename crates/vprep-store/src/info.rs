//! What a store says about itself, as data.

use crate::StoreError;
use std::collections::BTreeMap;

/// A store's name, engine, knob and build parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreInfo {
    /// Name in recipes and flags.
    pub name: &'static str,
    /// Engine behind it.
    pub engine: &'static str,
    /// Name of the search knob, as the engine calls it; none for an exact store.
    pub knob: Option<&'static str>,
    /// Build parameters.
    pub parameters: &'static [Parameter],
}

/// A build parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name in recipes; `--` and the same name is the flag.
    pub name: &'static str,
    /// Value unless told.
    pub default: u32,
    /// Smallest legal value.
    pub min: u32,
    /// Largest legal value.
    pub max: u32,
    /// What it does, one line.
    pub help: &'static str,
}

/// The legal values of a knob: `smallest`, `smallest + step`, … up to `largest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnobRange {
    /// Smallest legal value.
    pub smallest: u32,
    /// Largest value that makes sense.
    pub largest: u32,
    /// Distance between values.
    pub step: u32,
}

impl KnobRange {
    /// Checks a value of the knob `knob` of `store` for `k` neighbours.
    ///
    /// # Errors
    ///
    /// If it is below the smallest value or above the largest.
    pub fn check(
        self,
        store: &'static str,
        knob: &'static str,
        k: usize,
        value: u32,
    ) -> Result<(), StoreError> {
        let Self { smallest, largest, .. } = self;
        if (smallest..=largest).contains(&value) {
            return Ok(());
        }
        Err(StoreError::KnobRange { store, knob, value, k, smallest, largest })
    }
}

/// Fills in defaults and checks names and ranges.
///
/// # Errors
///
/// If a parameter is not one of the store's, or its value is out of range.
pub fn resolve_parameters(
    info: &StoreInfo,
    given: &BTreeMap<String, u32>,
) -> Result<BTreeMap<String, u32>, StoreError> {
    if let Some(name) = given.keys().find(|name| info.parameters.iter().all(|p| p.name != **name)) {
        let known: Vec<_> = info.parameters.iter().map(|p| p.name).collect();
        return Err(StoreError::UnknownParameter {
            store: info.name,
            name: name.clone(),
            known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
        });
    }
    let resolve = |p: &Parameter| {
        let value = given.get(p.name).copied().unwrap_or(p.default);
        if (p.min..=p.max).contains(&value) {
            return Ok((p.name.to_owned(), value));
        }
        let (name, min, max) = (p.name, p.min, p.max);
        Err(StoreError::ParameterRange { store: info.name, name, value, min, max })
    };
    info.parameters.iter().map(resolve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> StoreInfo {
        const PARAMETERS: &[Parameter] =
            &[Parameter { name: "m", default: 16, min: 2, max: 64, help: "links" }];
        StoreInfo { name: "s", engine: "e", knob: None, parameters: PARAMETERS }
    }

    #[test]
    fn defaults_are_filled_in() {
        let resolved = resolve_parameters(&info(), &BTreeMap::new()).expect("nothing given");
        assert_eq!(resolved, BTreeMap::from([("m".to_owned(), 16)]));
    }

    #[test]
    fn unknown_names_and_wild_values_are_refused() {
        let given = |name: &str, value| BTreeMap::from([(name.to_owned(), value)]);
        let error = resolve_parameters(&info(), &given("ef", 3)).expect_err("unknown");
        assert_eq!(error.to_string(), "store `s` has no build parameter `ef`; it has: m");
        let error = resolve_parameters(&info(), &given("m", 1)).expect_err("too small");
        assert_eq!(error.to_string(), "store `s`: m = 1 is out of range; it must be from 2 to 64");
    }
}
