//! `truth.stats.parquet`: for each query its k-th score and how far the next row is from it.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Float64Type};
use std::path::Path;
use std::sync::Arc;
use vprep_core::Progress;
use vprep_data::{Content, DataError, StagedFile, TableWriter, read_table};

const KTH_SCORE: &str = "kth_score";
const GAP: &str = "gap";
const TIED: &str = "tied";

/// One value for each query.
#[derive(Debug, Default)]
pub(crate) struct TruthStats {
    /// The f64 score of the k-th row.
    pub(crate) kth: Vec<f64>,
    /// By how much it is better than the next one's; infinite where k is all rows.
    pub(crate) gaps: Vec<f64>,
    /// Whether the two are equal.
    pub(crate) tied: Vec<bool>,
}

impl TruthStats {
    /// Writes the table.
    pub(crate) fn write(&self, file: StagedFile) -> Result<Content, DataError> {
        let field = |name, of| Arc::new(Field::new(name, of, false));
        let mut writer = TableWriter::new(
            file,
            [
                field(KTH_SCORE, DataType::Float64),
                field(GAP, DataType::Float64),
                field(TIED, DataType::Boolean),
            ],
        )?;
        let columns: [ArrayRef; 3] = [
            Arc::new(Float64Array::from_iter_values(self.kth.iter().copied())),
            Arc::new(Float64Array::from_iter_values(self.gaps.iter().copied())),
            Arc::new(BooleanArray::from(self.tied.clone())),
        ];
        writer.append(self.kth.len(), &columns)?;
        writer.finish()
    }

    /// Reads the table.
    pub(crate) fn read(path: &Path, progress: &dyn Progress) -> Result<Self, DataError> {
        let mut stats = Self::default();
        read_table(path, progress, |batch, _| {
            stats.kth.extend(floats(path, &batch, KTH_SCORE)?);
            stats.gaps.extend(floats(path, &batch, GAP)?);
            let tied = batch.column_by_name(TIED).and_then(|column| column.as_boolean_opt());
            match tied {
                Some(tied) if tied.null_count() == 0 => stats.tied.extend(tied.values()),
                _ => return Err(lacks(path, "boolean", TIED)),
            }
            Ok(())
        })?;
        Ok(stats)
    }

    /// How many queries are tied.
    pub(crate) fn queries_tied(&self) -> u64 {
        self.tied.iter().filter(|&&tied| tied).count() as u64
    }
}

fn floats(path: &Path, batch: &RecordBatch, name: &str) -> Result<Vec<f64>, DataError> {
    let column =
        batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Float64Type>());
    match column {
        Some(column) if column.null_count() == 0 => Ok(column.values().to_vec()),
        _ => Err(lacks(path, "float64", name)),
    }
}

fn lacks(path: &Path, of: &str, name: &str) -> DataError {
    let problem = format!("no whole {of} column `{name}`; run `vprep truth`");
    DataError::Malformed { path: path.to_owned(), problem }
}
