//! `splits.json`: which queries tune, and which prove.

use crate::error::check_schema;
use crate::{FormatError, SCHEMA};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vprep_core::sample::{self, Sample};

/// The query rows of a dataset in two disjoint sets, each ascending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Splits {
    /// Format of this file.
    pub schema: u32,
    /// Seed of the draw.
    pub seed: u64,
    /// The rule of the draw in words.
    pub rule: String,
    /// Rows of `queries.f32.npy` that calibration may look at.
    pub calibration: Vec<u64>,
    /// The other rows, on which a calibrated setting is proved.
    pub held_out: Vec<u64>,
}

impl Splits {
    /// Draws `calibration` of `queries` rows by the rule of [`vprep_core::sample`].
    ///
    /// # Panics
    ///
    /// If `calibration` is greater than `queries`.
    pub fn draw(queries: u64, calibration: u64, seed: u64) -> Self {
        let sample = Sample::new(seed, queries, calibration);
        let (calibration, held_out) = (0..queries).partition(|&row| sample.contains(row));
        let rule = sample::RULE.replace("parent", "query");
        Self { schema: SCHEMA, seed, rule, calibration, held_out }
    }

    /// Reads the JSON text.
    ///
    /// # Errors
    ///
    /// If it is not JSON of this type, or of another schema.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let splits: Self = serde_json::from_str(text)?;
        check_schema(splits.schema)?;
        Ok(splits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_is_disjoint_and_whole() {
        let splits = Splits::draw(1_000, 200, 9);
        assert_eq!((splits.calibration.len(), splits.held_out.len()), (200, 800));
        let mut all = [splits.calibration, splits.held_out].concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..1_000));
    }
}
