//! Files and tables that are not what was built.

use crate::cluster::shared;
use crate::{DIM, built, overwrite, refused, spec, table, vectors};
use vprep_core::{Failure, Kind, MatrixView, Metric};
use vprep_store::{BuildSpec, Store, StoreError};

const ROWS: usize = 200;

#[test]
fn damaged_files_are_noticed() {
    let Some(cluster) = shared() else { return };
    let store = cluster.store();
    let data = vectors(ROWS, DIM);
    let base = MatrixView::new(&data, DIM);
    let dir = built(&store, base, &spec("damaged files"));
    let table = table(dir.path());
    for (name, old, new, problem) in [
        ("pgvector.json", "\"schema\": 1", "\"schema\": 2", "schema 2"),
        ("pgvector.json", "\"build\": \"", "\"build\": \"0", "another build"),
        ("pgvector.json", "\"schema\"", "\"scheme\"", "unknown field"),
        ("pgvector.json", "{", "", "expected"),
        ("index.json", "\"m\": 16", "\"m\": 17", "not that of index.json"),
        ("index.json", "\"l2\"", "\"ip\"", "not that of index.json"),
        ("index.json", table.as_str(), "vprep_other", "no table vprep_other"),
        ("index.json", table.as_str(), "users", "no table of this store"),
        ("index.json", table.as_str(), "vprep_x; DROP TABLE y", "no table of this store"),
        ("index.json", "collection", "path", "no table of this store"),
        ("index.json", "{", "", "expected"),
    ] {
        let path = dir.path().join(name);
        let whole = std::fs::read_to_string(&path).unwrap();
        assert!(whole.contains(old), "{name}: {whole}");
        overwrite(&path, &whole.replacen(old, new, 1));
        let error = refused(&store, dir.path(), base);
        assert!(matches!(error, StoreError::NoIndex { .. }), "{name}, {new}: {error:?}");
        assert!(error.to_string().contains(problem), "{name}, {new}: {error}");
        assert!(error.to_string().contains("vprep build --store pgvector"), "{error}");
        std::fs::remove_file(&path).unwrap();
        let error = refused(&store, dir.path(), base);
        assert!(error.to_string().contains(&format!("{name}: No such file")), "{error}");
        overwrite(&path, &whole);
    }
    assert!(store.open(dir.path(), base).is_ok());
}

#[test]
fn a_table_that_was_changed_is_noticed() {
    let Some(cluster) = shared() else { return };
    let store = cluster.store();
    let data = vectors(ROWS, DIM);
    let base = MatrixView::new(&data, DIM);
    let cosine = BuildSpec { metric: Metric::Cosine, ..spec("changed") };
    for (sql, wrong, problem) in [
        ("DROP TABLE $t", false, "has no table"),
        ("DROP INDEX $t_hnsw", false, "has lost its index"),
        ("DROP INDEX $t_hnsw; CREATE INDEX $t_hnsw ON $t (id)", false, "btree"),
        (
            "DROP INDEX $t_hnsw; CREATE INDEX $t_hnsw ON $t USING hnsw (v vector_l2_ops) WITH (m = 16, ef_construction = 128)",
            false,
            "vector_l2_ops",
        ),
        (
            "DROP INDEX $t_hnsw; CREATE INDEX $t_hnsw ON $t USING hnsw (v vector_cosine_ops)",
            false,
            "not that of index.json",
        ),
        (
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = '$t_hnsw'::regclass",
            false,
            "not valid",
        ),
        ("TRUNCATE $t", true, "holds 0 rows"),
        ("DELETE FROM $t WHERE id = 7", true, "holds 199 rows"),
        ("INSERT INTO $t SELECT 1000, v FROM $t WHERE id = 7", true, "holds 201 rows"),
        ("UPDATE $t SET v = (SELECT v FROM $t WHERE id = 1) WHERE id = 0", false, "row 0"),
        ("COMMENT ON TABLE $t IS NULL", false, "another build"),
    ] {
        let dir = built(&store, base, &cosine);
        assert!(store.open(dir.path(), base).is_ok());
        cluster.sql("postgres", &sql.replace("$t", &table(dir.path())));
        let error = refused(&store, dir.path(), base);
        assert_eq!(matches!(error, StoreError::WrongIndex { .. }), wrong, "{sql}: {error:?}");
        assert_eq!(error.kind(), Kind::Data, "{sql}: {error:?}");
        assert!(error.to_string().contains(problem), "{sql}: {error}");
    }
}
