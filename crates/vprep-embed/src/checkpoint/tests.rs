//! Checkpoints of the tiny model.

use super::*;
use crate::test_model;
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom};
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;
use vprep_core::{Failure, Interrupted, Kind, Silent, Task};

const ROWS: u64 = 25;

fn embedder() -> Embedder {
    let dir = tempfile::tempdir().expect("a directory");
    test_model::write(dir.path(), false);
    test_model::load(dir.path()).expect("loads")
}

fn text(row: u64) -> String {
    let words = ["one", "two", "three", "ones", "red"];
    let word = |i: u64| words[(row * 7 + i * (row + 3)) as usize % words.len()];
    (0..1 + row % 20).map(word).collect::<Vec<_>>().join(" ")
}

fn texts(rows: Range<u64>) -> Result<Vec<String>, EmbedError> {
    Ok(rows.map(text).collect())
}

fn plan(embedder: &Embedder) -> Plan {
    let fingerprint = Fingerprint::new(embedder, Role::Base, "of the texts".to_owned());
    Plan { rows: ROWS, checkpoint_rows: 4, dim: embedder.dim(), fingerprint }
}

fn open(dir: &TempDir, embedder: &Embedder) -> Checkpoints {
    Checkpoints::open(dir.path(), plan(embedder), &Silent).expect("opens")
}

fn compute(checkpoints: &mut Checkpoints, embedder: &Embedder, shard: Shard) -> usize {
    checkpoints.compute(embedder, Role::Base, shard, false, texts, &Silent).expect("computes")
}

fn assemble(checkpoints: &Checkpoints) -> (Vec<f32>, Totals) {
    let mut all = Vec::new();
    let totals = checkpoints
        .assemble(
            |values| {
                all.extend_from_slice(values);
                Ok::<_, EmbedError>(())
            },
            &Silent,
        )
        .expect("assembles");
    (all, totals)
}

fn in_one_go(embedder: &Embedder) -> Vec<f32> {
    let all = texts(0..ROWS).expect("texts");
    let mut out = vec![0.0; all.len() * embedder.dim()];
    embedder.embed(&all, Role::Base, 0, &mut out, &Silent, &Silent).expect("embeds");
    out
}

#[test]
fn what_is_computed_once_is_never_computed_again() {
    let (dir, embedder) = (tempfile::tempdir().expect("a directory"), embedder());
    let mut checkpoints = open(&dir, &embedder);
    assert_eq!(checkpoints.missing(), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(compute(&mut checkpoints, &embedder, Shard::ALL), 7);
    let (all, totals) = assemble(&checkpoints);
    assert_eq!(all, in_one_go(&embedder));
    let long = (0..ROWS).filter(|row| text(*row).replace("ones", "one s").split(' ').count() > 14);
    assert_eq!((totals.rows, totals.truncated), (ROWS, long.count() as u64));

    let mut again = open(&dir, &embedder);
    let never = |_| -> Result<Vec<String>, EmbedError> { panic!("texts were asked for") };
    let computed = again.compute(&embedder, Role::Base, Shard::ALL, false, never, &Silent);
    assert_eq!(computed.expect("nothing to do"), 0);
}

#[test]
fn a_damaged_checkpoint_is_computed_again() {
    let (dir, embedder) = (tempfile::tempdir().expect("a directory"), embedder());
    compute(&mut open(&dir, &embedder), &embedder, Shard::ALL);
    let path = dir.path().join("000002.f32");
    let mut file = OpenOptions::new().write(true).open(&path).expect("opens");
    file.seek(SeekFrom::Start(100)).and_then(|_| file.write_all(&[0x55])).expect("writes");
    let cut = OpenOptions::new().write(true).open(dir.path().join("000004.f32")).expect("opens");
    cut.set_len(16).expect("cuts");
    test_model::put(dir.path(), "000005.json", "{");
    fs::remove_file(dir.path().join("000006.json")).expect("removes");
    let mut checkpoints = open(&dir, &embedder);
    assert_eq!(checkpoints.missing(), [2, 4, 5, 6]);
    compute(&mut checkpoints, &embedder, Shard::ALL);
    assert_eq!(assemble(&checkpoints).0, in_one_go(&embedder));
}

#[test]
fn shards_put_together_are_the_whole() {
    let embedder = embedder();
    let (first, second) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("two"));
    let shard = |index| Shard { index, count: 2 };
    assert_eq!(compute(&mut open(&first, &embedder), &embedder, shard(0)), 4);
    assert_eq!(compute(&mut open(&second, &embedder), &embedder, shard(1)), 3);
    let error = open(&first, &embedder)
        .assemble(|_| Ok::<_, EmbedError>(()), &Silent)
        .expect_err("half")
        .to_string();
    assert!(error.contains("checkpoints 1, 3, 5 of 7 (counted from 0) are missing"), "{error}");
    for entry in fs::read_dir(second.path()).expect("lists") {
        let path = entry.expect("reads").path();
        fs::copy(&path, first.path().join(path.file_name().expect("a name"))).expect("copies");
    }
    assert_eq!(assemble(&open(&first, &embedder)).0, in_one_go(&embedder));
    let error = open(&first, &embedder)
        .compute(&embedder, Role::Base, shard(2), false, texts, &Silent)
        .expect_err("no such shard");
    assert_eq!(error.to_string(), "--shard 2/2 does not exist; it must be from 0/2 to 1/2");
}

#[test]
fn another_run_is_refused_and_told_what_differs() {
    let (dir, embedder) = (tempfile::tempdir().expect("a directory"), embedder());
    open(&dir, &embedder);
    let same = plan(&embedder);
    let refusal = |plan: Plan| {
        let error = Checkpoints::open(dir.path(), plan, &Silent).expect_err("another run");
        assert_eq!(error.kind(), Kind::Data);
        error.to_string()
    };
    let with = |change: &dyn Fn(&mut Plan)| {
        let mut plan = same.clone();
        change(&mut plan);
        refusal(plan)
    };
    let text = with(&|plan| plan.fingerprint.texts = "others".to_owned());
    assert!(text.contains("were made with other texts;"), "{text}");
    let text = with(&|plan| {
        plan.fingerprint.model = "another".to_owned();
        plan.fingerprint.options = "others".to_owned();
    });
    assert!(text.contains("were made with another model and other options;"), "{text}");
    let text = with(&|plan| plan.checkpoint_rows = 5);
    assert!(text.contains("were made with another --checkpoint-rows;"), "{text}");
}

#[test]
fn checkpoints_of_cpus_and_gpus_are_not_mixed() {
    let settings = embedder().facts().settings.clone();
    let of = |backend| options(&settings, Role::Base, backend);
    assert_eq!(of(Backend::Cuda(0)), of(Backend::Cuda(1)));
    assert_ne!(of(Backend::Cuda(0)), of(Backend::default()));
    assert_eq!(of(Backend::Candle), of(Backend::default()));
}

#[test]
fn empty_texts_stop_the_run_unless_allowed() {
    let (dir, embedder) = (tempfile::tempdir().expect("a directory"), embedder());
    let source = |rows: Range<u64>| {
        let text = |row| if row == 5 { String::new() } else { text(row) };
        Ok::<_, EmbedError>(rows.map(text).collect())
    };
    let mut checkpoints = open(&dir, &embedder);
    let mut run =
        |allow| checkpoints.compute(&embedder, Role::Base, Shard::ALL, allow, source, &Silent);
    let error = run(false).expect_err("an empty text").to_string();
    assert!(error.starts_with("row 5 of the base hold no text"), "{error}");
    assert_eq!(run(true).expect("allowed"), 6);
    assert_eq!(assemble(&checkpoints).1.empty_first, [5]);
}

/// Asks to stop at the n-th question.
struct StopAt(AtomicUsize);

impl Progress for StopAt {
    fn task(&self, _: &str, _: u64, _: &'static str) -> Box<dyn Task> {
        Box::new(Silent)
    }

    fn is_interrupted(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err()
    }
}

#[test]
fn a_run_interrupted_anywhere_ends_with_the_same_bytes() {
    let embedder = embedder();
    let whole = in_one_go(&embedder);
    for first in [0, 3, 7, 11] {
        let dir = tempfile::tempdir().expect("a directory");
        let (mut stops, mut computed) = (0, 0);
        loop {
            let progress = StopAt(AtomicUsize::new(first + 9 * stops));
            let result =
                Checkpoints::open(dir.path(), plan(&embedder), &progress).and_then(|mut c| {
                    let before = c.missing().len();
                    let result =
                        c.compute(&embedder, Role::Base, Shard::ALL, false, texts, &progress);
                    computed += before - c.missing().len();
                    result
                });
            match result {
                Ok(_) => break,
                Err(EmbedError::Interrupted(Interrupted)) => stops += 1,
                Err(EmbedError::Data(DataError::Interrupted(_))) => stops += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(stops > 0);
        assert_eq!(computed, 7, "no checkpoint twice");
        assert_eq!(assemble(&open(&dir, &embedder)).0, whole);
    }
}
