//! `split`: which queries tune, and which prove.

use super::{Outcome, grouped};
use crate::PipelineError;
use crate::dataset::{SPLITS, Side};
use crate::run::Stage;
use vprep_data::MappedNpy;
use vprep_manifest::{SplitFacts, SplitTable, Splits, canonical_json};

pub(crate) fn run(table: &SplitTable, stage: &mut Stage<'_>) -> Result<Outcome, PipelineError> {
    let path = stage.dir.join(Side::Queries.vectors());
    let queries = MappedNpy::<f32>::open(&path)?.rows() as u64;
    if table.calibration >= queries {
        // At least one query must be left to prove on.
        return Err(PipelineError::TooFewRows {
            path,
            found: queries,
            what: "split (calibration queries and at least one held-out query)",
            wanted: table.calibration + 1,
        });
    }
    let splits = Splits::draw(queries, table.calibration, table.seed);
    stage.outputs.write(SPLITS, &canonical_json(&splits))?;
    let held_out = splits.held_out.len() as u64;
    let summary = format!(
        "{} calibration and {} held-out queries",
        grouped(table.calibration),
        grouped(held_out)
    );
    let facts = SplitFacts {
        seed: table.seed,
        rule: splits.rule,
        calibration: table.calibration,
        held_out,
    };
    Ok(Outcome::new(&facts, summary))
}
