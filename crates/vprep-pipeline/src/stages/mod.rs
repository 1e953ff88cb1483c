//! One module for each stage. A stage reads its inputs, writes its outputs aside, and returns
//! what it found out; publishing and recording is the runner's.

pub(crate) mod build;
pub(crate) mod calibrate;
mod embed;
pub(crate) mod fetch;
mod import;
pub(crate) mod manifest;
pub(crate) mod model;
mod normalize;
mod relevant;
mod sources;
mod split;
mod subset;
mod synth;
mod texts;
pub(crate) mod truth;
mod validate;

use crate::PipelineError;
use crate::job::Job;
use crate::run::Stage;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// What a stage found out.
pub(crate) struct Outcome {
    /// In the stage's own type, for the manifest.
    pub(crate) facts: Value,
    /// In one line, for people.
    pub(crate) summary: String,
    /// Values in a vector, where the stage brought vectors in.
    pub(crate) dim: Option<u32>,
}

impl Outcome {
    fn new(facts: &impl Serialize, summary: String) -> Self {
        let facts = serde_json::to_value(facts).expect("facts are JSON; this is a bug");
        Self { facts, summary, dim: None }
    }

    fn with_dim(self, dim: usize) -> Self {
        Self { dim: Some(dim as u32), ..self }
    }
}

/// Runs the stage of a job.
pub(crate) fn run(job: &Job, stage: &mut Stage<'_>) -> Result<Outcome, PipelineError> {
    match job {
        Job::Fetch(table) => fetch::run(table, stage),
        Job::Import(side, table) => import::run(*side, table, stage),
        Job::Texts(side, table) => texts::run(*side, table, stage),
        Job::Embed(side, table) => embed::run(*side, table, stage),
        Job::Synth(table) => synth::run(table, stage),
        Job::Normalize(side, table) => normalize::run(*side, table, stage),
        Job::Subset(table) => subset::run(table, stage),
        Job::SubsetTexts(table) => subset::of_texts(table, stage),
        Job::Split(table) => split::run(table, stage),
        Job::Truth(table) => truth::run(table, stage),
        Job::Build(store, table) => build::run(store, table, stage),
        Job::Calibrate(store, table) => calibrate::run(store, table, stage),
        Job::Manifest => manifest::run(stage),
        Job::Validate(table) => validate::run(table, stage),
    }
}

/// Removes what a job kept for itself while it was not finished.
pub(crate) fn clear(job: &Job, dir: &Path) -> Result<(), PipelineError> {
    match job {
        Job::Truth(_) => truth::clear(dir),
        _ => Ok(()),
    }
}

/// A count for people: `12,000`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn counts_are_grouped_by_three() {
        let grouped = |n| super::grouped(n);
        assert_eq!([grouped(7), grouped(812), grouped(1_000)], ["7", "812", "1,000"]);
        assert_eq!(grouped(138_364_198), "138,364,198");
    }
}
