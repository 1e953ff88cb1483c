//! A run over many texts that can be stopped at any moment, and shared by many machines.
//!
//! The rows are cut into checkpoints of the same number of rows. Each is computed, written aside,
//! synced, renamed, and recorded with its sha256; it is then never computed again, unless its
//! file no longer has that digest. A checkpoint depends on its own texts alone, so a run that was
//! stopped and resumed, or shared by machines of the same instruction set or the same GPU, gives the same bytes as
//! one that ran through.
//!
//! ```text
//! run.json           what is computed: rows, rows of a checkpoint, dim, fingerprint
//! 000000.f32         rows x dim little-endian f32 values, row after row
//! 000000.json        its size, sha256 and what became of its texts
//! 000001.f32 …
//! ```
//!
//! To share a run, each machine computes a [`Shard`] in a directory of its own; the files are then
//! put together in one.

mod assemble;
mod compute;
mod record;
#[cfg(test)]
mod tests;

use crate::{Backend, EmbedError, Embedder, Role, Settings, files};
use record::Record;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use vprep_core::Progress;
use vprep_data::{DataError, publish_file};

pub use record::Totals;

/// Rows of a checkpoint unless another number is asked for.
pub const CHECKPOINT_ROWS: u64 = 50_000;

/// What decides the vectors of a run. A run is resumed only with the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// Digest of the model's weights, tokenizer and configuration.
    pub model: String,
    /// Digest of the texts, in their order.
    pub texts: String,
    /// Settings, role, and the device unless it is a CPU.
    pub options: String,
}

impl Fingerprint {
    /// That of embedding texts of this digest for this role.
    pub fn new(embedder: &Embedder, role: Role, texts: String) -> Self {
        let facts = embedder.facts();
        let model =
            [&facts.weights, &facts.tokenizer, &facts.config].map(|file| file.sha256.as_str());
        Self {
            model: files::content(model.join("\n").as_bytes()).sha256,
            texts,
            options: options(&facts.settings, role, embedder.backend()),
        }
    }
}

fn options(settings: &Settings, role: Role, backend: Backend) -> String {
    let mut options = serde_json::json!({
        "role": role,
        "prefix": settings.prefix(role),
        "pooling": settings.pooling,
        "max-length": settings.max_length,
        "normalize": settings.normalize,
    });
    // A GPU's last bits are not a CPU's.
    if matches!(backend, Backend::Cuda(_)) {
        options["device"] = "cuda".into();
    }
    options.to_string()
}

/// A part of a run: checkpoint c belongs to shard c mod `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number of the shard, from 0.
    pub index: usize,
    /// How many there are.
    pub count: usize,
}

impl Shard {
    /// The whole run.
    pub const ALL: Self = Self { index: 0, count: 1 };
}

/// What a run computes, as `run.json` keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
    /// Texts in all.
    pub rows: u64,
    /// Texts of a checkpoint, at least 1; the last one may have fewer.
    pub checkpoint_rows: u64,
    /// Values of a vector.
    pub dim: usize,
    /// What decides the vectors.
    pub fingerprint: Fingerprint,
}

/// The checkpoints of a run.
#[derive(Debug)]
pub struct Checkpoints {
    dir: PathBuf,
    plan: Plan,
    done: Vec<Option<Record>>,
}

impl Checkpoints {
    /// Starts a run in `dir`, which is created if need be, or resumes the one that is there. Every
    /// checkpoint's digest is compared with its record; those that differ count as missing.
    ///
    /// Only one process may compute a checkpoint at a time; nothing here takes a lock.
    ///
    /// # Errors
    ///
    /// [`EmbedError::Changed`] if the directory holds another run, and which of model, texts,
    /// options or checkpoint size differs. If the directory cannot be read or written.
    ///
    /// # Panics
    ///
    /// If a checkpoint is to have no rows, or a vector no values: a bug of the caller.
    pub fn open(dir: &Path, plan: Plan, progress: &dyn Progress) -> Result<Self, EmbedError> {
        assert!(plan.checkpoint_rows > 0 && plan.dim > 0, "an empty checkpoint; this is a bug");
        fs::create_dir_all(dir).map_err(DataError::io("create", dir))?;
        let path = dir.join("run.json");
        match files::json::<Plan>(&path)? {
            Some(found) => {
                if let Some(changed) = changes(&found, &plan) {
                    return Err(EmbedError::Changed { dir: dir.to_owned(), changed });
                }
            }
            None => publish_json(&path, &plan)?,
        }
        let count = plan.rows.div_ceil(plan.checkpoint_rows) as usize;
        let mut checkpoints = Self { dir: dir.to_owned(), plan, done: Vec::with_capacity(count) };
        for index in 0..count {
            let record = checkpoints.verified(index, progress)?;
            checkpoints.done.push(record);
        }
        Ok(checkpoints)
    }

    /// The checkpoints that are still to be computed.
    pub fn missing(&self) -> Vec<usize> {
        (0..self.done.len()).filter(|&index| self.done[index].is_none()).collect()
    }

    /// The number of checkpoints.
    pub fn count(&self) -> usize {
        self.done.len()
    }

    fn rows(&self, index: usize) -> Range<u64> {
        let start = index as u64 * self.plan.checkpoint_rows;
        start..self.plan.rows.min(start + self.plan.checkpoint_rows)
    }

    fn vectors(&self, index: usize) -> PathBuf {
        self.dir.join(format!("{index:06}.f32"))
    }

    fn record(&self, index: usize) -> PathBuf {
        self.dir.join(format!("{index:06}.json"))
    }

    /// The record of a checkpoint whose vectors have its digest.
    fn verified(
        &self,
        index: usize,
        progress: &dyn Progress,
    ) -> Result<Option<Record>, EmbedError> {
        // A record that cannot be parsed is a damaged one.
        let record = match files::json::<Record>(&self.record(index)) {
            Ok(Some(record)) => record,
            Ok(None) | Err(EmbedError::Malformed { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let path = self.vectors(index);
        let rows = self.rows(index);
        let bytes = (rows.end - rows.start) * self.plan.dim as u64 * 4;
        let size = fs::metadata(&path).map(|file| file.len());
        if !size.is_ok_and(|size| size == bytes) || record.rows != rows {
            return Ok(None);
        }
        let content = vprep_data::content(&path, progress)?;
        Ok((content == record.content).then_some(record))
    }
}

fn publish_json(path: &Path, value: &impl Serialize) -> Result<(), EmbedError> {
    let text = serde_json::to_string_pretty(value).expect("plain structs become JSON");
    publish_file(path, |file| {
        writeln!(file, "{text}").map_err(DataError::io("write", file.path()))
    })?;
    Ok(())
}

/// What differs between two runs, in words.
fn changes(found: &Plan, asked: &Plan) -> Option<String> {
    let (a, b) = (&found.fingerprint, &asked.fingerprint);
    let differences = [
        (a.model != b.model || found.dim != asked.dim, "another model"),
        (a.texts != b.texts || found.rows != asked.rows, "other texts"),
        (a.options != b.options, "other options"),
        (found.checkpoint_rows != asked.checkpoint_rows, "another --checkpoint-rows"),
    ];
    let words: Vec<_> = differences.iter().filter_map(|&(d, word)| d.then_some(word)).collect();
    (!words.is_empty()).then(|| words.join(" and "))
}
