//! Computing what is missing.

use super::record::{Record, list};
use super::{Checkpoints, Shard, publish_json};
use crate::{EmbedError, Embedder, Role};
use std::io::Write;
use std::ops::Range;
use vprep_core::Progress;
use vprep_data::{DataError, publish_file};

impl Checkpoints {
    /// Computes the checkpoints of a shard that are missing, one after the other, and returns how
    /// many they were. `source` gives the texts of a range of rows; `allow_empty` lets texts
    /// without content through.
    ///
    /// # Errors
    ///
    /// Those of the source; [`EmbedError::EmptyTexts`]; those of [`Embedder::embed`]; if a file
    /// cannot be written. What was recorded before stays.
    ///
    /// # Panics
    ///
    /// If the model's vectors are not of the planned dimension: a bug of the caller.
    pub fn compute<E: From<EmbedError>>(
        &mut self,
        embedder: &Embedder,
        role: Role,
        shard: Shard,
        allow_empty: bool,
        mut source: impl FnMut(Range<u64>) -> Result<Vec<String>, E>,
        progress: &dyn Progress,
    ) -> Result<usize, E> {
        assert_eq!(embedder.dim(), self.plan.dim, "another dimension than planned; this is a bug");
        let Shard { index, count } = shard;
        if index >= count {
            return Err(EmbedError::Shard { index, count }.into());
        }
        let mut missing = self.missing();
        missing.retain(|checkpoint| checkpoint % count == index);
        let rows = |&checkpoint: &usize| self.rows(checkpoint).end - self.rows(checkpoint).start;
        let task = progress.task("embed", missing.iter().map(rows).sum(), "texts");
        let mut out = Vec::new();
        for &checkpoint in &missing {
            let rows = self.rows(checkpoint);
            let texts = source(rows.clone())?;
            check_count(&rows, texts.len())?;
            out.resize(texts.len() * self.plan.dim, 0.0);
            let embedded =
                embedder.embed(&texts, role, rows.start, &mut out, progress, task.as_ref())?;
            if !allow_empty && !embedded.empty.is_empty() {
                let rows = list(&embedded.empty);
                return Err(EmbedError::EmptyTexts { rows, role: role.name() }.into());
            }
            let content = publish_file(&self.vectors(checkpoint), |file| {
                let mut write = |values: &[f32]| {
                    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
                    file.write_all(&bytes)
                };
                out.chunks(1 << 16)
                    .try_for_each(&mut write)
                    .map_err(DataError::io("write", self.vectors(checkpoint)))
            })
            .map_err(EmbedError::from)?;
            let record = Record::new(rows, content, &embedded);
            publish_json(&self.record(checkpoint), &record)?;
            self.done[checkpoint] = Some(record);
        }
        Ok(missing.len())
    }
}

fn check_count(rows: &Range<u64>, found: usize) -> Result<(), EmbedError> {
    let &Range { start, end } = rows;
    let expected = end - start;
    if found as u64 == expected {
        Ok(())
    } else {
        Err(EmbedError::Texts { start, end, found, expected })
    }
}
