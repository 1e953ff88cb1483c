//! Dataset names that want to be more than names.

use crate::cluster::shared;
use crate::{DIM, built, spec, table, tables, vectors};
use vprep_core::{MatrixView, Silent};
use vprep_store::Store;

#[test]
fn hostile_names_are_only_names() {
    let Some(cluster) = shared() else { return };
    cluster.sql("postgres", "CREATE DATABASE names");
    cluster.sql("names", "CREATE TABLE precious (x int)");
    let store = cluster.database("names");
    let data = vectors(20, DIM);
    let base = MatrixView::new(&data, DIM);
    let long = "long".repeat(1000);
    let names = [
        "\"; DROP TABLE precious; --",
        "'; DROP TABLE precious; --",
        "$$; DROP TABLE precious; $$",
        "\0",
        "",
        "naïve 数据 🐘",
        &long,
        "precious",
        "../precious",
    ];
    let dirs: Vec<_> = names.iter().map(|name| built(&store, base, &spec(name))).collect();
    assert_eq!(tables(cluster, "names").len(), names.len());
    for dir in &dirs {
        let index = store.open(dir.path(), base).expect("each has its own");
        let answers = index.search(base.slice(3..4), 2, Some(20), &Silent).expect("answers");
        assert_eq!((answers.rows[0], &answers.notes), (3, &Vec::new()), "{}", table(dir.path()));
    }
    assert_eq!(cluster.sql("names", "SELECT count(*) FROM precious"), ["0"]);
}

#[test]
fn a_build_replaces_the_one_of_the_same_name() {
    let Some(cluster) = shared() else { return };
    let store = cluster.store();
    let (first, second) = (vectors(60, DIM), vectors(61, DIM));
    let (first, second) = (MatrixView::new(&first, DIM), MatrixView::new(&second, DIM));
    let old = built(&store, first, &spec("replaced"));
    let open = store.open(old.path(), first).expect("the first");
    let new = built(&store, second, &spec("replaced"));
    assert_eq!(table(old.path()), table(new.path()));
    assert!(store.open(new.path(), second).is_ok());
    let error = store.open(old.path(), first).err().expect("replaced");
    assert!(error.to_string().contains("another build"), "{error}");
    let error = open.search(first, 1, Some(9), &Silent).expect_err("replaced while open");
    assert!(error.to_string().contains("another build"), "{error}");
}
