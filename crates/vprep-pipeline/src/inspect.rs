//! Describes a dataset or a file of vectors.

use crate::dataset::{Side, TRUTH_IDS, TRUTH_STATS, read_dataset};
use crate::matrix::{Norms, Occurrences, norms, occurrences};
use crate::truth_stats::TruthStats;
use crate::{Context, PipelineError};
use serde::Serialize;
use std::fs;
use std::path::Path;
use vprep_core::{MatrixView, Metric};
use vprep_data::read::{IdType, ReadOptions, VectorReader};
use vprep_data::{MappedNpy, table_shape};
use vprep_manifest::{NormStats, SCHEMA};

/// What was found: what `inspect --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// Format of this report.
    pub schema: u32,
    /// One for each set of vectors.
    pub sets: Vec<SetFacts>,
    /// The truth of a dataset; none if there is none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<TruthSummary>,
    /// What would mislead a benchmark on it, in plain words.
    pub notes: Vec<String>,
}

/// How clear a truth is: how far the k-th row of a query is from the next one.
#[derive(Clone, Debug, Serialize)]
pub struct TruthSummary {
    /// The file.
    pub file: String,
    /// Queries.
    pub queries: u64,
    /// Queries whose k-th and next score are equal.
    pub tied: u64,
    /// The smallest gap of scores; none where k is the number of rows.
    pub min_gap: Option<f64>,
    /// The median gap of scores.
    pub median_gap: Option<f64>,
}

impl TruthSummary {
    fn new(file: String, stats: &TruthStats) -> Self {
        let mut gaps: Vec<f64> = stats.gaps.iter().copied().filter(|gap| gap.is_finite()).collect();
        gaps.sort_by(f64::total_cmp);
        let middle = |half: usize| gaps[(gaps.len() - 1 + half) / 2];
        Self {
            file,
            queries: stats.gaps.len() as u64,
            tied: stats.queries_tied(),
            min_gap: gaps.first().copied(),
            median_gap: (!gaps.is_empty()).then(|| (middle(0) + middle(1)) / 2.0),
        }
    }
}

/// A set of vectors.
#[derive(Clone, Debug, Serialize)]
pub struct SetFacts {
    /// The file.
    pub file: String,
    /// Vectors.
    pub rows: u64,
    /// Values in a vector.
    pub dim: u64,
    /// What the ids are.
    pub ids: String,
    /// Names of the other columns.
    pub columns: Vec<String>,
    /// Norms.
    pub norms: NormStats,
    /// Whether every vector that is not zero has unit length.
    pub unit_length: bool,
    /// Rows with NaN or infinity.
    pub non_finite_rows: u64,
    /// Rows that repeat an earlier row bit for bit.
    pub duplicate_rows: u64,
    /// Different vectors that occur more than once.
    pub duplicate_groups: u64,
    /// Rows that hold the commonest vector.
    pub largest_group: u64,
}

/// Describes the base and the queries of a dataset.
///
/// # Errors
///
/// If it is none, or a file cannot be read.
pub fn inspect_dataset(dir: &Path, context: &Context<'_>) -> Result<Inspection, PipelineError> {
    let recipe = read_dataset(dir)?;
    let mut notes = Vec::new();
    let mut sets = Vec::new();
    let mut counts = Vec::new();
    for side in Side::BOTH {
        let path = dir.join(side.vectors());
        if !path.exists() {
            notes.push(format!("there are no {} vectors yet", side.name()));
            continue;
        }
        let matrix = MappedNpy::<f32>::open(&path)?;
        let (schema, _) = table_shape(&dir.join(side.table()))?;
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let ids = schema.field_with_name(vprep_data::ID);
        let ids = ids.map_or_else(|_| "none".to_owned(), |field| field.data_type().to_string());
        let columns = names.into_iter().skip(2).collect();
        let (set, count) = describe(&path, matrix.view(), ids, columns, context)?;
        warn(&set, Some(recipe.metric), &mut notes);
        sets.push(set);
        counts.push(count);
    }
    if let [base, queries] = &counts[..] {
        let contained = base.shared(queries);
        if contained > 0 {
            notes.push(format!(
                "{contained} queries are rows of the base bit for bit; each finds itself first, \
                 which is easier than a query that was never stored"
            ));
        }
    }
    if !dir.join(TRUTH_IDS).exists() {
        notes.push("there is no ground truth yet; compute it with `vprep truth`".to_owned());
    }
    let path = dir.join(TRUTH_STATS);
    let truth = match path.exists() {
        false => None,
        true => {
            let stats = TruthStats::read(&path, context.progress)?;
            Some(TruthSummary::new(path.display().to_string(), &stats))
        }
    };
    Ok(Inspection { schema: SCHEMA, sets, truth, notes })
}

/// Describes a file of vectors in any format that `import` reads.
///
/// # Errors
///
/// If the file cannot be read.
pub fn inspect_file(
    path: &Path,
    vector_column: Option<String>,
    context: &Context<'_>,
) -> Result<Inspection, PipelineError> {
    fs::metadata(path).map_err(PipelineError::read(path))?;
    let options = ReadOptions { vector_column, ..ReadOptions::default() };
    let mut reader = VectorReader::open(path, &options)?;
    let dim = reader.dim();
    let mut values: Vec<f32> = Vec::new();
    let task = context.progress.task("reading", reader.rows(), "rows");
    while let Some(batch) = reader.next_batch()? {
        context.progress.check()?;
        task.advance(batch.rows as u64);
        values.extend_from_slice(&batch.vectors);
    }
    let ids = match reader.ids() {
        IdType::RowNumber => "row numbers",
        IdType::Int => "integers",
        IdType::Text => "strings",
    };
    let ids = ids.to_owned();
    let columns = reader.columns().iter().map(|field| field.name().clone()).collect();
    let (set, _) = describe(path, MatrixView::new(&values, dim), ids, columns, context)?;
    let mut notes = Vec::new();
    warn(&set, None, &mut notes);
    Ok(Inspection { schema: SCHEMA, sets: vec![set], truth: None, notes })
}

fn describe(
    path: &Path,
    matrix: MatrixView<'_>,
    ids: String,
    columns: Vec<String>,
    context: &Context<'_>,
) -> Result<(SetFacts, Occurrences), PipelineError> {
    let Norms { stats, non_finite, unit, .. } = norms(std::iter::once(matrix), context.progress)?;
    let count = occurrences(std::iter::once(matrix), context.progress)?;
    let set = SetFacts {
        file: path.display().to_string(),
        rows: matrix.rows() as u64,
        dim: matrix.dim() as u64,
        ids,
        columns,
        norms: stats,
        unit_length: unit,
        non_finite_rows: non_finite.total(),
        duplicate_rows: count.repeated(),
        duplicate_groups: count.groups(),
        largest_group: count.largest(),
    };
    Ok((set, count))
}

fn warn(set: &SetFacts, metric: Option<Metric>, notes: &mut Vec<String>) {
    let mut note = |n: u64, what: &str| {
        if n > 0 {
            notes.push(format!("{}: {n} {what}", set.file));
        }
    };
    note(set.non_finite_rows, "rows hold NaN or infinity; no store can rank them");
    note(set.norms.zero, "zero vectors have no direction; cosine ranks them arbitrarily");
    note(
        set.duplicate_rows,
        "rows repeat another; which of them is found is chance, so recall must count ties",
    );
    if metric == Some(Metric::Cosine) && !set.unit_length {
        notes.push(format!(
            "{}: not unit length; stores that take the inner product for cosine will rank \
             otherwise; run `vprep normalize`",
            set.file
        ));
    }
}
