//! `.jsonl`.

use crate::Files;
use arrow::array::StringArray;
use vprep_data::read::{Ids, ReadOptions, VectorReader};

fn named(vector: &str, id: &str) -> ReadOptions {
    ReadOptions {
        vector_column: Some(vector.to_owned()),
        id_column: Some(id.to_owned()),
        ..ReadOptions::default()
    }
}

#[test]
fn arrays_and_objects_are_rows() {
    let files = Files::new();
    files.write("a.jsonl", b"[1, 2.5]\n\n[-3e0, 0.1]\r\n");
    assert_eq!(files.vectors("a.jsonl"), (vec![1.0, 2.5, -3.0, 0.1], 2));
    let lines =
        b"{\"id\": 7, \"v\": [1, 2], \"t\": \"x\"}\n{\"t\": [1], \"v\": [3, 4], \"id\": 9}\n";
    let path = files.write("b.ndjson", lines);
    let batch = &files.read("b.ndjson", &ReadOptions::default()).expect("reads")[0];
    assert_eq!(
        (&batch.vectors[..], &batch.ids),
        (&[1.0, 2.0, 3.0, 4.0][..], &Ids::Int(vec![7, 9]))
    );
    let reader = VectorReader::open(&path, &ReadOptions::default()).expect("opens");
    assert_eq!(reader.left_out(), ["t"]);
    files.write(
        "c.jsonl",
        b"{\"k\": \"p\", \"a\": [1], \"b\": [2]}\n{\"k\": \"q\", \"a\": [3], \"b\": [4]}",
    );
    let batch = &files.read("c.jsonl", &named("b", "k")).expect("reads")[0];
    assert_eq!(batch.vectors, [2.0, 4.0]);
    assert_eq!(batch.ids, Ids::Text(StringArray::from(vec!["p", "q"])));
}

#[test]
fn what_is_no_row_is_named_by_its_line() {
    let files = Files::new();
    let error = |text: &str, options: &ReadOptions| {
        files.write("a.jsonl", text.as_bytes());
        files.error("a.jsonl", options)
    };
    let plain = ReadOptions::default();
    assert_eq!(error("\n", &plain), "a.jsonl: holds no vectors (0 x 0)");
    assert_eq!(error("[1, 2]\n\n[3]", &plain), "a.jsonl: row 1: has dimension 1, but row 0 has 2");
    assert_eq!(
        error("[1]\n[1e39]\n", &plain),
        "a.jsonl: row 1: a value is beyond the range of float32 (3.4e38)"
    );
    assert!(error("[1]\n[NaN]\n", &plain).starts_with("a.jsonl: line 2: is no row of vectors: "));
    assert!(error("[1]\n[null]\n", &plain).starts_with("a.jsonl: line 2: is no row of vectors: "));
    assert_eq!(error("[]", &plain), "a.jsonl: line 1: the vector is empty");
    assert_eq!(error("3", &plain), "a.jsonl: line 1: is neither an array of numbers nor an object");
    let two = "{\"a\": [1], \"b\": [2]}";
    assert_eq!(
        error(two, &plain),
        "a.jsonl: several columns may hold the vectors: `a`, `b`; choose one with --vector-column"
    );
    assert!(
        error(two, &named("c", "a"))
            .ends_with("no column `c`; its columns are `a` array, `b` array")
    );
    let changing = "{\"a\": [1], \"id\": 1}\n{\"a\": [1], \"id\": \"x\"}";
    assert_eq!(
        error(changing, &plain),
        "a.jsonl: line 2: its id is no integer of 64 bits, as that of row 0 is"
    );
}
