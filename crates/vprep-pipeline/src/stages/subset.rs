//! `subset`: a seeded part of the base, of this dataset or of another.

use super::{Outcome, grouped, relevant};
use crate::PipelineError;
use crate::dataset::{DATASET_TOML, SPLITS, Side, read_dataset};
use crate::paths::tidy;
use crate::plan::as_written;
use crate::run::Stage;
use std::fs;
use std::io::{self, BufReader};
use std::path::Path;
use vprep_core::sample::{self, Sample};
use vprep_data::{Content, DataError, Lineage, MappedNpy, NpyWriter, copy_rows, table_shape};
use vprep_manifest::{KeptFacts, SubsetFacts, SubsetTable};

pub(crate) fn run(table: &SubsetTable, stage: &mut Stage<'_>) -> Result<Outcome, PipelineError> {
    let progress = stage.context.progress;
    let parent = match &table.from {
        Some(from) => tidy(&stage.dir.join(from)),
        None => stage.dir.to_owned(),
    };
    if table.from.is_some() {
        let recipe = read_dataset(&parent)?;
        if recipe.metric != stage.recipe.metric {
            return Err(PipelineError::OtherMetric {
                path: parent.join(DATASET_TOML),
                found: recipe.metric,
                wanted: stage.recipe.metric,
            });
        }
        for (name, content) in stage.inputs {
            let file = name.trim_start_matches("parent:");
            if as_written(&recipe, &parent, file).is_some_and(|written| written != *content) {
                let dataset_toml = parent.join(DATASET_TOML);
                return Err(PipelineError::SpoiledParent { path: parent.join(file), dataset_toml });
            }
        }
    }
    let path = parent.join(Side::Base.vectors());
    let source = MappedNpy::<f32>::open(&path)?;
    let vectors = source.view();
    let found = vectors.rows() as u64;
    let parent_table = parent.join(Side::Base.table());
    let draw = Draw::new(table, found, &parent_table, stage)?;
    let sample = &draw.sample;

    let task = progress.task("drawing the subset", found, "rows");
    let file = stage.outputs.create(Side::Base.vectors())?;
    let mut writer = NpyWriter::<f32>::new(file, table.rows, vectors.dim() as u64)?;
    let mut first = 0;
    for block in source.blocks() {
        progress.check()?;
        let drawn = (first..).zip(block.iter()).filter(|(row, _)| sample.contains(*row));
        for (_, vector) in drawn {
            writer.append(vector)?;
        }
        first += block.rows() as u64;
        task.advance(block.rows() as u64);
    }
    let content = writer.finish()?;
    stage.outputs.add(Side::Base.vectors(), content);
    let file = stage.outputs.create(Side::Base.table())?;
    let keep = |row| sample.contains(row);
    let is_kept = |row| sample.is_kept(row);
    let content = copy_rows(&parent_table, file, &draw.lineage(&is_kept), keep, progress)?;
    stage.outputs.add(Side::Base.table(), content);
    if table.from.is_some() {
        // Queries and their split come along; a truth never does.
        for name in [Side::Queries.vectors(), Side::Queries.table(), SPLITS] {
            let from = parent.join(name);
            if from.exists() {
                let content = copy(&from, name, stage)?;
                stage.outputs.add(name, content);
            }
        }
    }
    let name = Side::Base.vectors();
    let parent_sha256 =
        stage.inputs.get(name).or_else(|| stage.inputs.get(&format!("parent:{name}")));
    let parent_sha256 = parent_sha256.expect("the base is an input").sha256.clone();
    let summary = draw.summary("base vectors");
    Ok(Outcome::new(&draw.facts(parent_sha256), summary).with_dim(vectors.dim()))
}

/// Draws from a base that is only texts so far.
pub(crate) fn of_texts(
    table: &SubsetTable,
    stage: &mut Stage<'_>,
) -> Result<Outcome, PipelineError> {
    let progress = stage.context.progress;
    let path = stage.dir.join(Side::Base.table());
    let (_, found) = table_shape(&path)?;
    let draw = Draw::new(table, found, &path, stage)?;
    let file = stage.outputs.create(Side::Base.table())?;
    let keep = |row| draw.sample.contains(row);
    let is_kept = |row| draw.sample.is_kept(row);
    let content = copy_rows(&path, file, &draw.lineage(&is_kept), keep, progress)?;
    stage.outputs.add(Side::Base.table(), content);
    let parent_sha256 = stage.inputs[Side::Base.table()].sha256.clone();
    let summary = draw.summary("texts");
    Ok(Outcome::new(&draw.facts(parent_sha256), summary))
}

/// Which rows of a parent are kept.
struct Draw<'a> {
    table: &'a SubsetTable,
    found: u64,
    sample: Sample,
    kept: Option<KeptFacts>,
}

impl<'a> Draw<'a> {
    /// Draws from the `found` rows of the parent whose table is at `path`.
    fn new(
        table: &'a SubsetTable,
        found: u64,
        path: &Path,
        stage: &Stage<'_>,
    ) -> Result<Self, PipelineError> {
        let too_few = |found, what, wanted| PipelineError::TooFewRows {
            path: path.to_owned(),
            found,
            what,
            wanted,
        };
        if table.rows > found {
            return Err(too_few(found, "subset", table.rows));
        }
        let (kept, judgements) = relevant::rows(table, path, stage)?;
        let rows = kept.len() as u64;
        if rows > table.rows {
            return Err(too_few(
                table.rows,
                "the judgements, whose relevant rows are all kept,",
                rows,
            ));
        }
        let drawn = Sample::new(table.seed, found, table.rows);
        let drawn_anyway = kept.iter().filter(|&&row| drawn.contains(row)).count() as u64;
        let sample = Sample::with_kept(table.seed, found, table.rows, kept);
        let keeps = !table.keep_relevant.is_empty();
        let kept = keeps.then_some(KeptFacts { judgements, rows, drawn_anyway });
        Ok(Self { table, found, sample, kept })
    }

    fn lineage<'b>(&self, is_kept: &'b dyn Fn(u64) -> bool) -> Lineage<'b> {
        if self.kept.is_some() { Lineage::Kept(is_kept) } else { Lineage::ParentRow }
    }

    fn facts(&self, parent_sha256: String) -> SubsetFacts {
        let rule = if self.kept.is_some() { sample::RULE_WITH_KEPT } else { sample::RULE };
        SubsetFacts {
            rows: self.table.rows,
            seed: self.table.seed,
            rule: rule.to_owned(),
            parent_rows: self.found,
            parent_sha256,
            kept: self.kept.clone(),
        }
    }

    fn summary(&self, what: &str) -> String {
        let (rows, found, seed) = (grouped(self.table.rows), grouped(self.found), self.table.seed);
        let kept = self.kept.as_ref().map_or_else(String::new, |kept| {
            format!(", with all {} judged relevant", grouped(kept.rows))
        });
        format!("{rows} of {found} {what}, seed {seed}{kept}")
    }
}

fn copy(from: &Path, name: &str, stage: &mut Stage<'_>) -> Result<Content, DataError> {
    let mut source = BufReader::new(fs::File::open(from).map_err(DataError::io("open", from))?);
    let mut file = stage.outputs.create(name)?;
    io::copy(&mut source, &mut file).map_err(DataError::io("copy", from))?;
    file.finish()
}
