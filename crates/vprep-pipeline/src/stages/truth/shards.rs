//! A truth in parts: each shard holds the best rows of a slice of the base, below
//! `.vprep/truth/shards/<count>`; together they hold the best rows of the whole.

use super::blocks::{Key, read_json, write_json};
use super::reference::Answer;
use crate::PipelineError;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use vprep_core::{Interrupted, MatrixView, Metric, Neighbour, Progress};
use vprep_data::{Content, DataError, StagedFile, content, publish_file};
use vprep_knn::{Found, KnnError};

const DIR: &str = ".vprep/truth/shards";

/// What is recorded of a shard.
#[derive(Serialize, Deserialize)]
struct Record {
    key: Key,
    content: Content,
}

/// The shards of a truth.
pub(super) struct Shards {
    dir: PathBuf,
    /// Of the whole: all rows, and its k.
    whole: Key,
    count: usize,
}

impl Shards {
    /// The `count` shards of the truth that `whole` names.
    pub(super) fn new(dir: &Path, whole: &Key, count: usize) -> Self {
        Self { dir: dir.join(DIR).join(count.to_string()), whole: whole.clone(), count }
    }

    /// A set of shards below `dir` that is whole.
    ///
    /// # Errors
    ///
    /// [`PipelineError::MissingShards`] if there is none, and what is missing of the one that is
    /// nearest to it.
    pub(super) fn find(
        dir: &Path,
        whole: &Key,
        progress: &dyn Progress,
    ) -> Result<Self, PipelineError> {
        let mut found = Vec::new();
        for entry in fs::read_dir(dir.join(DIR)).into_iter().flatten().flatten() {
            let count = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(count) = count.filter(|&count| count > 0) {
                let shards = Self::new(dir, whole, count);
                let (missing, foreign) = shards.look(progress)?;
                found.push((shards, missing, foreign));
            }
        }
        let dir = dir.join(DIR);
        let nearest = found.into_iter().min_by_key(|(shards, gone, _)| (gone.len(), shards.count));
        match nearest {
            None => Err(PipelineError::NoShards { dir }),
            Some((shards, missing, _)) if missing.is_empty() => Ok(shards),
            Some((shards, missing, foreign)) => Err(PipelineError::MissingShards {
                dir: shards.dir,
                missing: numbers(&missing),
                foreign: match foreign.is_empty() {
                    true => String::new(),
                    false => {
                        format!(" ({} of another base, queries, k or metric)", numbers(&foreign))
                    }
                },
                count: shards.count,
            }),
        }
    }

    /// The shards that are not there, and those among them that are, but of another truth.
    fn look(&self, progress: &dyn Progress) -> Result<(Vec<usize>, Vec<usize>), PipelineError> {
        let (mut missing, mut foreign) = (Vec::new(), Vec::new());
        for index in 0..self.count {
            let path = self.file(index);
            let record = read_json::<Record>(&path.with_extension("json"));
            let whole = match &record {
                Some(record) if path.exists() => content(&path, progress)? == record.content,
                _ => false,
            };
            if !whole {
                missing.push(index);
            } else if record.is_none_or(|record| record.key != self.key(index)) {
                missing.push(index);
                foreign.push(index);
            }
        }
        Ok((missing, foreign))
    }

    /// The shards that are not there.
    pub(super) fn missing(&self, progress: &dyn Progress) -> Result<Vec<usize>, PipelineError> {
        Ok(self.look(progress)?.0)
    }

    /// Where they lie.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The slice of the base that a shard holds.
    pub(super) fn rows(&self, index: usize) -> Range<usize> {
        let start = |index: usize| (self.whole.rows.end as usize * index) / self.count;
        start(index)..start(index + 1)
    }

    /// What a shard depends on. One row more than k is kept of it, where there are that many.
    pub(super) fn key(&self, index: usize) -> Key {
        let rows = self.rows(index);
        let k = (self.whole.k + 1).min(rows.len() as u64);
        Key { rows: rows.start as u64..rows.end as u64, k, ..self.whole.clone() }
    }

    /// Rows that all shards together hold for a query.
    pub(super) fn candidates(&self) -> usize {
        (0..self.count).map(|index| self.key(index).k as usize).sum()
    }

    /// Writes a shard: row numbers of the base, those of each query together. `answers` hands
    /// blocks of them, numbered from the first row of the slice, to what it is given.
    pub(super) fn write(
        &self,
        index: usize,
        answers: impl FnOnce(
            &mut dyn FnMut(Found) -> Result<(), PipelineError>,
        ) -> Result<(), PipelineError>,
    ) -> Result<(), PipelineError> {
        fs::create_dir_all(&self.dir).map_err(DataError::io("create", &self.dir))?;
        let path = self.file(index);
        let first = self.rows(index).start as i32;
        let content = publish_file(&path, |file: &mut StagedFile| {
            answers(&mut |found| {
                let mut rows = found.rows.iter().map(|row| (first + row).to_le_bytes());
                let written = rows.try_for_each(|bytes| file.write_all(&bytes));
                Ok(written.map_err(DataError::io("write", &path))?)
            })
        })?;
        write_json(&path.with_extension("json"), &Record { key: self.key(index), content })
    }

    /// Chooses among the rows of all shards, by scores in f64, and hands the answers to `sink`,
    /// `step` queries at a time.
    pub(super) fn merge(
        &self,
        base: MatrixView<'_>,
        queries: MatrixView<'_>,
        step: usize,
        progress: &dyn Progress,
        mut sink: impl FnMut(Found) -> Result<(), PipelineError>,
    ) -> Result<(), PipelineError> {
        let (metric, k) = (self.whole.metric, self.whole.k as usize);
        let mut shards = (0..self.count)
            .map(|index| Shard::open(self.file(index), self.key(index)))
            .collect::<Result<Vec<_>, _>>()?;
        let task = progress.task("merging", queries.rows() as u64, "queries");
        for first in (0..queries.rows()).step_by(step) {
            let range = first..queries.rows().min(first + step);
            let blocks = shards
                .iter_mut()
                .map(|shard| shard.read(range.len()))
                .collect::<Result<Vec<_>, _>>()?;
            let answer = |i: usize| {
                progress.check()?;
                let rows = shards.iter().zip(&blocks).flat_map(|(s, rows)| &rows[i * s.k..][..s.k]);
                let answer = best(base, queries.row(first + i), metric, k, rows);
                task.advance(1);
                Ok(answer)
            };
            let answers: Result<Vec<Answer>, Interrupted> =
                (0..range.len()).into_par_iter().map(answer).collect();
            let mut found = Found { queries: range, ..Found::default() };
            answers.map_err(KnnError::from)?.into_iter().for_each(|a| a.append_to(&mut found));
            sink(found)?;
        }
        Ok(())
    }

    fn file(&self, index: usize) -> PathBuf {
        self.dir.join(format!("{}.i32", index + 1))
    }
}

/// A shard that is read from its first query to its last.
struct Shard {
    file: File,
    path: PathBuf,
    rows: Range<u64>,
    k: usize,
}

impl Shard {
    fn open(path: PathBuf, key: Key) -> Result<Self, PipelineError> {
        let file = File::open(&path).map_err(DataError::io("open", &path))?;
        Ok(Self { file, path, rows: key.rows, k: key.k as usize })
    }

    /// Reads the rows of the next queries.
    fn read(&mut self, queries: usize) -> Result<Vec<i32>, PipelineError> {
        let mut bytes = vec![0; queries * self.k * 4];
        self.file.read_exact(&mut bytes).map_err(DataError::io("read", &self.path))?;
        let rows: Vec<i32> =
            bytes.as_chunks::<4>().0.iter().map(|&b| i32::from_le_bytes(b)).collect();
        if rows.iter().any(|&row| row < 0 || !self.rows.contains(&(row as u64))) {
            let problem = "it holds rows of another slice; remove it and make it again".to_owned();
            return Err(DataError::Malformed { path: self.path.clone(), problem }.into());
        }
        Ok(rows)
    }
}

/// The answer to a query, of which `rows` are known to hold the first k + 1 rows.
fn best<'r>(
    base: MatrixView<'_>,
    query: &[f32],
    metric: Metric,
    k: usize,
    rows: impl Iterator<Item = &'r i32>,
) -> Answer {
    let score = |&row: &i32| Neighbour {
        row: row as u32,
        score: metric.score(query, base.row(row as usize)),
    };
    let mut all: Vec<Neighbour> = rows.map(score).collect();
    all.sort_unstable_by(|a, b| a.compare(b, metric));
    all.truncate(k + 1);
    Answer::new(&all, k)
}

/// Numbers of shards, as people count them.
pub(super) fn numbers(shards: &[usize]) -> String {
    let shards: Vec<String> = shards.iter().map(|index| (index + 1).to_string()).collect();
    shards.join(", ")
}
