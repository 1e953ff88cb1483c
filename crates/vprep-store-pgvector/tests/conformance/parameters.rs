//! Build parameters, and what the store refuses to build.

use crate::cluster::shared;
use crate::progress::Counting;
use crate::{DIM, built, spec, spec_with, table, tables, vectors};
use vprep_core::{Failure, Kind, MatrixView, Silent};
use vprep_store::{Store, StoreError};

#[test]
fn parameters_reach_the_engine() {
    let Some(cluster) = shared() else { return };
    let data = vectors(1_000, DIM);
    let base = MatrixView::new(&data, DIM);
    let mut sizes = Vec::new();
    for (m, ef) in [(2, 4), (16, 128), (40, 1000)] {
        let dir = built(&cluster.store(), base, &spec_with(&format!("parameters {m}"), m, ef));
        let table = table(dir.path());
        let sql = format!("SELECT reloptions FROM pg_class WHERE relname = '{table}_hnsw'");
        assert_eq!(cluster.sql("postgres", &sql), [format!("{{m={m},ef_construction={ef}}}")]);
        let sql = format!("SELECT pg_relation_size('{table}_hnsw')");
        sizes.push(cluster.sql("postgres", &sql)[0].parse::<u64>().unwrap());
    }
    assert!(sizes[0] < sizes[1] && sizes[1] < sizes[2], "{sizes:?}");
}

#[test]
fn what_pgvector_cannot_index_is_refused_before_anything_is_sent() {
    let Some(cluster) = shared() else { return };
    cluster.sql("postgres", "CREATE DATABASE refusing");
    let store = cluster.database("refusing");
    let dir = tempfile::tempdir().unwrap();
    let wide = vectors(2, 2001);
    let mut infinite = vectors(9, DIM);
    infinite[5 * DIM] = f32::INFINITY;
    let fine = vectors(9, DIM);
    let refused = |base, spec| store.build(base, &spec, dir.path(), &Silent).expect_err("refused");

    let error = refused(MatrixView::new(&wide, 2001), spec("x"));
    assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
    assert!(error.to_string().contains("at most 2000"), "{error}");
    let error = refused(MatrixView::new(&[], DIM), spec("x"));
    assert!(error.to_string().contains("no rows"), "{error}");
    let error = refused(MatrixView::new(&fine, DIM), spec_with("x", 16, 31));
    assert!(matches!(error, StoreError::ParameterRange { min: 32, max: 1000, .. }), "{error:?}");
    assert_eq!(error.kind(), Kind::Usage);
    let error = refused(MatrixView::new(&infinite, DIM), spec("x"));
    assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
    assert!(error.to_string().contains("row 5"), "{error}");
    assert!(tables(cluster, "refusing").is_empty());
}

#[test]
fn the_largest_dimension_fits_a_row() {
    let Some(cluster) = shared() else { return };
    let data = vectors(30, 2000);
    let base = MatrixView::new(&data, 2000);
    let dir = built(&cluster.store(), base, &spec("wide"));
    let index = cluster.store().open(dir.path(), base).expect("the index");
    let answers = index.search(base.slice(29..30), 1, Some(30), &Silent).expect("answers");
    assert_eq!(
        (answers.rows.as_slice(), answers.scores.as_slice()),
        ([29].as_slice(), [0.0].as_slice())
    );
}

#[test]
fn several_processes_build_on_a_pool_of_several_threads() {
    let Some(cluster) = shared() else { return };
    // PostgreSQL starts parallel workers for tables of 8 MB and more.
    let data = vectors(20_000, 128);
    let base = MatrixView::new(&data, 128);
    let progress = Counting::default();
    let dir = tempfile::tempdir().unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let watch = || {
        cluster.sql(
            "postgres",
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'
            AND query LIKE 'CREATE INDEX%'",
        )
    };
    let build = || {
        let spec = spec_with("parallel", 8, 32);
        pool.install(|| cluster.store().build(base, &spec, dir.path(), &progress)).expect("built");
    };
    std::thread::scope(|scope| {
        let building = scope.spawn(build);
        let mut most = 0;
        while !building.is_finished() {
            most = most.max(watch()[0].parse::<u32>().unwrap());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert_eq!(most, 2, "parallel workers beside the session's own process");
    });
    let done = progress.done();
    assert_eq!(done[0], ("loading pgvector".to_owned(), 20_000, 20_000));
    let (label, total, rows) = &done[1];
    assert_eq!((label.as_str(), *total), ("building pgvector", 20_000));
    assert!((1..=20_000).contains(rows), "{rows} rows of the index were reported");
}
