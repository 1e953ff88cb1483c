//! The budget, and what is told of it.

use crate::{DIM, build, spec, vectors};
use rayon::ThreadPoolBuilder;
use std::fs::{File, read};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use vprep_core::{Failure, Kind, MatrixView, Metric, Silent};
use vprep_store::{Answers, Index, Store, StoreError};
use vprep_store_partitioned::{GraphManagerStore, PartitionedHnswStore};

const ROWS: usize = 4_000;

/// Bytes of the largest partition and of all of them.
fn bytes(dir: &Path) -> (u64, u64) {
    let table = read(dir.join("partitions.json")).expect("a table");
    let table: serde_json::Value = serde_json::from_slice(&table).expect("JSON");
    let bytes: Vec<u64> = table["partitions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|partition| partition["bytes"].as_u64().expect("a number"))
        .collect();
    (*bytes.iter().max().expect("partitions"), bytes.iter().sum())
}

fn ask(index: &dyn Index, queries: MatrixView<'_>, k: usize, nprobe: u32) -> Answers {
    index.search(queries, k, Some(nprobe), &Silent).expect("answers")
}

#[test]
fn answers_are_those_of_the_other_store_with_any_budget() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    for (metric, overlap) in [(Metric::L2, 1), (Metric::Cosine, 3), (Metric::Ip, 2)] {
        let (whole, managed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let stores: [(&dyn Store, _); 2] =
            [(&PartitionedHnswStore::new(), &whole), (&GraphManagerStore::new(), &managed)];
        for (store, dir) in stores {
            let spec = spec(store, metric, &[("overlap", overlap)]);
            store.build(base, &spec, dir.path(), &Silent).unwrap();
        }
        let expected = PartitionedHnswStore::new().open(whole.path(), base).unwrap();
        let (largest, all) = bytes(managed.path());
        for budget in [largest, 3 * largest, all / 2, all] {
            let store = GraphManagerStore::new().with_memory(budget);
            let index = store.open(managed.path(), base).unwrap();
            let queries = base.slice(0..200);
            let most = index.knob_range(10).unwrap().largest;
            let pool = ThreadPoolBuilder::new().num_threads(8).build().unwrap();
            std::thread::scope(|scope| {
                for (k, nprobe) in [(10, 1), (1, 7), (100, 3), (10, most)] {
                    let (index, expected, pool) = (&index, &expected, &pool);
                    scope.spawn(move || {
                        let found = pool.install(|| ask(index.as_ref(), queries, k, nprobe));
                        assert!(found == ask(expected.as_ref(), queries, k, nprobe));
                    });
                }
            });
            let statistics = index.statistics();
            assert!(statistics["memory_peak"] <= budget, "{budget}: {statistics:?}");
            assert_eq!(statistics["evictions"] == 0, budget == all, "{budget}: {statistics:?}");
            assert_eq!(statistics["memory_budget"], budget);
        }
    }
}

#[test]
fn cold_and_warm_are_told_apart() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(&GraphManagerStore::new(), base, &[], dir.path());
    let index = GraphManagerStore::new().open(dir.path(), base).unwrap();
    let all = index.knob_range(10).unwrap().largest;
    assert_eq!(index.statistics()["loads"], 0);
    let cold = ask(index.as_ref(), base.slice(0..100), 10, all);
    assert_eq!(index.statistics()["loads"], u64::from(all));
    assert_eq!(index.statistics()["memory_bytes"], bytes(dir.path()).1);
    let hits = index.statistics()["hits"];
    assert!(ask(index.as_ref(), base.slice(0..100), 10, all) == cold);
    let warm = index.statistics();
    assert_eq!((warm["loads"], warm["evictions"]), (u64::from(all), 0));
    assert!(warm["hits"] > hits);
    assert_eq!(warm["graphs_searched"], 200 * u64::from(all));
}

#[test]
fn the_least_recently_used_is_put_out() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(&GraphManagerStore::new(), base, &[], dir.path());
    let look = |index: &dyn Index, row: usize| {
        ask(index, base.slice(row..row + 1), 1, 1);
        (index.statistics()["loads"], index.statistics()["memory_bytes"])
    };

    // Rows in three partitions, and the bytes of these.
    let index = GraphManagerStore::new().open(dir.path(), base).unwrap();
    let (mut rows, mut sizes, mut before) = (Vec::new(), Vec::new(), (0, 0));
    for row in 0.. {
        let after = look(index.as_ref(), row);
        if after.0 > before.0 {
            rows.push(row);
            sizes.push(after.1 - before.1);
        }
        before = after;
        if rows.len() == 3 {
            break;
        }
    }
    let (a, b, c) = (rows[0], rows[1], rows[2]);
    let budget = sizes.iter().sum::<u64>() - sizes.iter().min().unwrap();

    let store = GraphManagerStore::new().with_memory(budget.max(bytes(dir.path()).0));
    let index = store.open(dir.path(), base).unwrap();
    for (row, loads) in [(a, 1), (b, 2), (a, 2), (c, 3), (a, 3), (c, 3), (b, 4), (c, 4), (a, 5)] {
        assert_eq!(look(index.as_ref(), row).0, loads, "{:?}", index.statistics());
    }
    assert_eq!(index.statistics()["evictions"], 3);
}

#[test]
fn a_partition_above_the_budget_is_refused_when_opened() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(&GraphManagerStore::new(), base, &[], dir.path());
    let (largest, _) = bytes(dir.path());
    let open = |memory| GraphManagerStore::new().with_memory(memory).open(dir.path(), base);
    assert!(open(largest).is_ok());
    let error = open(largest - 1).map(|_| "an index").unwrap_err();
    assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
    assert_eq!(error.kind(), Kind::Data);
    let expected = format!(
        "store `graph-manager` cannot hold this dataset: its largest partition takes {largest} \
         bytes of memory, and the budget is {}; set VPREP_GRAPH_MEMORY to more, or build it with \
         more partitions",
        largest - 1
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_partition_that_cannot_be_read_is_tried_again() {
    let data = vectors(ROWS);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(&GraphManagerStore::new(), base, &[], dir.path());
    let index = GraphManagerStore::new().open(dir.path(), base).unwrap();
    let path = dir.path().join("partitions.bin");
    let whole = read(&path).unwrap();
    let put =
        |bytes: &[u8]| File::create(&path).and_then(|mut file| file.write_all(bytes)).unwrap();
    put(&vec![0; whole.len()]);
    let error = index.search(base, 10, Some(5), &Silent).unwrap_err();
    assert!(matches!(error, StoreError::NoIndex { .. }), "{error}");
    let statistics = index.statistics();
    assert_eq!((statistics["loads"], statistics["memory_bytes"]), (0, 0));
    put(&whole);
    ask(index.as_ref(), base, 10, 5);
    assert!(index.statistics()["loads"] > 0);
}

#[test]
fn the_environment_sets_the_budget() {
    const CHILD: &str = "VPREP_TEST_BUDGET_OF_THE_ENVIRONMENT";
    let Ok(expected) = std::env::var(CHILD) else {
        for (value, expected) in [("3000000", "3000000"), ("4MiB", "4194304"), ("much", "refused")]
        {
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "memory::the_environment_sets_the_budget"])
                .envs([("VPREP_GRAPH_MEMORY", value), (CHILD, expected)])
                .status();
            assert!(status.unwrap().success(), "{value}");
        }
        return;
    };
    let store = GraphManagerStore::new();
    let Ok(expected) = expected.parse::<u64>() else {
        let error = store.version().unwrap_err();
        let words = "store `graph-manager` is not set up: set VPREP_GRAPH_MEMORY to bytes, such as \
                     512MiB";
        assert_eq!(error.to_string(), words);
        return;
    };
    let data = vectors(200);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(&store, base, &[], dir.path());
    let index = store.open(dir.path(), base).unwrap();
    assert_eq!(index.statistics()["memory_budget"], expected);
}
