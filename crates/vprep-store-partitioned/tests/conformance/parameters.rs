//! Build parameters reach the engine, and the knob does what it says.

use crate::{DIM, build, vectors};
use std::fs::{metadata, read};
use std::path::Path;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_knn::{Exact, KnnError};
use vprep_store::{Index, Store};
use vprep_store_partitioned::{GraphManagerStore, PartitionedHnswStore};

const ROWS: usize = 6_000;
const QUERIES: usize = 300;

/// Builds with the parameters given and opens.
fn made<'a>(given: &[(&str, u32)], base: MatrixView<'a>, dir: &Path) -> Box<dyn Index + 'a> {
    build(&PartitionedHnswStore::new(), base, given, dir);
    PartitionedHnswStore::new().open(dir, base).expect("an index")
}

/// Recall at 10 of the queries of a base under l2.
fn recall(index: &dyn Index, base: MatrixView<'_>, nprobe: u32) -> f64 {
    let queries = base.slice(0..QUERIES);
    let mut truth = Vec::new();
    let exact = Exact::new(base, Metric::L2).expect("a base");
    exact
        .search(queries, 10, &Silent, |found| {
            truth.extend(found.rows);
            Ok::<_, KnnError>(())
        })
        .expect("the truth");
    let found = index.search(queries, 10, Some(nprobe), &Silent).expect("answers").rows;
    let pairs = found.chunks(10).zip(truth.chunks(10));
    let hits = pairs
        .map(|(found, truth)| truth.iter().filter(|&&row| found.contains(&i64::from(row))).count());
    hits.sum::<usize>() as f64 / truth.len() as f64
}

#[test]
fn recall_rises_with_nprobe_and_graphs_are_what_answers() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    let index = made(&[], base, dir.path());
    let range = index.knob_range(10).unwrap();
    assert_eq!((range.smallest, range.largest), (1, (ROWS / 39) as u32));
    let values = [1, 2, 4, 16, range.largest];
    let mut searched = 0;
    let recalls = values.map(|nprobe| {
        let recall = recall(index.as_ref(), base, nprobe);
        let now = index.statistics()["graphs_searched"];
        // One graph for each query and partition: no scan, and no partition beyond the knob but
        // where a partition has less than ten rows.
        let least = QUERIES as u64 * u64::from(nprobe);
        assert!((least..least + 50).contains(&(now - searched)), "{nprobe}: {now} - {searched}");
        searched = now;
        recall
    });
    assert!(recalls[0] < 0.9 && recalls[4] > 0.99, "{recalls:?}");
    assert!(recalls.is_sorted(), "{recalls:?}");
}

#[test]
fn m_makes_graphs_larger_and_ef_construction_makes_other_ones() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let file = |given: &[(&str, u32)]| {
        let dir = tempfile::tempdir().unwrap();
        made(&[given, &[("partitions", 4)]].concat(), base, dir.path());
        let path = dir.path().join("partitions.bin");
        (metadata(&path).unwrap().len(), read(path).unwrap())
    };
    let (usual, bytes) = file(&[]);
    assert!(file(&[("m", 32)]).0 > usual + ROWS as u64 * 16 * 4);
    let (size, other) = file(&[("ef-construction", 20)]);
    assert!(other != bytes && size == usual);
}

#[test]
fn ef_and_overlap_move_recall() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let at = |given: &[(&str, u32)], nprobe| {
        let dir = tempfile::tempdir().unwrap();
        recall(made(given, base, dir.path()).as_ref(), base, nprobe)
    };
    let large = ("partitions", 2);
    let sparse = [("m", 4), ("ef-construction", 20), large];
    let with_ef = |ef| at(&[&sparse[..], &[("ef", ef)]].concat(), 2);
    let (few, many) = (with_ef(1), with_ef(500));
    assert!(few + 0.02 < many, "{few} {many}");
    let (alone, thrice) = (at(&[], 1), at(&[("overlap", 3)], 1));
    assert!(alone + 0.05 < thrice, "{alone} {thrice}");
}

#[test]
fn partitions_and_overlap_are_as_asked_or_as_the_base_allows() {
    let data = vectors(ROWS);
    for (rows, partitions, overlap, expected) in
        [(ROWS, 40, 2, (40, 2)), (ROWS, 256, 1, (153, 1)), (100, 256, 8, (2, 2)), (5, 9, 8, (1, 1))]
    {
        let base = MatrixView::new(&data[..rows * DIM], DIM);
        let dir = tempfile::tempdir().unwrap();
        let index = made(&[("partitions", partitions), ("overlap", overlap)], base, dir.path());
        let statistics = index.statistics();
        assert_eq!((statistics["partitions"], statistics["overlap"]), expected);
        let [min, median, max] =
            ["min", "median", "max"].map(|size| statistics[&format!("partition_rows_{size}")]);
        assert!(1 <= min && min <= median && median <= max && max <= rows as u64);
        assert!(max * expected.0 >= rows as u64 * expected.1);
    }
}

#[test]
fn memory_is_the_budget_of_the_graph_manager() {
    let data = vectors(500);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(&GraphManagerStore::new(), base, &[("memory-mib", 3)], dir.path());
    let index = GraphManagerStore::new().open(dir.path(), base).unwrap();
    assert_eq!(index.statistics()["memory_budget"], 3 << 20);
}

#[test]
fn a_query_gets_k_rows_though_its_partitions_have_fewer_and_a_note_says_so() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for overlap in [1, 4] {
        let dir = tempfile::tempdir().unwrap();
        let index = made(&[("overlap", overlap)], base, dir.path());
        let answers = index.search(base.slice(0..20), 2_000, Some(1), &Silent).unwrap();
        assert!(answers.rows.iter().all(|&row| row >= 0));
        let note = "20 of 20 queries looked into more than nprobe = 1 partitions to find 2000 rows";
        assert_eq!(answers.notes, [note]);
    }
    let dir = tempfile::tempdir().unwrap();
    let index = made(&[], base, dir.path());
    let all = index.knob_range(1).unwrap().largest;
    assert!(index.search(base.slice(0..20), 1, Some(all), &Silent).unwrap().notes.is_empty());
}
