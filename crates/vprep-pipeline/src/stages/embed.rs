//! `embed`, second half: texts to vectors, in checkpoints below `.vprep/embed`.

use super::{Outcome, grouped, model};
use crate::PipelineError;
use crate::context::Share;
use crate::dataset::Side;
use crate::facts::EmbedFacts;
use crate::run::Stage;
use std::time::Instant;
use vprep_data::{NpyWriter, read_texts, table_shape};
use vprep_embed::Role;
use vprep_embed::checkpoint::{Checkpoints, Fingerprint, Plan, Shard};
use vprep_manifest::{EmbedTable, EmbeddedTexts};

pub(crate) fn run(
    side: Side,
    table: &EmbedTable,
    stage: &mut Stage<'_>,
) -> Result<Outcome, PipelineError> {
    let progress = stage.context.progress;
    let model = model::open(table, stage.dir, stage.context)?;
    let embedder = &model.embedder;
    let texts = stage.dir.join(side.table());
    let (_, rows) = table_shape(&texts)?;
    let role = match side {
        Side::Base => Role::Base,
        Side::Queries => Role::Queries,
    };
    let digest = stage.inputs[side.table()].sha256.clone();
    let plan = Plan {
        rows,
        checkpoint_rows: table.checkpoint_rows,
        dim: embedder.dim(),
        fingerprint: Fingerprint::new(embedder, role, digest),
    };
    let dir = stage.dir.join(".vprep/embed").join(side.name());
    let mut checkpoints = Checkpoints::open(&dir, plan, progress)?;
    let clock = Instant::now();
    let shard = match stage.context.share {
        Share::All => Some(Shard::ALL),
        Share::Part { index, count } => Some(Shard { index, count }),
        Share::Nothing => None,
    };
    let mut computed = 0;
    if let Some(shard) = shard {
        let read = |rows| Ok::<_, PipelineError>(read_texts(&texts, rows)?);
        computed = checkpoints.compute(embedder, role, shard, table.allow_empty, read, progress)?;
    }
    let (missing, count) = (checkpoints.missing().len(), checkpoints.count());
    if missing > 0 && matches!(stage.context.share, Share::Part { .. }) {
        let stage = format!("embed.{}", side.name());
        return Err(PipelineError::PartDone { stage, computed, missing, count });
    }
    let seconds = clock.elapsed().as_secs_f64();

    let file = stage.outputs.create(side.vectors())?;
    let mut writer = NpyWriter::<f32>::new(file, rows, embedder.dim() as u64)?;
    let totals =
        checkpoints.assemble(|values| Ok::<_, PipelineError>(writer.append(values)?), progress)?;
    let content = writer.finish()?;
    stage.outputs.add(side.vectors(), content);
    let mut summary = format!(
        "{} texts, {} tokens by {}",
        grouped(totals.rows),
        grouped(totals.tokens),
        model.facts.model
    );
    match computed {
        0 => summary += ", all computed before",
        _ if computed == count => {
            let rate = totals.tokens as f64 / seconds.max(1e-9);
            summary += &format!(", {} tokens/s", grouped(rate as u64));
        }
        _ => summary += &format!(", {computed} of {count} checkpoints computed now"),
    }
    for (count, what) in [(totals.truncated, "truncated"), (totals.empty, "empty")] {
        if count > 0 {
            summary += &format!(", {} {what}", grouped(count));
        }
    }
    let texts = EmbeddedTexts {
        texts: totals.rows,
        tokens: totals.tokens,
        truncated: totals.truncated,
        truncated_first: totals.truncated_first,
        empty: totals.empty,
        empty_first: totals.empty_first,
    };
    let dim = embedder.dim();
    Ok(Outcome::new(&EmbedFacts { model: model.facts, texts }, summary).with_dim(dim))
}
