//! Build parameters reach the engine.

use crate::{DIM, build, spec, vectors};
use vprep_core::{Failure, Kind, MatrixView, Metric, Silent};
use vprep_store::{Store, StoreError};
use vprep_store_faiss::FaissStore;

const ROWS: usize = 2_000;

/// Builds with some parameters and returns the index file and the text of `faiss.json`.
fn built(store: FaissStore, rows: usize, given: &[(&str, u32)]) -> (Vec<u8>, String) {
    let data = vectors(rows);
    let dir = tempfile::tempdir().expect("a directory");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(|| build(store, MatrixView::new(&data, DIM), given, dir.path()));
    let read = |name: &str| std::fs::read(dir.path().join(name)).expect("a file");
    (read("index.faiss"), String::from_utf8(read("faiss.json")).expect("text"))
}

/// Bytes of the index file.
fn size(store: FaissStore, given: &[(&str, u32)]) -> usize {
    built(store, ROWS, given).0.len()
}

#[test]
fn m_and_ef_construction_reach_the_graph() {
    let links = |m| size(FaissStore::HNSW, &[("m", m)]);
    // The bottom layer has 2m links of four bytes in each row; of the others there are fewer with
    // more links, as they hold one row in m.
    let more = links(32) - links(8);
    let bottom = ROWS * 2 * (32 - 8) * 4;
    assert!(
        (bottom * 19 / 20..bottom * 21 / 20).contains(&more),
        "{more} bytes more, {bottom} expected"
    );

    let graph = |ef| built(FaissStore::HNSW, ROWS, &[("ef-construction", ef)]);
    let (few, text) = graph(5);
    assert!(text.contains("\"ef-construction\": 5"), "{text}");
    let (many, _) = graph(200);
    // As many bytes, other links, and the number itself.
    assert!(few.len() == many.len() && few != many);
    let differing = few.iter().zip(&many).filter(|(a, b)| a != b).count();
    assert!(differing > ROWS, "{differing} bytes differ");
}

#[test]
fn nlist_reaches_the_lists_and_is_capped_by_the_rows() {
    for (rows, asked, used) in [(2_000, 77, 77), (2_000, 0, 179), (50, 0, 28), (50, 90, 50)] {
        let data = vectors(rows);
        let base = MatrixView::new(&data, DIM);
        let dir = tempfile::tempdir().unwrap();
        build(FaissStore::IVF, base, &[("nlist", asked)], dir.path());
        let index = FaissStore::IVF.open(dir.path(), base).unwrap();
        assert_eq!(index.statistics()["lists"], used, "{rows} rows, nlist {asked}");
        assert_eq!(u64::from(index.knob_range(1).unwrap().largest), used);
        assert_eq!(index.facts().parameters["nlist"], asked);
        let text = std::fs::read_to_string(dir.path().join("faiss.json")).unwrap();
        assert!(text.contains(&format!("\"factory\": \"IVF{used},Flat\"")), "{text}");
    }
}

#[test]
fn pq_m_and_nbits_reach_the_codes() {
    let rows = 39 << 8;
    let codes = |m, nbits| built(FaissStore::PQ, rows, &[("pq-m", m), ("nbits", nbits)]).0.len();
    let most = codes(6, 8);
    assert_eq!(most - codes(3, 8), rows * 3);
    // Half as long codes, and a sixteenth of the centroids.
    assert_eq!(most - codes(6, 4), rows * 3 + (256 - 16) * DIM * 4);
}

#[test]
fn pq_takes_all_of_a_short_vector_and_no_more_centroids_than_rows_can_place() {
    for (rows, factory) in [(1, "PQ12x4np"), (1_247, "PQ12x4np"), (1_248, "PQ12x5np")] {
        let (_, text) = built(FaissStore::PQ, rows, &[]);
        assert!(text.contains(&format!("\"factory\": \"{factory}\"")), "{rows} rows: {text}");
    }
}

#[test]
fn a_pq_m_that_does_not_divide_dim_is_refused() {
    let data = vectors(50);
    let dir = tempfile::tempdir().unwrap();
    for m in [5, 13] {
        let spec = spec(FaissStore::PQ, Metric::Ip, &[("pq-m", m)]);
        let base = MatrixView::new(&data, DIM);
        let error = FaissStore::PQ.build(base, &spec, dir.path(), &Silent).unwrap_err();
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error}");
        assert_eq!(error.kind(), Kind::Data);
        assert!(error.to_string().ends_with(&format!("dim 12 is not a multiple of pq-m = {m}")));
    }
}
