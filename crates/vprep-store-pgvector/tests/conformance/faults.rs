//! Builds and searches that do not get to their end.

use crate::cluster::{Cluster, shared};
use crate::progress::At;
use crate::{built, spec_with, table, tables, vectors};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use vprep_core::{Failure, Kind, MatrixView, Progress, Silent, Task};
use vprep_store::{Store, StoreError};
use vprep_store_pgvector::PgvectorStore;

const DIM: usize = 64;

/// Enough rows that creating the index takes seconds.
const ROWS: usize = 20_000;

const STAGES: [&str; 2] = ["loading pgvector", "building pgvector"];

#[test]
fn an_interrupted_build_leaves_the_old_table_and_nothing_else() {
    let Some(cluster) = shared() else { return };
    cluster.sql("postgres", "CREATE DATABASE interrupted");
    let store = cluster.database("interrupted");
    let data = vectors(ROWS, DIM);
    let (base, small) = (MatrixView::new(&data, DIM), MatrixView::new(&data[..100 * DIM], DIM));
    let old = built(&store, small, &spec_with("interrupted", 16, 128));
    for stage in STAGES {
        let dir = tempfile::tempdir().unwrap();
        let stop = At::new(stage, || true);
        let result = store.build(base, &spec_with("interrupted", 16, 200), dir.path(), &stop);
        assert!(matches!(result, Err(StoreError::Interrupted(_))), "{stage}: {result:?}");
        assert_eq!(tables(cluster, "interrupted"), [table(old.path())], "{stage}");
        let busy = "SELECT pid FROM pg_stat_activity WHERE datname = 'interrupted'
            AND state <> 'idle' AND query LIKE 'CREATE INDEX%'";
        assert!(cluster.sql("postgres", busy).is_empty(), "{stage}: the server still builds");
        assert!(store.open(old.path(), small).is_ok(), "{stage}");
    }
}

/// Names the server to the program that is going to be killed.
const CHILD: &str = "VPREP_TEST_KILLED_BUILD";

#[test]
fn a_killed_vprep_leaves_nothing() {
    let Some(cluster) = shared() else { return };
    cluster.sql("postgres", "CREATE DATABASE abandoned");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "faults::build_until_killed"])
        .env(CHILD, cluster.socket_url("abandoned"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let wait = |sql: &str, wanted: &str| {
        let deadline = Instant::now() + Duration::from_secs(60);
        while cluster.sql("postgres", sql) != [wanted] {
            assert!(Instant::now() < deadline, "{sql} does not give {wanted}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait(
        "SELECT count(*) FROM pg_stat_progress_create_index
            WHERE datname = 'abandoned' AND tuples_done > 0",
        "1",
    );
    child.kill().unwrap();
    child.wait().unwrap();
    wait("SELECT count(*) FROM pg_stat_activity WHERE datname = 'abandoned'", "0");
    assert!(tables(cluster, "abandoned").is_empty());
}

/// What the program does that [`a_killed_vprep_leaves_nothing`] kills; elsewhere nothing.
#[test]
fn build_until_killed() {
    let Ok(url) = std::env::var(CHILD) else { return };
    let data = vectors(ROWS, DIM);
    built(&PgvectorStore::at(url), MatrixView::new(&data, DIM), &spec_with("killed", 16, 1000));
}

#[test]
fn a_session_that_is_ended_is_an_unreachable_server() {
    let Some(cluster) = shared() else { return };
    cluster.sql("postgres", "CREATE DATABASE ended");
    let store = cluster.database("ended");
    let data = vectors(ROWS, DIM);
    let base = MatrixView::new(&data, DIM);
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'ended'";
    for stage in STAGES {
        let dir = tempfile::tempdir().unwrap();
        let ended = At::new(stage, || {
            cluster.sql("postgres", end);
            false
        });
        let result = store.build(base, &spec_with("ended", 16, 200), dir.path(), &ended);
        lost(&result.expect_err(stage));
        assert!(tables(cluster, "ended").is_empty(), "{stage}");
    }
}

#[test]
fn after_a_killed_server_the_next_run_completes() {
    let Some(cluster) = Cluster::start("") else { return };
    let store = cluster.store();
    let cluster = Mutex::new(cluster);
    let data = vectors(ROWS, DIM);
    let (base, small) = (MatrixView::new(&data, DIM), MatrixView::new(&data[..500 * DIM], DIM));
    let old = built(&store, small, &spec_with("killed", 16, 128));

    let dir = tempfile::tempdir().unwrap();
    let kill = At::new("building pgvector", || {
        cluster.lock().unwrap().kill();
        false
    });
    let result = store.build(base, &spec_with("killed", 16, 200), dir.path(), &kill);
    lost(&result.expect_err("no server"));
    lost(&store.build(small, &spec_with("killed", 4, 8), dir.path(), &Silent).expect_err("none"));
    cluster.lock().unwrap().start_again();
    assert_eq!(tables(&cluster.lock().unwrap(), "postgres"), [table(old.path())]);

    let index = store.open(old.path(), small).expect("the old index");
    let queries = data.repeat(2);
    let queries = MatrixView::new(&queries, DIM);
    let kill = AfterQueries::new(200, || cluster.lock().unwrap().kill());
    lost(&index.search(queries, 10, Some(40), &kill).expect_err("no server"));
    cluster.lock().unwrap().start_again();
    drop(index);
    let index = store.open(old.path(), small).expect("the old index");
    assert!(index.search(small, 10, Some(40), &Silent).expect("answers").notes.is_empty());
    let dir = built(&store, base, &spec_with("killed", 4, 8));
    assert!(store.open(dir.path(), base).is_ok());
}

#[test]
fn without_shared_memory_one_process_builds() {
    // No file may be larger than 32 MB, and so no segment of shared memory.
    let Some(cluster) = Cluster::start("65536") else { return };
    let data = vectors(40_000, DIM);
    let base = MatrixView::new(&data, DIM);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let dir = pool.install(|| built(&cluster.store(), base, &spec_with("alone", 2, 4)));
    assert!(cluster.store().open(dir.path(), base).is_ok());
    let log = cluster.log();
    assert!(log.contains("could not resize shared memory segment"), "{log}");
}

/// The error of a lost server.
fn lost(error: &StoreError) {
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert_eq!(error.kind(), Kind::Unreachable);
    assert!(error.to_string().contains("see that the server runs"), "{error}");
}

/// Progress that acts once after a number of looks at it, one for each query.
struct AfterQueries<F> {
    looks: AtomicUsize,
    at: usize,
    act: F,
}

impl<F: Fn()> AfterQueries<F> {
    fn new(at: usize, act: F) -> Self {
        Self { looks: AtomicUsize::new(0), at, act }
    }
}

impl<F: Fn() + Sync> Progress for AfterQueries<F> {
    fn task(&self, _: &str, _: u64, _: &'static str) -> Box<dyn Task> {
        Box::new(Silent)
    }

    fn is_interrupted(&self) -> bool {
        if self.looks.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            (self.act)();
        }
        false
    }
}
