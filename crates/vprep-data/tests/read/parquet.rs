//! `.parquet`, as the Arrow writer writes it.

use crate::Files;
use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, FixedSizeListArray, Float16Array,
    Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, LargeListArray,
    LargeStringArray, ListArray, RecordBatch, StringArray, TimestampMillisecondArray, UInt8Array,
    UInt64Array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, TimeUnit};
use half::f16;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::sync::Arc;
use vprep_data::read::{Batch, IdType, Ids, ReadOptions, VectorReader};

pub(crate) fn write(files: &Files, name: &str, columns: &[(&str, ArrayRef)], group: usize) {
    let fields = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect::<Vec<_>>();
    let arrays = columns.iter().map(|(_, array)| array.clone()).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("a table");
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
    let file = File::create(files.path(name)).expect("creates");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("starts");
    writer.write(&batch).expect("writes");
    writer.close().expect("closes");
}

/// A column of rows of `dim` values.
pub(crate) fn list(values: impl Into<ArrayRef>, dim: usize) -> ArrayRef {
    let values = values.into();
    lists(values.clone(), &vec![dim; values.len() / dim], None)
}

/// A column of rows of the given lengths, some of them null.
fn lists(values: impl Into<ArrayRef>, lengths: &[usize], valid: Option<&[bool]>) -> ArrayRef {
    let values = values.into();
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(item, offsets, values, valid.map(NullBuffer::from)))
}

fn array<T: arrow::array::Array + 'static>(array: T) -> ArrayRef {
    Arc::new(array)
}

fn floats(values: impl IntoIterator<Item = f32>) -> ArrayRef {
    array(Float32Array::from_iter_values(values))
}

fn one(files: &Files, options: &ReadOptions) -> Batch {
    let mut batches = files.read("a.parquet", options).expect("reads");
    assert_eq!(batches.len(), 1);
    batches.remove(0)
}

#[test]
fn every_kind_of_list_of_every_type_of_value_is_read() {
    let files = Files::new();
    let halves = [0.5, 1.0, -2.0, 65_504.0].map(f16::from_f32);
    let item = |kind: DataType| Arc::new(Field::new_list_field(kind, true));
    let columns = [
        (list(floats([0.5, 1.0, -2.0, 1e38]), 2), [0.5, 1.0, -2.0, 1e38]),
        (list(array(Float64Array::from(vec![0.1, 1.0, -2.0, 1e-300])), 2), [0.1, 1.0, -2.0, 0.0]),
        (list(array(Float16Array::from(halves.to_vec())), 2), [0.5, 1.0, -2.0, 65_504.0]),
        (list(array(Int8Array::from(vec![-128, 1, 2, 127])), 2), [-128.0, 1.0, 2.0, 127.0]),
        (list(array(UInt8Array::from(vec![0, 1, 2, 255])), 2), [0.0, 1.0, 2.0, 255.0]),
        (
            array(LargeListArray::new(
                item(DataType::Float32),
                OffsetBuffer::from_lengths([2, 2]),
                floats([1.0, 2.0, 3.0, 4.0]),
                None,
            )),
            [1.0, 2.0, 3.0, 4.0],
        ),
        (
            array(FixedSizeListArray::new(
                item(DataType::Float16),
                2,
                array(Float16Array::from(halves.to_vec())),
                None,
            )),
            [0.5, 1.0, -2.0, 65_504.0],
        ),
    ];
    for (column, expected) in columns {
        write(&files, "a.parquet", &[("emb", column.clone())], 100);
        assert_eq!(files.vectors("a.parquet"), (expected.to_vec(), 2), "{}", column.data_type());
    }
}

#[test]
fn ids_and_other_columns_come_along() {
    let files = Files::new();
    let words = DictionaryArray::<Int32Type>::from_iter(["x", "y"]);
    let columns: [(&str, ArrayRef); 9] = [
        ("flag", array(BooleanArray::from(vec![Some(true), None]))),
        ("_id", array(LargeStringArray::from(vec!["a", "b"]))),
        ("emb", list(floats([1.0, 2.0, 3.0, 4.0]), 2)),
        ("text", array(StringArray::from(vec!["one", "two"]))),
        ("word", array(words)),
        ("raw", array(BinaryArray::from(vec![&b"r"[..], b"s"]))),
        ("when", array(TimestampMillisecondArray::from(vec![1, 2]))),
        ("links", list(array(Int64Array::from(vec![1, 2])), 1)),
        ("n", array(UInt64Array::from(vec![7, u64::MAX]))),
    ];
    write(&files, "a.parquet", &columns, 100);
    let open = |options: &ReadOptions| {
        VectorReader::open(&files.path("a.parquet"), options).expect("opens")
    };
    let reader = open(&ReadOptions::default());
    assert_eq!((reader.rows(), reader.dim(), reader.ids()), (2, 2, IdType::Text));
    let field = |name: &str, kind: DataType| Arc::new(Field::new(name, kind, true));
    let expected = [
        field("flag", DataType::Boolean),
        field("text", DataType::Utf8),
        field("word", DataType::Utf8),
        field("when", DataType::Timestamp(TimeUnit::Millisecond, None)),
        field("n", DataType::UInt64),
    ];
    assert_eq!(reader.columns(), expected);
    assert_eq!(reader.left_out(), ["raw", "links"]);

    let batch = one(&files, &ReadOptions::default());
    assert_eq!(batch.ids, Ids::Text(StringArray::from(vec!["a", "b"])));
    assert_eq!(batch.columns[0].as_ref(), &BooleanArray::from(vec![Some(true), None]));
    assert_eq!(batch.columns[2].as_ref(), &StringArray::from(vec!["x", "y"]));
    // What is read makes a table of the columns declared.
    let schema = Schema::new(reader.columns().to_vec());
    RecordBatch::try_new(Arc::new(schema), batch.columns).expect("a table");

    let by_text = ReadOptions { id_column: Some("text".to_owned()), ..Default::default() };
    assert_eq!(one(&files, &by_text).ids, Ids::Text(StringArray::from(vec!["one", "two"])));
    let columns: Vec<_> = open(&by_text).columns().iter().map(|f| f.name().clone()).collect();
    assert_eq!(columns, ["flag", "_id", "word", "when", "n"]);

    let by_number = ReadOptions { id_column: Some("n".to_owned()), ..Default::default() };
    assert_eq!(open(&by_number).ids(), IdType::Int);
    assert_eq!(
        files.error("a.parquet", &by_number),
        "a.parquet: row 1: the id (column `n`) is greater than 9223372036854775807"
    );
}

#[test]
fn integer_ids_of_any_width_are_read_and_none_is_the_row_number() {
    let files = Files::new();
    let emb = list(floats([1.0, 2.0]), 1);
    write(&files, "a.parquet", &[("emb", emb.clone())], 100);
    assert_eq!(one(&files, &ReadOptions::default()).ids, Ids::RowNumber);
    let columns: [ArrayRef; 4] = [
        array(Int8Array::from(vec![-1, 2])),
        array(Int32Array::from(vec![-1, 2])),
        array(Int64Array::from(vec![-1, 2])),
        array(UInt64Array::from(vec![i64::MAX as u64, 2])),
    ];
    for (i, id) in columns.into_iter().enumerate() {
        write(&files, "a.parquet", &[("emb", emb.clone()), ("id", id)], 100);
        let first = if i == 3 { i64::MAX } else { -1 };
        assert_eq!(one(&files, &ReadOptions::default()).ids, Ids::Int(vec![first, 2]));
    }
}

#[test]
fn rows_keep_their_order_across_row_groups_and_batches() {
    let files = Files::new();
    let dim = 700;
    let rows = 4_000;
    let emb = list(floats((0..rows * dim).map(|i| i as f32)), dim);
    let id = array(Int64Array::from_iter_values((0..rows as i64).map(|i| i * 3)));
    for group in [1_000, 1_000_000] {
        write(&files, "a.parquet", &[("emb", emb.clone()), ("id", id.clone())], group);
        let batches = files.read("a.parquet", &ReadOptions::default()).expect("reads");
        assert!(batches.iter().all(|b| b.rows <= 1_497), "4 MiB of vectors at most");
        let mut row = 0;
        for batch in batches {
            let Ids::Int(ids) = batch.ids else { panic!("integers") };
            for (vector, id) in batch.vectors.chunks(dim).zip(ids) {
                assert_eq!((vector[0], id), ((row * dim) as f32, row as i64 * 3));
                row += 1;
            }
        }
        assert_eq!(row, rows);
    }
}

#[test]
fn rows_that_are_no_vectors_are_named() {
    let files = Files::new();
    let error = |emb: ArrayRef| {
        write(&files, "a.parquet", &[("emb", emb)], 2);
        files.error("a.parquet", &ReadOptions::default())
    };
    let four = || floats([1.0, 2.0, 3.0, 4.0]);
    assert_eq!(
        error(lists(four(), &[1, 1, 0, 0, 2], Some(&[true, true, false, false, true]))),
        "a.parquet: rows 2, 3: no vector, but null"
    );
    assert_eq!(
        error(lists(four(), &[0, 4], Some(&[false, true]))),
        "a.parquet: row 0: no vector, but null"
    );
    assert_eq!(
        error(lists(four(), &[1, 1, 2], None)),
        "a.parquet: row 2: has dimension 2, but row 0 has 1"
    );
    assert_eq!(error(lists(four(), &[2, 2, 0], None)), "a.parquet: row 2: the vector is empty");
    assert_eq!(error(lists(four(), &[0, 4], None)), "a.parquet: row 0: the vector is empty");
    let gaps = Float32Array::from(vec![Some(1.0), None, Some(2.0), Some(3.0), None, None]);
    assert_eq!(
        error(list(array(gaps.clone()), 1)),
        "a.parquet: rows 1, 4, 5: a value of the vector is null"
    );
    assert_eq!(error(list(array(gaps), 3)), "a.parquet: rows 0, 1: a value of the vector is null");
    assert_eq!(
        error(list(array(Float64Array::from(vec![1.0, f64::INFINITY, 1e39, f64::NAN])), 1)),
        "a.parquet: row 2: a value is beyond the range of float32 (3.4e38)"
    );
    let fixed = FixedSizeListArray::new(
        Arc::new(Field::new_list_field(DataType::Float32, true)),
        2,
        four(),
        Some(NullBuffer::from(vec![true, false])),
    );
    assert_eq!(error(array(fixed)), "a.parquet: row 1: no vector, but null");
    let none: ArrayRef = lists(floats([]), &[], None);
    assert_eq!(error(none), "a.parquet: holds no vectors (0 x 0)");
}

#[test]
fn rows_without_an_id_are_named() {
    let files = Files::new();
    let emb = list(floats((0..9).map(|i| i as f32)), 1);
    let id = (0..9).map(|i| (i < 2).then_some(i)).collect::<Int64Array>();
    write(&files, "a.parquet", &[("emb", emb), ("id", array(id))], 100);
    assert_eq!(
        files.error("a.parquet", &ReadOptions::default()),
        "a.parquet: rows 2, 3, 4, 5, 6 and 2 more: the id (column `id`) is null"
    );
}

#[test]
fn columns_that_are_not_there_are_named() {
    let files = Files::new();
    let emb = list(floats([1.0]), 1);
    write(&files, "a.parquet", &[("emb", emb), ("text", array(StringArray::from(vec!["t"])))], 9);
    let named = |vector: Option<&str>, id: Option<&str>| ReadOptions {
        vector_column: vector.map(str::to_owned),
        id_column: id.map(str::to_owned),
        ..Default::default()
    };
    let missing =
        "a.parquet: has no column `v`; its columns are `emb` list<float32>, `text` string";
    assert_eq!(files.error("a.parquet", &named(Some("v"), None)), missing);
    assert_eq!(files.error("a.parquet", &named(None, Some("v"))), missing);
    assert_eq!(
        files.error("a.parquet", &named(Some("text"), None)),
        "a.parquet: column `text` is non-numeric: its type is string, and vectors are lists of \
         float16, float32, float64, int8 or uint8"
    );
    assert_eq!(
        files.error("a.parquet", &named(None, Some("emb"))),
        "a.parquet: column `emb` cannot be the id: its type is list<float32>, and ids are \
         integers or strings; choose another with --id-column"
    );
}

#[test]
fn what_is_no_whole_parquet_file_is_told() {
    let files = Files::new();
    write(&files, "a.parquet", &[("emb", list(floats([1.0, 2.0]), 2))], 9);
    let whole = fs::read(files.path("a.parquet")).expect("reads");
    let error = |bytes: &[u8]| {
        files.write("a.parquet", bytes);
        files.error("a.parquet", &ReadOptions::default())
    };
    let none = "a.parquet: is not a parquet file: it does not start with PAR1";
    let cut = "a.parquet: is cut short: a parquet file ends with PAR1; fetch or write it again";
    assert_eq!(error(b""), none);
    assert_eq!(error(b"<html>not found</html>"), none);
    assert_eq!(error(b"PAR1"), cut);
    assert_eq!(error(&whole[..whole.len() - 1]), cut);
    assert_eq!(error(&whole[..whole.len() / 2]), cut);
    let mut long = whole.clone();
    let footer = whole.len() - 8;
    long[footer..footer + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let message = error(&long);
    assert!(message.starts_with("a.parquet: cannot read parquet: "), "{message}");
    let mut garbage = whole.clone();
    garbage[footer - 20..footer].fill(0xff);
    let message = error(&garbage);
    assert!(message.starts_with("a.parquet: cannot read parquet: "), "{message}");
}
