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
use vprep_data::{Content, DataError, Lineage, MappedNpy, NpyWriter, copy_rows};
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
    if table.rows > found {
        let (what, wanted) = ("subset", table.rows);
        return Err(PipelineError::TooFewRows { path, found, what, wanted });
    }
    let (kept, judgements) = relevant::rows(table, &parent.join(Side::Base.table()), stage)?;
    if kept.len() as u64 > table.rows {
        let what = "subset, which keeps every relevant row,";
        return Err(PipelineError::TooFewRows {
            path,
            found: table.rows,
            what,
            wanted: kept.len() as u64,
        });
    }
    let drawn = Sample::new(table.seed, found, table.rows);
    let drawn_anyway = kept.iter().filter(|&&row| drawn.contains(row)).count() as u64;
    let sample = Sample::with_kept(table.seed, found, table.rows, kept.iter().copied());

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
    let keeps = !table.keep_relevant.is_empty();
    let lineage = if keeps { Lineage::Kept(&is_kept) } else { Lineage::ParentRow };
    let content = copy_rows(&parent.join(Side::Base.table()), file, &lineage, keep, progress)?;
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
    let facts = SubsetFacts {
        rows: table.rows,
        seed: table.seed,
        rule: if keeps { sample::RULE_WITH_KEPT } else { sample::RULE }.to_owned(),
        parent_rows: found,
        parent_sha256: parent_sha256.expect("the base is an input").sha256.clone(),
        kept: keeps.then(|| KeptFacts { judgements, rows: kept.len() as u64, drawn_anyway }),
    };
    let mut summary =
        format!("{} of {} base vectors, seed {}", grouped(table.rows), grouped(found), table.seed);
    if keeps {
        summary += &format!(", with all {} judged relevant", grouped(kept.len() as u64));
    }
    Ok(Outcome::new(&facts, summary).with_dim(vectors.dim()))
}

fn copy(from: &Path, name: &str, stage: &mut Stage<'_>) -> Result<Content, DataError> {
    let mut source = BufReader::new(fs::File::open(from).map_err(DataError::io("open", from))?);
    let mut file = stage.outputs.create(name)?;
    io::copy(&mut source, &mut file).map_err(DataError::io("copy", from))?;
    file.finish()
}
