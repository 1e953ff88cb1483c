//! `base.parquet` and `queries.parquet`: row, id, and the other columns of the source.

use crate::guard::guard;
use crate::{Content, DataError, StagedFile};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch};
use arrow::compute::{BatchCoalescer, filter_record_batch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use vprep_core::Progress;

/// The column that numbers the rows, 0 to n-1.
pub const ROW: &str = "row";
/// The column with the source's id.
pub const ID: &str = "id";
/// The column with the text.
pub const TEXT: &str = "text";
/// In a subset, the row that each row had in the parent.
pub const PARENT_ROW: &str = "parent_row";
/// In a subset that keeps some rows in any case, whether the row is one of them.
pub const KEPT: &str = "kept";

const BATCH: usize = 8_192;
const ROW_GROUP: usize = 128 * 1_024;

/// Writes a table. Its bytes depend on the rows alone, not on the batches they come in.
pub struct TableWriter {
    writer: ArrowWriter<StagedFile>,
    coalescer: BatchCoalescer,
    schema: SchemaRef,
    rows: i64,
}

impl TableWriter {
    /// Starts a table of `row` and `columns`.
    ///
    /// # Errors
    ///
    /// If a column's type cannot stand in parquet.
    pub fn new(
        file: StagedFile,
        columns: impl IntoIterator<Item = Arc<Field>>,
    ) -> Result<Self, DataError> {
        let row = Arc::new(Field::new(ROW, DataType::Int64, false));
        let fields: Vec<_> = std::iter::once(row).chain(columns).collect();
        let schema = Arc::new(Schema::new(fields));
        let zstd = Compression::ZSTD(ZstdLevel::try_new(3).expect("a legal level"));
        let properties = WriterProperties::builder()
            .set_compression(zstd)
            .set_created_by("vprep".to_owned())
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .build();
        let path = file.path().to_owned();
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))
            .map_err(DataError::table(path))?;
        Ok(Self { writer, coalescer: BatchCoalescer::new(schema.clone(), BATCH), schema, rows: 0 })
    }

    /// Appends `rows` rows of the columns declared, and numbers them.
    ///
    /// # Errors
    ///
    /// If they cannot be written, or are not of the declared types.
    pub fn append(&mut self, rows: usize, columns: &[ArrayRef]) -> Result<(), DataError> {
        let numbers = Int64Array::from_iter_values(self.rows..self.rows + rows as i64);
        self.rows += rows as i64;
        let columns = std::iter::once(Arc::new(numbers) as ArrayRef).chain(columns.iter().cloned());
        let path = self.writer.inner().path().to_owned();
        let batch = RecordBatch::try_new(self.schema.clone(), columns.collect())
            .and_then(|batch| self.coalescer.push_batch(batch))
            .map_err(|error| DataError::malformed(&path, error.to_string()));
        batch?;
        self.drain()
    }

    fn drain(&mut self) -> Result<(), DataError> {
        while let Some(batch) = self.coalescer.next_completed_batch() {
            let written = self.writer.write(&batch);
            written.map_err(DataError::table(self.writer.inner().path()))?;
        }
        Ok(())
    }

    /// Syncs the file and returns its digest.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn finish(mut self) -> Result<Content, DataError> {
        let path = self.writer.inner().path().to_owned();
        self.coalescer
            .finish_buffered_batch()
            .map_err(|error| DataError::malformed(&path, error.to_string()))?;
        self.drain()?;
        self.writer.into_inner().map_err(DataError::table(path))?.finish()
    }
}

/// Reads a table batch by batch. `visit` gets each batch and the number of its first row.
///
/// # Errors
///
/// If the file cannot be read, `visit` fails, or the user stops the work.
pub fn read_table(
    path: &Path,
    progress: &dyn Progress,
    mut visit: impl FnMut(RecordBatch, u64) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let malformed = |problem| DataError::malformed(path, problem);
    let builder = open(path)?;
    let mut batches = guard(malformed, || {
        builder.with_batch_size(BATCH).build().map_err(DataError::table(path))
    })?;
    let mut first = 0;
    loop {
        progress.check()?;
        let next = || batches.next().transpose().map_err(|error| malformed(error.to_string()));
        let Some(batch) = guard(malformed, next)? else { return Ok(()) };
        let rows = batch.num_rows() as u64;
        visit(batch, first)?;
        first += rows;
    }
}

fn open(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, DataError> {
    let file = File::open(path).map_err(DataError::io("open", path))?;
    let malformed = |problem| DataError::malformed(path, problem);
    guard(malformed, || {
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(DataError::table(path))
    })
}

/// The schema and the number of rows of a table.
///
/// # Errors
///
/// If the file is not parquet.
pub fn table_shape(path: &Path) -> Result<(SchemaRef, u64), DataError> {
    let builder = open(path)?;
    let rows = builder.metadata().file_metadata().num_rows();
    Ok((builder.schema().clone(), u64::try_from(rows).unwrap_or(0)))
}

/// What a copied row says of where it comes from.
pub enum Lineage<'a> {
    /// Nothing.
    None,
    /// The row that it was.
    ParentRow,
    /// The row that it was, and whether it was kept in any case.
    Kept(&'a dyn Fn(u64) -> bool),
}

/// Copies the rows of `source` for which `keep` holds into `file`, numbered anew.
///
/// # Errors
///
/// If the source cannot be read or the copy not written, or the user stops the work.
pub fn copy_rows(
    source: &Path,
    file: StagedFile,
    lineage: &Lineage<'_>,
    keep: impl Fn(u64) -> bool,
    progress: &dyn Progress,
) -> Result<Content, DataError> {
    let (schema, _) = table_shape(source)?;
    let kept: Vec<usize> = (0..schema.fields().len())
        .filter(|&i| {
            let name = schema.field(i).name();
            let replaced =
                !matches!(lineage, Lineage::None) && (name == PARENT_ROW || name == KEPT);
            name != ROW && !replaced
        })
        .collect();
    let mut fields: Vec<_> = kept.iter().map(|&i| schema.fields()[i].clone()).collect();
    if !matches!(lineage, Lineage::None) {
        fields.push(Arc::new(Field::new(PARENT_ROW, DataType::Int64, false)));
    }
    if matches!(lineage, Lineage::Kept(_)) {
        fields.push(Arc::new(Field::new(KEPT, DataType::Boolean, false)));
    }
    let mut writer = TableWriter::new(file, fields)?;
    read_table(source, progress, |batch, first| {
        let rows = first..first + batch.num_rows() as u64;
        let mask: BooleanArray = rows.clone().map(|row| Some(keep(row))).collect();
        let chosen = filter_record_batch(&batch, &mask)
            .map_err(|error| DataError::malformed(source, error.to_string()))?;
        let mut columns: Vec<_> = kept.iter().map(|&i| chosen.column(i).clone()).collect();
        let rows = rows.filter(|&row| keep(row));
        if !matches!(lineage, Lineage::None) {
            let rows = rows.clone().map(|row| row as i64);
            columns.push(Arc::new(Int64Array::from_iter_values(rows)));
        }
        if let Lineage::Kept(is_kept) = lineage {
            columns.push(Arc::new(BooleanArray::from_iter(rows.map(|row| Some(is_kept(row))))));
        }
        writer.append(chosen.num_rows(), &columns)
    })?;
    writer.finish()
}

/// The rows for which a whole column of booleans, as `kept` is one, is true.
///
/// # Errors
///
/// If the file cannot be read, has no such column, or it is of another type or holds nulls.
pub fn read_true_rows(
    path: &Path,
    name: &str,
    progress: &dyn Progress,
) -> Result<Vec<u64>, DataError> {
    let mut rows = Vec::new();
    read_table(path, progress, |batch, first| {
        let column = batch.column_by_name(name).and_then(|column| column.as_boolean_opt());
        match column {
            Some(column) if column.null_count() == 0 => {
                let numbered = (first..).zip(column.values());
                rows.extend(numbered.filter(|(_, kept)| *kept).map(|(row, _)| row));
                Ok(())
            }
            _ => Err(DataError::malformed(path, format!("no whole boolean column `{name}`"))),
        }
    })?;
    Ok(rows)
}

/// Reads the texts of some rows of a table, those of its column [`TEXT`].
///
/// # Errors
///
/// If the file cannot be read, or has no whole column of strings of that name.
pub fn read_texts(path: &Path, rows: Range<u64>) -> Result<Vec<String>, DataError> {
    let malformed = |problem| DataError::malformed(path, problem);
    let builder = open(path)?;
    let count = usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX);
    let mask = ProjectionMask::columns(builder.parquet_schema(), [TEXT]);
    let mut batches = guard(malformed, || {
        let builder = builder.with_projection(mask).with_batch_size(BATCH);
        let first = usize::try_from(rows.start).unwrap_or(usize::MAX);
        builder.with_offset(first).with_limit(count).build().map_err(DataError::table(path))
    })?;
    let mut texts = Vec::with_capacity(count.min(1 << 20));
    loop {
        let next = || batches.next().transpose().map_err(|error| malformed(error.to_string()));
        let Some(batch) = guard(malformed, next)? else { return Ok(texts) };
        let column = batch.column_by_name(TEXT).and_then(|column| column.as_string_opt::<i32>());
        match column {
            Some(column) if column.null_count() == 0 => {
                texts.extend((0..column.len()).map(|row| column.value(row).to_owned()));
            }
            _ => return Err(malformed(format!("no whole column `{TEXT}` of strings"))),
        }
    }
}

/// Reads a whole column of 64-bit integers, as `parent_row` is one.
///
/// # Errors
///
/// If the file cannot be read, has no such column, or it is of another type or holds nulls.
pub fn read_i64_column(
    path: &Path,
    name: &str,
    progress: &dyn Progress,
) -> Result<Vec<i64>, DataError> {
    let mut values = Vec::new();
    read_table(path, progress, |batch, _| {
        let column =
            batch.column_by_name(name).and_then(|c| c.as_any().downcast_ref::<Int64Array>());
        match column {
            Some(column) if column.null_count() == 0 => {
                values.extend_from_slice(column.values());
                Ok(())
            }
            _ => Err(DataError::malformed(path, format!("no whole int64 column `{name}`"))),
        }
    })?;
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workdir;
    use arrow::array::StringArray;
    use vprep_core::Silent;

    /// Writes 20,000 rows in batches of `batch` and returns the digest.
    fn write(workdir: &Workdir, name: &str, batch: usize) -> Content {
        let mut transaction = workdir.begin().expect("begins");
        let file = transaction.create(name).expect("creates");
        let id = Arc::new(Field::new(ID, DataType::Utf8, false));
        let mut writer = TableWriter::new(file, [id]).expect("starts");
        let ids: Vec<String> = (0..20_000).map(|i| format!("id {}", i * i)).collect();
        for chunk in ids.chunks(batch) {
            let column = Arc::new(StringArray::from_iter_values(chunk)) as ArrayRef;
            writer.append(chunk.len(), &[column]).expect("appends");
        }
        let content = writer.finish().expect("syncs");
        transaction.commit().expect("commits");
        content
    }

    #[test]
    fn bytes_do_not_depend_on_the_batches() {
        let dir = tempfile::tempdir().expect("a directory");
        let workdir = Workdir::lock(dir.path()).expect("locks");
        assert_eq!(write(&workdir, "a.parquet", 20_000), write(&workdir, "b.parquet", 37));
    }

    #[test]
    fn texts_of_any_rows_are_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let workdir = Workdir::lock(dir.path()).expect("locks");
        let mut transaction = workdir.begin().expect("begins");
        let file = transaction.create("t.parquet").expect("creates");
        let fields = [ID, TEXT].map(|name| Arc::new(Field::new(name, DataType::Utf8, false)));
        let mut writer = TableWriter::new(file, fields).expect("starts");
        let texts: Vec<String> = (0..300_000).map(|row| format!("text {row}")).collect();
        for chunk in texts.chunks(10_000) {
            let column = Arc::new(StringArray::from_iter_values(chunk)) as ArrayRef;
            writer.append(chunk.len(), &[column.clone(), column]).expect("appends");
        }
        writer.finish().expect("syncs");
        transaction.commit().expect("commits");
        let path = dir.path().join("t.parquet");
        for rows in [0..1, 131_000..131_100, 299_990..300_000, 5..5, 100_000..280_000] {
            let expected = &texts[rows.start as usize..rows.end as usize];
            assert_eq!(read_texts(&path, rows).expect("reads"), expected);
        }
    }

    #[test]
    fn copied_rows_are_numbered_anew_and_say_where_they_stood() {
        let dir = tempfile::tempdir().expect("a directory");
        let workdir = Workdir::lock(dir.path()).expect("locks");
        write(&workdir, "a.parquet", 1_000);
        let mut transaction = workdir.begin().expect("begins");
        let file = transaction.create("b.parquet").expect("creates");
        let source = dir.path().join("a.parquet");
        copy_rows(&source, file, &Lineage::ParentRow, |row| row % 3 == 1, &Silent).expect("copies");
        transaction.commit().expect("commits");
        let copy = dir.path().join("b.parquet");
        let rows = read_i64_column(&copy, ROW, &Silent).expect("reads");
        let parents = read_i64_column(&copy, PARENT_ROW, &Silent).expect("reads");
        assert_eq!(rows, (0..rows.len() as i64).collect::<Vec<_>>());
        assert_eq!(parents[..3], [1, 4, 7]);
        assert_eq!(parents.len(), 6_667);
    }
}
