//! Answers that are kept below `.vprep/truth/blocks` as they come, so that a run that is killed
//! goes on where it was.

use super::search::Searcher;
use crate::PipelineError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use vprep_core::{Metric, Progress};
use vprep_data::{Content, DataError, content, publish_file};
use vprep_knn::Found;

/// Where they lie in a dataset.
pub(super) const DIR: &str = ".vprep/truth/blocks";
const KEY: &str = "run.json";

/// What answers depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    /// Digest of the base.
    pub(super) base: String,
    /// Digest of the queries.
    pub(super) queries: String,
    /// Rows of the base that are searched.
    pub(super) rows: Range<u64>,
    /// Neighbours of each query that are kept.
    pub(super) k: u64,
    pub(super) metric: Metric,
    /// Version of the stage's algorithm.
    pub(super) algorithm: u32,
}

/// The same, and what found them: one engine does not go on with the answers of another.
#[derive(PartialEq, Serialize, Deserialize)]
struct Run {
    key: Key,
    engine: String,
}

/// What is recorded of a block.
#[derive(Serialize, Deserialize)]
struct Record {
    queries: Range<usize>,
    content: Content,
}

/// The blocks of a run.
pub(super) struct Blocks<'a> {
    dir: PathBuf,
    k: usize,
    /// By their first query.
    records: BTreeMap<usize, Record>,
    progress: &'a dyn Progress,
}

impl<'a> Blocks<'a> {
    /// Goes on with the run in `dir`, or begins one in the place of another.
    pub(super) fn open(
        dir: &Path,
        key: &Key,
        engine: &str,
        progress: &'a dyn Progress,
    ) -> Result<Self, PipelineError> {
        let (path, run) = (dir.join(KEY), Run { key: key.clone(), engine: engine.to_owned() });
        let mut records = BTreeMap::new();
        if read_json::<Run>(&path).as_ref() == Some(&run) {
            for entry in fs::read_dir(dir).map_err(DataError::io("list", dir))? {
                let path = entry.map_err(DataError::io("list", dir))?.path();
                if let Some(record) = read_json::<Record>(&path) {
                    records.insert(record.queries.start, record);
                }
            }
        } else {
            discard(dir)?;
            fs::create_dir_all(dir).map_err(DataError::io("create", dir))?;
            write_json(&path, &run)?;
        }
        Ok(Self { dir: dir.to_owned(), k: key.k as usize, records, progress })
    }

    /// The block that begins with a query, if it is there and whole.
    pub(super) fn load(&self, first: usize) -> Result<Option<Found>, PipelineError> {
        let Some(record) = self.records.get(&first) else { return Ok(None) };
        let path = self.file(first);
        let (count, k) = (record.queries.len(), self.k);
        if record.content.bytes != (count * (8 * k + 8)) as u64 || !path.exists() {
            return Ok(None);
        }
        if content(&path, self.progress)? != record.content {
            return Ok(None);
        }
        let bytes = fs::read(&path).map_err(DataError::io("read", &path))?;
        let (rows, rest) = bytes.split_at(4 * count * k);
        let (scores, gaps) = rest.split_at(4 * count * k);
        let gaps: Vec<f64> =
            gaps.as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)).collect();
        Ok(Some(Found {
            queries: record.queries.clone(),
            rows: rows.as_chunks::<4>().0.iter().map(|&b| i32::from_le_bytes(b)).collect(),
            scores: scores.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect(),
            tied: gaps.iter().map(|&gap| gap == 0.0).collect(),
            gaps,
        }))
    }

    /// The first query behind `query` with which a block begins.
    pub(super) fn next(&self, query: usize) -> Option<usize> {
        self.records.range(query + 1..).next().map(|(&first, _)| first)
    }

    /// Keeps a block.
    pub(super) fn save(&self, found: &Found) -> Result<(), PipelineError> {
        let first = found.queries.start;
        let path = self.file(first);
        let content = publish_file(&path, |file| {
            let rows = found.rows.iter().map(|row| row.to_le_bytes());
            let scores = found.scores.iter().map(|score| score.to_le_bytes());
            rows.chain(scores)
                .try_for_each(|bytes| file.write_all(&bytes))
                .and_then(|()| {
                    found.gaps.iter().try_for_each(|gap| file.write_all(&gap.to_le_bytes()))
                })
                .map_err(DataError::io("write", &path))
        })?;
        let queries = found.queries.clone();
        write_json(&path.with_extension("json"), &Record { queries, content })
    }

    /// Hands the answers to all queries to `sink`, in order: those that are there, and those that
    /// the searcher finds. Returns how many were there.
    pub(super) fn answer(
        &self,
        searcher: &mut Searcher<'_>,
        mut sink: impl FnMut(Found) -> Result<(), PipelineError>,
    ) -> Result<u64, PipelineError> {
        let (queries, step) = (searcher.queries.rows(), searcher.queries_at_once());
        let (mut first, mut before) = (0, 0);
        while first < queries {
            let found = match self.load(first)? {
                Some(found) => {
                    searcher.skip(found.queries.len());
                    before += found.queries.len() as u64;
                    found
                }
                None => {
                    let next = self.next(first).unwrap_or(queries);
                    let found = searcher.find(first..next.min(first + step))?;
                    self.save(&found)?;
                    found
                }
            };
            first = found.queries.end;
            sink(found)?;
        }
        Ok(before)
    }

    fn file(&self, first: usize) -> PathBuf {
        self.dir.join(format!("{first:010}.found"))
    }
}

/// Removes a directory, if it is there.
pub(super) fn discard(dir: &Path) -> Result<(), PipelineError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(DataError::io("remove", dir)(error).into())
        }
        _ => Ok(()),
    }
}

/// A JSON file; one that is missing or of another kind counts as none.
pub(super) fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), PipelineError> {
    let text = serde_json::to_string_pretty(value).expect("plain structs become JSON");
    publish_file(path, |file| {
        writeln!(file, "{text}").map_err(DataError::io("write", file.path()))
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use vprep_core::Silent;

    fn key() -> Key {
        let (base, queries) = ("b".to_owned(), "q".to_owned());
        Key { base, queries, rows: 0..9, k: 2, metric: Metric::L2, algorithm: 2 }
    }

    fn found(queries: Range<usize>) -> Found {
        let n = queries.len();
        Found {
            rows: queries.clone().flat_map(|q| [q as i32, q as i32 + 1]).collect(),
            scores: vec![0.5; 2 * n],
            gaps: (0..n).map(|i| [0.0, f64::INFINITY][i % 2]).collect(),
            tied: (0..n).map(|i| i % 2 == 0).collect(),
            queries,
        }
    }

    fn open(dir: &Path, key: &Key) -> Blocks<'static> {
        Blocks::open(dir, key, "exact", &Silent).expect("opens")
    }

    #[test]
    fn what_is_kept_comes_back_and_what_is_damaged_does_not() {
        let home = tempfile::tempdir().expect("a directory");
        let dir = home.path().join("blocks");
        let blocks = open(&dir, &key());
        for queries in [0..3, 3..4, 7..9] {
            blocks.save(&found(queries)).expect("saves");
        }
        let blocks = open(&dir, &key());
        for queries in [0..3, 3..4, 7..9] {
            let loaded = blocks.load(queries.start).expect("reads");
            assert_eq!(loaded, Some(found(queries)));
        }
        assert_eq!((blocks.next(0), blocks.next(3), blocks.next(7)), (Some(3), Some(7), None));
        assert_eq!(blocks.load(4).expect("reads"), None);
        let mut bytes = fs::read(blocks.file(3)).expect("reads");
        bytes[5] ^= 1;
        publish_file::<DataError>(&blocks.file(3), |file| {
            file.write_all(&bytes).map_err(DataError::io("write", "x"))
        })
        .expect("writes");
        fs::remove_file(blocks.file(7)).expect("removes");
        assert_eq!(blocks.load(3).expect("reads"), None);
        assert_eq!(blocks.load(7).expect("reads"), None);
    }

    #[test]
    fn another_run_begins_anew() {
        let home = tempfile::tempdir().expect("a directory");
        let dir = home.path().join("blocks");
        let others: [&dyn Fn(&mut Key); 6] = [
            &|key| key.base.push('x'),
            &|key| key.queries.push('x'),
            &|key| key.rows.end = 8,
            &|key| key.k = 3,
            &|key| key.metric = Metric::Ip,
            &|key| key.algorithm = 3,
        ];
        for change in others {
            open(&dir, &key()).save(&found(0..3)).expect("saves");
            let mut other = key();
            change(&mut other);
            assert!(open(&dir, &other).load(0).expect("reads").is_none());
            assert!(open(&dir, &key()).load(0).expect("reads").is_none(), "it is gone");
        }
        open(&dir, &key()).save(&found(0..3)).expect("saves");
        let blocks = Blocks::open(&dir, &key(), "f64", &Silent).expect("opens");
        assert!(blocks.load(0).expect("reads").is_none());
    }
}
