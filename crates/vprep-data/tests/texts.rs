//! Reading texts: every format, and what is not one.

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vprep_data::read::{IdType, Ids, TextOptions, TextReader};

fn put(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    File::create(&path).and_then(|mut file| file.write_all(bytes)).expect("writes");
    path
}

fn options(text: Option<&str>, id: Option<&str>, title: Option<&str>) -> TextOptions {
    let own = |name: Option<&str>| name.map(str::to_owned);
    TextOptions { text_column: own(text), id_column: own(id), title_column: own(title) }
}

/// All ids, as text, and all texts.
fn read(path: &Path, options: &TextOptions) -> Result<(Vec<String>, Vec<String>), String> {
    let mut reader = TextReader::open(path, options).map_err(|error| error.to_string())?;
    let (mut ids, mut texts) = (Vec::new(), Vec::new());
    while let Some(batch) = reader.next_batch().map_err(|error| error.to_string())? {
        assert_eq!(batch.first_row, texts.len() as u64);
        match batch.ids {
            Ids::RowNumber => assert_eq!(reader.ids(), IdType::RowNumber),
            Ids::Int(numbers) => ids.extend(numbers.iter().map(i64::to_string)),
            Ids::Text(names) => ids.extend(names.iter().flatten().map(str::to_owned)),
        }
        texts.extend(batch.texts);
    }
    assert!(ids.is_empty() || ids.len() == texts.len());
    assert_eq!(reader.bytes_read(), reader.size());
    Ok((ids, texts))
}

const ODD: [&str; 6] = [
    "said \"no\"",
    "one\u{85}line \u{2028}still",
    "tab\tinside",
    "\u{1}\u{7f}",
    "",
    " ünï ↯ 日本 ",
];

#[test]
fn no_row_is_lost_or_split_in_lines_tsv_and_compressed() {
    let dir = tempfile::tempdir().expect("a directory");
    let rows: Vec<String> = (0..20_000).map(|i| format!("{} {i}", ODD[i % ODD.len()])).collect();
    for (end, last) in [("\n", "\n"), ("\r\n", "\r\n"), ("\n", "")] {
        let lines = rows.join(end) + last;
        let tsv: Vec<String> = (0..).zip(&rows).map(|(i, row)| format!("d{i}\t{row}")).collect();
        let tsv = "\u{feff}".to_owned() + &tsv.join(end) + last;
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(tsv.as_bytes()).expect("writes");
        let gzip = gzip.finish().expect("ends");
        let zst = zstd::encode_all(tsv.as_bytes(), 1).expect("compresses");
        let plain = read(&put(dir.path(), "a.txt", lines.as_bytes()), &TextOptions::default());
        assert_eq!(plain, Ok((Vec::new(), rows.clone())));
        let ids: Vec<String> = (0..rows.len()).map(|i| format!("d{i}")).collect();
        for (name, bytes) in [("a.tsv", tsv.as_bytes()), ("A.TSV.GZ", &gzip), ("a.tsv.zst", &zst)] {
            let found = read(&put(dir.path(), name, bytes), &TextOptions::default());
            assert_eq!(found, Ok((ids.clone(), rows.clone())), "{name}");
        }
        for (name, bytes) in [("cut.tsv.gz", &gzip), ("cut.tsv.zst", &zst)] {
            let path = put(dir.path(), name, &bytes[..bytes.len() / 2]);
            let error = read(&path, &TextOptions::default()).expect_err("cut");
            assert!(error.contains("cannot read"), "{error}");
        }
    }
}

#[test]
fn columns_are_chosen_by_name_or_number() {
    let dir = tempfile::tempdir().expect("a directory");
    let named = put(dir.path(), "n.tsv", b"_id\ttitle\ttext\n7\tOn\tx y\n8\t\tz\n");
    let found = read(&named, &options(Some("text"), None, Some("title"))).expect("reads");
    assert_eq!(found, (vec!["7".into(), "8".into()], vec!["On x y".into(), "z".into()]));
    let numbered = put(dir.path(), "m.tsv", b"a\tb\tc\nd\te\tf\n");
    let found = read(&numbered, &options(Some("3"), Some("1"), None)).expect("reads");
    assert_eq!(found, (vec!["a".into(), "d".into()], vec!["c".into(), "f".into()]));
    let error = read(&numbered, &TextOptions::default()).expect_err("three");
    assert!(error.contains("3 fields on its first line; say which"), "{error}");
    let error = read(&numbered, &options(Some("text"), None, None)).expect_err("no name");
    assert!(error.contains("no column `text`; its columns are `a`, `b`, `c`"), "{error}");
    let ragged = put(dir.path(), "r.tsv", b"1\tx\n2\n");
    let error = read(&ragged, &TextOptions::default()).expect_err("ragged");
    assert!(error.ends_with("line 2: has no tab between id and text"), "{error}");
}

#[test]
fn json_objects_keep_their_ids() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = "{\"id\": 9007199254740993, \"text\": \"a\\u0000b\", \"x\": [1]}\r\n\n{\"text\": \"\", \"id\": -1}";
    let found = read(&put(dir.path(), "a.jsonl", text.as_bytes()), &TextOptions::default());
    let ids = vec!["9007199254740993".to_owned(), "-1".to_owned()];
    assert_eq!(found, Ok((ids, vec!["a\0b".to_owned(), String::new()])));
    for (text, problem) in [
        ("{\"id\": \"a\", \"text\": 3}", "line 1: its `text` is no string"),
        (
            "{\"id\": 1, \"text\": \"x\"}\n{\"id\": \"2\", \"text\": \"y\"}",
            "line 2: its `id` is no integer",
        ),
        ("{\"text\": \"x\"}\n{\"txt\": \"y\"}", "line 2: has no `text`"),
        ("{\"text\": \"x\"}\n[1]", "line 2: is no JSON object"),
        ("{\"text\": \"x\", \"query\": \"y\"}", "cannot be told from `query`, `text`"),
        ("", "holds no text"),
    ] {
        let path = put(dir.path(), "b.jsonl", text.as_bytes());
        let error = read(&path, &TextOptions::default()).expect_err(text);
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn parquet_gives_texts_ids_and_refuses_nulls() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, columns: Vec<(&str, ArrayRef)>| {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, column)| (name, column, true)),
        )
        .expect("a batch");
        let path = dir.path().join(name);
        let file = File::create(&path).expect("creates");
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("starts");
        writer.write(&batch).and_then(|()| writer.close()).expect("writes");
        path
    };
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5_000));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..5_000).map(|i| ODD[i % 6].to_owned())));
    let good = write("a.parquet", vec![("id", ids.clone()), ("passage", texts)]);
    let (found_ids, found) = read(&good, &TextOptions::default()).expect("reads");
    assert_eq!((found_ids.len(), found[4_999].as_str()), (5_000, ODD[4_999 % 6]));
    let holes: ArrayRef =
        Arc::new(StringArray::from_iter((0..5_000).map(|i| (i != 4_321).then_some("x"))));
    let bad = write("b.parquet", vec![("id", ids.clone()), ("text", holes)]);
    let error = read(&bad, &TextOptions::default()).expect_err("a null");
    assert!(error.ends_with("row 4321: column `text` is null"), "{error}");
    let numbers = write("c.parquet", vec![("id", ids.clone()), ("text", ids)]);
    let error = read(&numbers, &TextOptions::default()).expect_err("numbers");
    assert!(error.contains("column `text` is of type Int64, and texts are strings"), "{error}");
}

#[test]
fn files_that_are_no_texts_are_told() {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, bytes, problem) in [
        ("a.csv", &b"x"[..], "unknown format `.csv`; texts are .tsv"),
        ("a.gz", b"x", "texts are .tsv"),
        ("a.txt", b"", "holds no text"),
        ("b.txt", b"fine\nbad \xff\n", "line 2: is not UTF-8, from its byte 4 on"),
        ("a.tsv.gz", b"not gzip", "cannot read"),
        ("a.tsv.zst", b"not zstd", "cannot read"),
        ("a.parquet", b"PAR1", "cannot read parquet"),
    ] {
        let error = read(&put(dir.path(), name, bytes), &TextOptions::default()).expect_err(name);
        assert!(error.contains(problem), "{name}: {error}");
    }
    assert!(read(dir.path(), &TextOptions::default()).is_err());
}
