//! The index answers, and the knob is what it is called.

use crate::cluster::shared;
use crate::{DIM, built, spec, table, vectors};
use std::collections::HashSet;
use vprep_core::{MatrixView, Silent};
use vprep_store::Store;

#[test]
fn a_scan_in_place_of_the_index_is_noted() {
    let Some(cluster) = shared() else { return };
    let data = vectors(500, DIM);
    let base = MatrixView::new(&data, DIM);
    let dir = built(&cluster.store(), base, &spec("noted"));
    let table = table(dir.path());
    let scans = || {
        let sql = format!(
            "SELECT pg_stat_force_next_flush(); SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = '{table}_hnsw'"
        );
        cluster.sql("postgres", &sql)[1].parse::<u64>().unwrap()
    };
    let before = scans();
    let index = cluster.store().open(dir.path(), base).expect("the index");
    let queries = base.slice(0..20);
    let answers = index.search(queries, 5, Some(40), &Silent).expect("answers");
    assert_eq!(answers.notes, Vec::<String>::new());
    // The engine's own count, which a session reports when it ends.
    drop(index);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while scans() < before + 20 {
        assert!(std::time::Instant::now() < deadline, "{} scans of the index", scans() - before);
        std::thread::sleep(std::time::Duration::from_millis(100));
    }

    let index = cluster.store().open(dir.path(), base).expect("the index");
    cluster.sql("postgres", &format!("DROP INDEX {table}_hnsw"));
    let answers = index.search(queries, 5, Some(40), &Silent).expect("answers");
    assert_eq!(answers.notes.len(), 1);
    assert!(answers.notes[0].contains("was not used"), "{:?}", answers.notes);
}

#[test]
fn the_knob_trades_recall() {
    let Some(cluster) = shared() else { return };
    let data = vectors(6_000, DIM);
    let base = MatrixView::new(&data, DIM);
    let dir = built(&cluster.store(), base, &crate::spec_with("knob", 3, 8));
    let index = cluster.store().open(dir.path(), base).expect("the index");
    let queries = vectors(6_050, DIM);
    let queries = MatrixView::new(&queries[6_000 * DIM..], DIM);
    let found = |knob| index.search(queries, 10, Some(knob), &Silent).expect("answers").rows;
    let (few, many) = (found(10), found(1000));
    let same = few.chunks(10).zip(many.chunks(10)).map(|(few, many)| {
        let many: HashSet<_> = many.iter().collect();
        few.iter().filter(|row| many.contains(row)).count()
    });
    let same: usize = same.sum();
    assert!(same < 480, "{same} of 500 neighbours are found at the smallest knob value already");
}

#[test]
fn more_neighbours_than_the_cap_come_from_iterative_scans() {
    let Some(cluster) = shared() else { return };
    let data = vectors(3_000, DIM);
    let base = MatrixView::new(&data, DIM);
    let store = cluster.store();
    let dir = built(&store, base, &spec("many"));
    let index = store.open(dir.path(), base).expect("the index");
    let range = index.knob_range(2_500).expect("a knob");
    assert_eq!((range.smallest, range.largest), (1000, 1000));
    let answers = index.search(base.slice(0..5), 2_500, Some(1000), &Silent).expect("answers");
    let returned = answers.rows.iter().filter(|&&row| row >= 0).count();
    assert!(returned > 5 * 2_400, "{returned} of {} rows", 5 * 2_500);
    assert_eq!(answers.notes.len(), 1, "{:?}", answers.notes);
    assert!(answers.notes[0].contains("iterative"), "{:?}", answers.notes);

    let exactly = index.search(base.slice(0..5), 1000, Some(1000), &Silent).expect("answers");
    assert!(exactly.notes.is_empty() && exactly.rows.iter().all(|&row| row >= 0));
}
