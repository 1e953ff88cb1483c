//! Measuring recall, each (k, query set, value) once.

use crate::interval::interval;
use crate::{CalibrateError, Point, Queries, QuerySet};
use std::collections::BTreeMap;
use std::time::Instant;
use vprep_core::recall::Truth;
use vprep_core::{MatrixView, Progress};
use vprep_store::{Answers, Index, Store};

type Key = (u32, QuerySet, Option<u32>);

/// Measures, and remembers.
pub(crate) struct Meter<'a> {
    store: &'a dyn Store,
    index: &'a dyn Index,
    data: &'a Queries<'a>,
    progress: &'a dyn Progress,
    /// The vectors of the two sets.
    calibration: Vec<f32>,
    held_out: Vec<f32>,
    points: BTreeMap<Key, Point>,
}

impl<'a> Meter<'a> {
    /// Starts from the points measured before. One that counts another number of queries is of
    /// another split, and is left out.
    pub(crate) fn new(
        store: &'a dyn Store,
        index: &'a dyn Index,
        data: &'a Queries<'a>,
        known: Vec<Point>,
        progress: &'a dyn Progress,
    ) -> Self {
        let gather = |rows: &[u64]| -> Vec<f32> {
            rows.iter().flat_map(|&row| data.queries.row(row as usize)).copied().collect()
        };
        let fits = |point: &Point| point.queries as usize == data.rows(point.set).len();
        Self {
            store,
            index,
            data,
            progress,
            calibration: gather(data.calibration),
            held_out: gather(data.held_out),
            points: known
                .into_iter()
                .filter(fits)
                .map(|point| ((point.k, point.set, point.value), point))
                .collect(),
        }
    }

    /// The measurement at a value, made now unless it was made before.
    pub(crate) fn point(
        &mut self,
        k: u32,
        set: QuerySet,
        value: Option<u32>,
    ) -> Result<&Point, CalibrateError> {
        let key = (k, set, value);
        if !self.points.contains_key(&key) {
            let point = self.measure(k, set, value)?;
            self.points.insert(key, point);
        }
        Ok(&self.points[&key])
    }

    /// All points, by k, query set and value.
    pub(crate) fn into_points(self) -> Vec<Point> {
        self.points.into_values().collect()
    }

    fn measure(&self, k: u32, set: QuerySet, value: Option<u32>) -> Result<Point, CalibrateError> {
        self.progress.check()?;
        let vectors = match set {
            QuerySet::Calibration => &self.calibration,
            QuerySet::HeldOut => &self.held_out,
        };
        let queries = MatrixView::new(vectors, self.data.base.dim());
        let started = Instant::now();
        let answers = self.index.search(queries, k as usize, value, self.progress)?;
        let seconds = started.elapsed().as_secs_f64();
        self.score(k, set, value, answers, seconds)
    }

    /// Compares answers with the truth.
    fn score(
        &self,
        k: u32,
        set: QuerySet,
        value: Option<u32>,
        answers: Answers,
        seconds: f64,
    ) -> Result<Point, CalibrateError> {
        let (rows, width) = (self.data.rows(set), self.data.width(k));
        self.check(&answers, rows.len() * width)?;
        let mut hits = Vec::with_capacity(rows.len());
        let (mut strict, mut short, mut repeated) = (0u64, 0, 0);
        for (&query, answer) in rows.iter().zip(answers.rows.chunks_exact(width)) {
            let truth = Truth {
                metric: self.data.metric,
                base: self.data.base,
                query: self.data.queries.row(query as usize),
                rows: self.data.truth(query, width),
            };
            let found = truth.hits(answer);
            hits.push(found.with_ties);
            strict += u64::from(found.strict);
            short += u32::from((found.returned as usize) < width);
            repeated += found.repeated;
        }
        let possible = (rows.len() * width) as f64;
        let interval = interval(&hits, width as u32);
        Ok(Point {
            k,
            set,
            value,
            queries: rows.len() as u32,
            recall: hits.iter().map(|&hits| u64::from(hits)).sum::<u64>() as f64 / possible,
            low: interval.low,
            high: interval.high,
            lower_bound: interval.lower_bound,
            strict_recall: strict as f64 / possible,
            short,
            repeated,
            seconds,
            notes: answers.notes,
        })
    }

    /// Checks the shape of an answer, and that its rows are rows.
    fn check(&self, answers: &Answers, expected: usize) -> Result<(), CalibrateError> {
        let store = self.store.info().name;
        if answers.rows.len() != expected {
            let (found, expected) =
                (format!("{} rows", answers.rows.len()), format!("{expected} in all"));
            return Err(CalibrateError::Answer { store, found, expected });
        }
        let rows = self.data.base.rows();
        if let Some(row) = answers.rows.iter().find(|&&row| row >= rows as i64) {
            let (found, expected) = (format!("row {row}"), format!("one of {rows} rows"));
            return Err(CalibrateError::Answer { store, found, expected });
        }
        Ok(())
    }
}
