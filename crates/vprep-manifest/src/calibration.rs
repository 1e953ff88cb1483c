//! `calibration/<store>.json`: the search setting that reaches each target, and the proof.

use crate::FormatError;
use crate::error::check_schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use vprep_core::Metric;

/// All that is known of one store's calibration on one index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Format of this file.
    pub schema: u32,
    /// Name of the store.
    pub store: String,
    /// Engine and its version, as in `usearch 2.26.6`.
    pub engine: String,
    /// Name of the search knob; none for an exact store.
    pub knob: Option<String>,
    /// Metric of the truth and of the index.
    pub metric: Metric,
    /// When a target counts as reached.
    pub rule: Rule,
    /// The largest knob value that was allowed, where the user set one.
    pub max_value: Option<u32>,
    /// What it was measured on.
    pub inputs: Inputs,
    /// What a service that serves this index reads.
    pub serving: Serving,
    /// One result for each (k, target), in that order.
    pub cells: Vec<Cell>,
    /// Every measurement, by k, query set and value.
    pub points: Vec<Point>,
}

/// How to serve an index at a recall.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Serving {
    /// Where the index is.
    pub place: Place,
    /// Build parameters.
    pub parameters: BTreeMap<String, u32>,
    /// Name of the search knob; none for an exact store.
    pub knob: Option<String>,
    /// The knob's value for each (k, target), in that order.
    pub settings: Vec<Setting>,
}

/// Where an index is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A file or directory, relative to the dataset.
    Path(String),
    /// A table or collection of a server.
    Collection(String),
}

/// The search setting for one (k, target).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Neighbours to ask for.
    pub k: u32,
    /// Recall asked for.
    pub target: f64,
    /// The knob's value; none for an exact store, or where no legal value is allowed.
    pub value: Option<u32>,
    /// Whether the target is reached; else `value` is the best there is.
    pub reached: bool,
}

/// The sha256 of everything that a measurement depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// `base.f32.npy`.
    pub base: String,
    /// `queries.f32.npy`.
    pub queries: String,
    /// `truth.ids.npy`.
    pub truth_ids: String,
    /// `splits.json`.
    pub splits: String,
    /// The index directory: the sha256 of its sorted lines `<sha256>  <path>`.
    pub index: String,
}

/// When a target counts as reached on the calibration queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The mean recall reaches it.
    #[default]
    Mean,
    /// The one-sided 95% lower bound of the mean recall reaches it.
    LowerBound,
}

impl Rule {
    /// The name in files and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::LowerBound => "lower-bound",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The result for one (store, k, target).
///
/// Recall counts distinct returned rows whose true score is at least the k-th true score, over
/// `min(k, n)`, as a mean over queries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name of the store.
    pub store: String,
    /// Neighbours asked for.
    pub k: u32,
    /// Recall asked for.
    pub target: f64,
    /// Name of the search knob; none for an exact store.
    pub knob: Option<String>,
    /// The smallest value that reaches the target, or the best one where none does. None where
    /// the store has no knob, or where no legal value is allowed.
    pub value: Option<u32>,
    /// Recall at `value` on the calibration queries.
    pub calibration_recall: Option<f64>,
    /// The same, counting only the very rows that the truth lists.
    pub calibration_strict_recall: Option<f64>,
    /// Recall at `value` on the held-out queries.
    pub held_out_recall: Option<f64>,
    /// The same, counting only the very rows that the truth lists.
    pub held_out_strict_recall: Option<f64>,
    /// Lower end of the 95% interval of the held-out recall.
    pub held_out_low: Option<f64>,
    /// Upper end of the 95% interval of the held-out recall.
    pub held_out_high: Option<f64>,
    /// How many queries tuned.
    pub calibration_queries: u32,
    /// How many queries proved.
    pub held_out_queries: u32,
    /// Whether the calibration recall at `value` reaches the target by the rule.
    pub reached: bool,
    /// How many knob values were looked at on the calibration queries.
    pub evaluations: u32,
    /// Calibration recall at the value one step below; null at the smallest legal value.
    pub value_below_recall: Option<f64>,
    /// What a reader must know: a cap met, a knob without effect, short or repeated answers.
    pub notes: Vec<String>,
}

/// Which queries a point was measured on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum QuerySet {
    /// The calibration queries.
    Calibration,
    /// The held-out queries.
    HeldOut,
}

/// One measurement: all queries of a set at one k and knob value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Neighbours asked for.
    pub k: u32,
    /// Which queries.
    pub set: QuerySet,
    /// Knob value; none for an exact store.
    pub value: Option<u32>,
    /// How many queries.
    pub queries: u32,
    /// Mean recall, ties counted.
    pub recall: f64,
    /// Lower end of the two-sided 95% interval.
    pub low: f64,
    /// Upper end of the two-sided 95% interval.
    pub high: f64,
    /// The one-sided 95% lower bound.
    pub lower_bound: f64,
    /// Mean recall by row number alone.
    pub strict_recall: f64,
    /// Queries that got fewer than `min(k, n)` rows.
    pub short: u32,
    /// Rows returned more than once, over all queries.
    pub repeated: u32,
    /// Wall time of the whole batch.
    pub seconds: f64,
    /// What the engine said, as that a scan answered instead of the index.
    pub notes: Vec<String>,
}

impl Calibration {
    /// Reads the JSON text.
    ///
    /// # Errors
    ///
    /// If it is not JSON of this type, or of another schema.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let calibration: Self = serde_json::from_str(text)?;
        check_schema(calibration.schema)?;
        Ok(calibration)
    }
}
