//! Progress that does something at a stage of the work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vprep_core::{Progress, Task};

/// Calls `act` once, as soon as the task `label` runs; from then on the user has asked to stop if
/// `act` says so.
pub(crate) struct At<F> {
    label: &'static str,
    act: Mutex<Option<F>>,
    running: AtomicBool,
    stopped: AtomicBool,
}

impl<F: FnOnce() -> bool + Send> At<F> {
    pub(crate) fn new(label: &'static str, act: F) -> Self {
        let (running, stopped) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { label, act: Mutex::new(Some(act)), running, stopped }
    }
}

impl<F: FnOnce() -> bool + Send> Progress for At<F> {
    fn task(&self, label: &str, _: u64, _: &'static str) -> Box<dyn Task> {
        self.running.store(label == self.label, Ordering::SeqCst);
        Box::new(vprep_core::Silent)
    }

    fn is_interrupted(&self) -> bool {
        if self.running.load(Ordering::SeqCst)
            && let Some(act) = self.act.lock().unwrap().take()
        {
            // Elsewhere, as it may want a runtime of its own.
            let stop = std::thread::scope(|scope| scope.spawn(act).join()).unwrap();
            self.stopped.store(stop, Ordering::SeqCst);
        }
        self.stopped.load(Ordering::SeqCst)
    }
}

/// Counts the units of every task.
#[derive(Default)]
pub(crate) struct Counting {
    tasks: Mutex<Vec<(String, u64, std::sync::Arc<AtomicU64>)>>,
}

impl Counting {
    /// Label, total and units done of each task.
    pub(crate) fn done(&self) -> Vec<(String, u64, u64)> {
        let tasks = self.tasks.lock().unwrap();
        tasks.iter().map(|(l, total, n)| (l.clone(), *total, n.load(Ordering::SeqCst))).collect()
    }
}

impl Progress for Counting {
    fn task(&self, label: &str, total: u64, _: &'static str) -> Box<dyn Task> {
        let count = std::sync::Arc::new(AtomicU64::new(0));
        self.tasks.lock().unwrap().push((label.to_owned(), total, count.clone()));
        Box::new(Count(count))
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

struct Count(std::sync::Arc<AtomicU64>);

impl Task for Count {
    fn advance(&self, units: u64) {
        self.0.fetch_add(units, Ordering::SeqCst);
    }
}
