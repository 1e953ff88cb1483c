//! FAISS counts what its IVF indexes do, for the whole process: this test runs alone in its own.
#![allow(unsafe_code)] // the counters have no safe form

use std::collections::BTreeMap;
use vprep_core::{MatrixView, Metric, Silent, sample::mix};
use vprep_store::{BuildSpec, Store, resolve_parameters};
use vprep_store_faiss::FaissStore;

#[test]
fn nprobe_lists_are_visited_and_no_more() {
    let data: Vec<f32> = (0..4_000 * 8).map(|i| (mix(i) >> 40) as f32).collect();
    let base = MatrixView::new(&data, 8);
    let store = FaissStore::IVF;
    let given = BTreeMap::from([("nlist".to_owned(), 100)]);
    let parameters = resolve_parameters(store.info(), &given).unwrap();
    let spec =
        BuildSpec { name: String::new(), metric: Metric::L2, unit_length: false, parameters };
    let dir = tempfile::tempdir().unwrap();
    store.build(base, &spec, dir.path(), &Silent).unwrap();
    let index = store.open(dir.path(), base).unwrap();
    // One thread, as the counters have no lock.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for nprobe in [3, 40] {
        // SAFETY: the counters are a static of FAISS, and no search runs now.
        let stats = unsafe { faiss_sys::faiss_get_indexIVF_stats() };
        unsafe { faiss_sys::faiss_IndexIVFStats_reset(stats) };
        pool.install(|| index.search(base.slice(0..50), 5, Some(nprobe), &Silent)).unwrap();
        let (queries, lists, compared) = unsafe { ((*stats).nq, (*stats).nlist, (*stats).ndis) };
        assert_eq!((queries, lists), (50, 50 * nprobe as usize));
        let scan = 50 * 4_000;
        assert!(compared > 0 && compared < scan, "{compared} of {scan} rows compared");
    }
}
