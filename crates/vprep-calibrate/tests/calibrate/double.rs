//! A store whose recall at each knob value is made to order.
//!
//! Row r of the base is the number -r and query i is the number i + 1, so under the inner product
//! the true neighbours of every query are rows 0, 1, 2, … and the index can tell queries apart.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use vprep_calibrate::{CalibrateError, Cell, Options, Point, Queries, Rule, calibrate};
use vprep_core::{MatrixView, Metric, Progress, Silent};
use vprep_store::{
    Answers, BuildSpec, Index, IndexFacts, KnobRange, Location, Store, StoreError, StoreInfo,
};

pub(crate) const ROWS: usize = 1_000;
pub(crate) const QUERIES: usize = 30;

/// How answers are spoilt.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spoilt {
    /// Every third query loses its last row.
    pub(crate) short: bool,
    /// Every third query gets its first row twice, in place of its last.
    pub(crate) repeated: bool,
    /// The engine says so.
    pub(crate) note: bool,
}

/// A store with hits made to order.
pub(crate) struct Double {
    info: StoreInfo,
    facts: IndexFacts,
    range: Option<KnobRange>,
    /// (knob value, query) to hits of k.
    hits: Box<dyn Fn(u32, usize, usize) -> usize + Send + Sync>,
    spoilt: Spoilt,
    /// Every search: k, number of queries, knob.
    pub(crate) searches: Mutex<Vec<(usize, usize, Option<u32>)>>,
}

impl Double {
    /// `hits` gives the number of true neighbours found, from (value, query, k); value 0 stands
    /// for no knob.
    pub(crate) fn new(
        range: Option<(u32, u32, u32)>,
        hits: impl Fn(u32, usize, usize) -> usize + Send + Sync + 'static,
    ) -> Self {
        let info = StoreInfo {
            name: "double",
            engine: "none",
            knob: range.map(|_| "effort"),
            parameters: &[],
        };
        let spec = BuildSpec {
            name: String::new(),
            metric: Metric::Ip,
            unit_length: false,
            parameters: BTreeMap::new(),
        };
        let (base, location) = (MatrixView::new(&[0.0; ROWS], 1), Location::Path(".".to_owned()));
        let facts = IndexFacts::new(&info, "1".to_owned(), base, &spec, location);
        Self {
            info,
            facts,
            range: range.map(|(smallest, largest, step)| KnobRange { smallest, largest, step }),
            hits: Box::new(hits),
            spoilt: Spoilt::default(),
            searches: Mutex::default(),
        }
    }

    /// The total of hits over the 20 calibration queries at k = 10 is `curve(value)` of 200.
    pub(crate) fn curve(
        smallest: u32,
        largest: u32,
        curve: impl Fn(u32) -> usize + Send + Sync + 'static,
    ) -> Self {
        Self::new(Some((smallest, largest, 1)), move |value, query, _| {
            let total = curve(value);
            total / 20 + usize::from(query % 20 < total % 20)
        })
    }

    pub(crate) fn spoilt(mut self, spoilt: Spoilt) -> Self {
        self.spoilt = spoilt;
        self
    }

    pub(crate) fn facts_mut(&mut self) -> &mut IndexFacts {
        &mut self.facts
    }

    /// Calibrates on queries 0 to 19 and proves on 20 to 29.
    pub(crate) fn run(
        &self,
        k: &[u32],
        target: &[f64],
        max_value: Option<u32>,
        rule: Rule,
        known: Vec<Point>,
    ) -> Result<(Vec<Cell>, Vec<Point>), CalibrateError> {
        self.run_with(k, target, max_value, rule, known, |_| {})
    }

    /// The same, after a change of the inputs.
    pub(crate) fn run_with(
        &self,
        k: &[u32],
        target: &[f64],
        max_value: Option<u32>,
        rule: Rule,
        known: Vec<Point>,
        change: impl FnOnce(&mut Queries<'_>),
    ) -> Result<(Vec<Cell>, Vec<Point>), CalibrateError> {
        let base: Vec<f32> = (0..ROWS).map(|row| -(row as f32)).collect();
        let queries: Vec<f32> = (0..QUERIES).map(|query| query as f32 + 1.0).collect();
        let truth: Vec<i32> = (0..QUERIES).flat_map(|_| 0..100).collect();
        let rows: Vec<u64> = (0..QUERIES as u64).collect();
        let mut data = Queries {
            base: MatrixView::new(&base, 1),
            queries: MatrixView::new(&queries, 1),
            truth_ids: &truth,
            truth_k: 100,
            metric: Metric::Ip,
            calibration: &rows[..20],
            held_out: &rows[20..],
        };
        change(&mut data);
        let options = Options { k: k.to_vec(), target: target.to_vec(), max_value, rule };
        calibrate(self, self, &data, &options, known, &Silent)
    }

    /// One cell at k = 10 by the mean.
    pub(crate) fn cell(&self, target: f64, max_value: Option<u32>) -> Cell {
        let (cells, _) =
            self.run(&[10], &[target], max_value, Rule::Mean, Vec::new()).expect("a calibration");
        let [cell] = <[Cell; 1]>::try_from(cells).expect("one cell");
        cell
    }
}

impl Store for Double {
    fn info(&self) -> &StoreInfo {
        &self.info
    }

    fn version(&self) -> Result<String, StoreError> {
        Ok("1".to_owned())
    }

    fn build(
        &self,
        _: MatrixView<'_>,
        _: &BuildSpec,
        _: &Path,
        _: &dyn Progress,
    ) -> Result<(), StoreError> {
        unreachable!("the index is there already")
    }

    fn open<'a>(&self, _: &Path, _: MatrixView<'a>) -> Result<Box<dyn Index + 'a>, StoreError> {
        unreachable!("the store is its own index")
    }
}

impl Index for Double {
    fn facts(&self) -> &IndexFacts {
        &self.facts
    }

    fn knob_range(&self, _: usize) -> Option<KnobRange> {
        self.range
    }

    fn search(
        &self,
        queries: MatrixView<'_>,
        k: usize,
        knob: Option<u32>,
        _: &dyn Progress,
    ) -> Result<Answers, StoreError> {
        self.searches.lock().expect("no panic").push((k, queries.rows(), knob));
        let k = k.min(self.facts.rows as usize);
        let mut answers = Answers::default();
        for query in queries.iter() {
            let query = query[0] as usize - 1;
            let hits = (self.hits)(knob.unwrap_or(0), query, k).min(k);
            let mut rows: Vec<i64> = (0..hits as i64).collect();
            rows.extend((0..(k - hits) as i64).map(|i| ROWS as i64 - 1 - i));
            if query.is_multiple_of(3) && self.spoilt.short {
                rows[k - 1] = -1;
            }
            if query.is_multiple_of(3) && self.spoilt.repeated {
                rows[k - 1] = rows[0];
            }
            answers.rows.extend(rows);
        }
        answers.scores = vec![0.0; answers.rows.len()];
        if self.spoilt.note {
            answers.notes.push("a scan answered".to_owned());
        }
        Ok(answers)
    }
}
