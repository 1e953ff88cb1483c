//! How long work reports its progress and learns that it should stop.

/// A sink for progress, and the one place where work asks whether to go on. Libraries never see
/// a terminal or a signal: they call this.
pub trait Progress: Sync {
    /// Starts a task of `total` units (`"rows"`, `"queries"`, `"B"` for bytes), 0 where nobody knows
    /// how many. It ends when the returned value is dropped.
    fn task(&self, label: &str, total: u64, unit: &'static str) -> Box<dyn Task>;

    /// Whether the user asked to stop.
    fn is_interrupted(&self) -> bool;

    /// Fails if the user asked to stop; work calls it at least a few times a second.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], which the caller passes up unchanged.
    fn check(&self) -> Result<(), Interrupted> {
        if self.is_interrupted() { Err(Interrupted) } else { Ok(()) }
    }
}

/// A running task.
pub trait Task: Send + Sync {
    /// Adds `units` done.
    fn advance(&self, units: u64);

    /// Adds to a second count of the same work, such as `"tokens"`, which is shown as a rate. It
    /// comes before the `advance` that it belongs to, and a task has one such unit.
    fn also(&self, _units: u64, _unit: &'static str) {}
}

/// The user asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Progress that nobody sees, and that never stops the work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn task(&self, _: &str, _: u64, _: &'static str) -> Box<dyn Task> {
        Box::new(Self)
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

impl Task for Silent {
    fn advance(&self, _: u64) {}
}
