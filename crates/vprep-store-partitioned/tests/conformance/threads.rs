//! Determinism, pools of threads, and interruption.

use crate::{DIM, build, spec, vectors};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::fs::read;
use vprep_core::{MatrixView, Metric, Silent};
use vprep_store::conformance::stopping;
use vprep_store::{Store, StoreError};
use vprep_store_partitioned::{GraphManagerStore, PartitionedHnswStore};

const STORES: [&dyn Store; 2] = [&PartitionedHnswStore::new(), &GraphManagerStore::new()];

#[test]
fn the_bytes_are_the_same_whatever_the_threads_and_the_store() {
    let data = vectors(3_000);
    let base = MatrixView::new(&data, DIM);
    for metric in Metric::ALL {
        let bytes = |store: &dyn Store, threads| {
            let dir = tempfile::tempdir().unwrap();
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let spec = spec(store, metric, &[("overlap", 2)]);
            pool.install(|| store.build(base, &spec, dir.path(), &Silent)).unwrap();
            ["partitions.bin", "partitions.json"].map(|file| read(dir.path().join(file)).unwrap())
        };
        let expected = bytes(STORES[0], 1);
        for (store, threads) in [(0, 1), (0, 2), (0, 7), (1, 2)] {
            assert!(bytes(STORES[store], threads) == expected, "{metric}, {threads} threads");
        }
    }
}

#[test]
fn a_search_does_not_depend_on_the_pool_or_the_batch() {
    let data = vectors(3_000);
    let base = MatrixView::new(&data, DIM);
    for store in STORES {
        let dir = tempfile::tempdir().unwrap();
        build(store, base, &[("overlap", 2)], dir.path());
        let index = store.open(dir.path(), base).unwrap();
        let search = || index.search(base, 5, Some(4), &Silent).unwrap();
        let expected = search();
        for threads in [1, 3, 64] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(search) == expected);
        }
        for (query, expected) in expected.rows.chunks(5).enumerate().step_by(100) {
            let one = index.search(base.slice(query..query + 1), 5, Some(4), &Silent).unwrap();
            assert_eq!(one.rows, expected);
        }
    }
}

#[test]
fn batches_inside_one_pool_do_not_wait_for_each_other_in_a_circle() {
    let data = vectors(3_000);
    let base = MatrixView::new(&data, DIM);
    let dir = tempfile::tempdir().unwrap();
    build(STORES[1], base, &[("partitions", 20)], dir.path());
    let expected = STORES[1].open(dir.path(), base).unwrap();
    // Memory for two partitions or three.
    let tight = GraphManagerStore::new().with_memory(1 << 17).open(dir.path(), base).unwrap();
    let pool = ThreadPoolBuilder::new().num_threads(6).build().unwrap();
    let queries = base.slice(0..100);
    let search = |nprobe| tight.search(queries, 5, Some(nprobe), &Silent).unwrap();
    let found: Vec<_> = pool.install(|| (1..20u32).into_par_iter().map(search).collect());
    for (nprobe, found) in (1..).zip(found) {
        assert!(found == expected.search(queries, 5, Some(nprobe), &Silent).unwrap());
    }
    assert!(tight.statistics()["memory_peak"] <= 1 << 17, "{:?}", tight.statistics());
    assert!(tight.statistics()["evictions"] > 0, "{:?}", tight.statistics());
}

#[test]
fn building_and_searching_stop_in_the_middle() {
    let data = vectors(20_000);
    let base = MatrixView::new(&data, DIM);
    for store in STORES {
        let scratch = tempfile::tempdir().unwrap();
        // In the first rounds of k-means, and while graphs are built.
        let spec = spec(store, Metric::L2, &[]);
        stopping(store, scratch.path(), base, &spec, &[20, 10_000]);
    }
}

#[test]
fn a_base_that_cannot_be_clustered_is_refused() {
    let mut data = vectors(100);
    data[55] = f32::INFINITY;
    for store in STORES {
        let dir = tempfile::tempdir().unwrap();
        let base = MatrixView::new(&data, DIM);
        let spec = spec(store, Metric::L2, &[]);
        let error = store.build(base, &spec, dir.path(), &Silent).unwrap_err();
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error}");
        let none = MatrixView::new(&[], DIM);
        let error = store.build(none, &spec, dir.path(), &Silent).unwrap_err();
        assert!(error.to_string().contains("has no rows"), "{error}");
    }
}
