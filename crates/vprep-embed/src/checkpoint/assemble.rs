//! Putting the checkpoints together.

use super::Checkpoints;
use super::record::Totals;
use crate::{EmbedError, files};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use vprep_core::Progress;
use vprep_data::DataError;

/// Rows that are read at once.
const ROWS: usize = 1024;

impl Checkpoints {
    /// Sends all vectors to `sink` in the order of the rows, some rows at a time, and returns what
    /// became of the texts. No more than those rows are held in memory.
    ///
    /// # Errors
    ///
    /// [`EmbedError::Incomplete`] with the missing checkpoints, before anything is sent; those of
    /// the sink; if a file cannot be read, or changed since [`Checkpoints::open`].
    pub fn assemble<E: From<EmbedError>>(
        &self,
        mut sink: impl FnMut(&[f32]) -> Result<(), E>,
        progress: &dyn Progress,
    ) -> Result<Totals, E> {
        self.check_complete()?;
        let mut totals = Totals::default();
        let task = progress.task("assemble", self.plan.rows, "rows");
        let mut bytes = vec![0; ROWS * self.plan.dim * 4];
        for (index, record) in self.done.iter().enumerate() {
            let record = record.as_ref().expect("checked to be there");
            let path = self.vectors(index);
            let read = DataError::io;
            let mut file =
                File::open(&path).map_err(read("open", &path)).map_err(EmbedError::from)?;
            let mut hash = Sha256::new();
            let mut left = record.content.bytes as usize;
            while left > 0 {
                progress.check().map_err(EmbedError::from)?;
                let bytes = &mut bytes[..left.min(ROWS * self.plan.dim * 4)];
                file.read_exact(bytes).map_err(read("read", &path)).map_err(EmbedError::from)?;
                hash.update(&*bytes);
                let values: Vec<f32> =
                    bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
                sink(&values)?;
                task.advance((values.len() / self.plan.dim) as u64);
                left -= bytes.len();
            }
            if files::hex(&hash.finalize()) != record.content.sha256 {
                let problem = "it changed while it was read; run the same command again".to_owned();
                return Err(EmbedError::Malformed { path, problem }.into());
            }
            totals.add(record);
        }
        Ok(totals)
    }

    fn check_complete(&self) -> Result<(), EmbedError> {
        const SHOWN: usize = 8;
        let missing = self.missing();
        if missing.is_empty() {
            return Ok(());
        }
        let first: Vec<String> = missing.iter().take(SHOWN).map(usize::to_string).collect();
        let mut checkpoints = first.join(", ");
        if missing.len() > SHOWN {
            checkpoints += &format!(" and {} more", missing.len() - SHOWN);
        }
        Err(EmbedError::Incomplete { dir: self.dir.clone(), checkpoints, total: self.done.len() })
    }
}
