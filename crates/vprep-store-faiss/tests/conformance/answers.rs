//! Which stores are exact, and when.

use crate::{DIM, build, search, spec, vectors};
use std::collections::HashSet;
use vprep_core::{Failure, Kind, MatrixView, Metric, Silent};
use vprep_knn::plain;
use vprep_store::{Answers, Store, StoreError};
use vprep_store_faiss::FaissStore;

/// What `vprep-knn` finds.
fn truth(base: MatrixView<'_>, queries: MatrixView<'_>, metric: Metric, k: usize) -> Answers {
    let found = queries.iter().flat_map(|query| plain::search(base, query, metric, k));
    let (rows, scores) = found.map(|n| (i64::from(n.row), n.score as f32)).unzip();
    Answers { rows, scores, notes: Vec::new() }
}

/// The part of the true neighbours that came.
fn recall(answers: &Answers, truth: &Answers, k: usize) -> f64 {
    let hits = answers.rows.chunks(k).zip(truth.rows.chunks(k)).map(|(found, expected)| {
        let expected: HashSet<_> = expected.iter().collect();
        found.iter().filter(|row| expected.contains(row)).count()
    });
    hits.sum::<usize>() as f64 / truth.rows.len() as f64
}

#[test]
fn flat_equals_exact_search_to_the_last_bit() {
    let data = vectors(3_000);
    let base = MatrixView::new(&data, DIM);
    let queries = base.slice(2_850..3_000);
    for metric in Metric::ALL {
        for k in [1, 10, 100] {
            let spec = spec(FaissStore::FLAT, metric, &[]);
            let answers = search(FaissStore::FLAT, (base, queries), &spec, k, |_, most| most);
            assert!(answers.unwrap() == truth(base, queries, metric, k), "{metric}, k = {k}");
        }
    }
}

#[test]
fn flat_is_exact_far_from_the_origin() {
    let data: Vec<f32> = vectors(2_000).iter().map(|x| x + 1_000.0).collect();
    let base = MatrixView::new(&data, DIM);
    let queries = base.slice(0..100);
    let spec = spec(FaissStore::FLAT, Metric::L2, &[]);
    let answers = search(FaissStore::FLAT, (base, queries), &spec, 10, |_, most| most).unwrap();
    assert_eq!(answers.scores, truth(base, queries, Metric::L2, 10).scores);
}

#[test]
fn ivf_is_exact_when_it_probes_every_list() {
    let data = vectors(3_000);
    let base = MatrixView::new(&data, DIM);
    let queries = base.slice(0..100);
    for metric in Metric::ALL {
        let spec = spec(FaissStore::IVF, metric, &[("nlist", 50)]);
        let expected = truth(base, queries, metric, 10);
        let found = |knob| {
            let answers = search(FaissStore::IVF, (base, queries), &spec, 10, |_, _| knob).unwrap();
            recall(&answers, &expected, 10)
        };
        assert_eq!(found(50), 1.0, "{metric}");
        assert!(found(1) < found(5) && found(5) < 1.0, "{metric}");
    }
}

#[test]
fn the_recall_of_pq_rises_to_one() {
    let data = vectors(3_000);
    let base = MatrixView::new(&data, DIM);
    let queries = base.slice(0..100);
    for metric in Metric::ALL {
        let spec = spec(FaissStore::PQ, metric, &[("pq-m", 2), ("nbits", 5)]);
        let expected = truth(base, queries, metric, 10);
        let found = |knob| {
            let answers = search(FaissStore::PQ, (base, queries), &spec, 10, |_, _| knob).unwrap();
            recall(&answers, &expected, 10)
        };
        let recalls: Vec<_> = [1, 2, 4, 16, 300].into_iter().map(found).collect();
        assert!(recalls.is_sorted_by(|a, b| a < b) && recalls[4] == 1.0, "{metric}: {recalls:?}");
    }
}

#[test]
fn the_recall_of_hnsw_rises_with_its_knob() {
    let data = vectors(5_000);
    let base = MatrixView::new(&data, DIM);
    let queries = base.slice(0..200);
    let spec = spec(FaissStore::HNSW, Metric::L2, &[("m", 4), ("ef-construction", 20)]);
    let expected = truth(base, queries, Metric::L2, 10);
    let found = |knob| {
        let answers = search(FaissStore::HNSW, (base, queries), &spec, 10, |_, _| knob).unwrap();
        recall(&answers, &expected, 10)
    };
    let recalls: Vec<_> = [10, 30, 400].into_iter().map(found).collect();
    assert!(recalls.is_sorted_by(|a, b| a < b) && recalls[2] > 0.98, "{recalls:?}");
}

#[test]
fn every_list_counts_at_the_smallest_nprobe() {
    // Two lumps far apart, so that lists are of very different sizes.
    let mut data = vectors(400);
    data[..DIM * 390].iter_mut().for_each(|x| *x *= 1e-3);
    let base = MatrixView::new(&data, DIM);
    for k in [1, 7, 60, 400] {
        let spec = spec(FaissStore::IVF, Metric::L2, &[("nlist", 30)]);
        let answers = search(FaissStore::IVF, (base, base), &spec, k, |least, _| least).unwrap();
        assert!(answers.rows.iter().all(|&row| row >= 0), "k = {k}");
    }
}

#[test]
fn no_neighbours_are_empty_answers_and_no_rows_are_refused() {
    let data = vectors(50);
    let base = MatrixView::new(&data, DIM);
    for store in FaissStore::ALL {
        let spec = spec(store, Metric::L2, &[]);
        let none = search(store, (base, base), &spec, 0, |least, _| least).unwrap();
        assert_eq!(none, Answers::default(), "{}", store.info().name);
        let empty = MatrixView::new(&[], DIM);
        let error = search(store, (empty, base), &spec, 1, |least, _| least).unwrap_err();
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error}");
        assert_eq!(error.kind(), Kind::Data);
    }
}

#[test]
fn nan_is_refused_with_its_row() {
    let mut data = vectors(50);
    data[3 * DIM + 5] = f32::NAN;
    let base = MatrixView::new(&data, DIM);
    for store in FaissStore::ALL {
        let dir = tempfile::tempdir().unwrap();
        let spec = spec(store, Metric::L2, &[]);
        let error = store.build(base, &spec, dir.path(), &Silent).unwrap_err();
        assert!(error.to_string().ends_with("NaN or infinity in row 3 of the base"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

#[test]
fn one_row_is_found_again() {
    let data = vectors(1);
    let base = MatrixView::new(&data, DIM);
    for store in FaissStore::ALL {
        let dir = tempfile::tempdir().unwrap();
        build(store, base, &[], dir.path());
        let index = store.open(dir.path(), base).unwrap();
        let knob = index.knob_range(1).map(|range| range.smallest);
        let answers = index.search(base, 1, knob, &Silent).unwrap();
        assert_eq!((answers.rows, answers.scores), (vec![0], vec![0.0]));
    }
}
