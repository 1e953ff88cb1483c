//! Progress as a bar or as lines, and signals.

use crate::cli::ProgressMode;
use crate::error::CliError;
use crate::output::say;
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use vprep_core::{Kind, Progress, Task};

/// A task that ends sooner needs no line.
const FIRST_LINE: Duration = Duration::from_secs(5);
const NEXT_LINE: Duration = Duration::from_secs(30);

/// Sets a flag on SIGINT and SIGTERM; a second signal ends the process at once.
pub(crate) fn watch_signals() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let code = i32::from(Kind::Interrupted.exit_code());
        flag::register_conditional_shutdown(signal, code, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(CliError::Signals)?;
    }
    Ok(stop)
}

/// Shows progress on stderr.
pub(crate) struct Reporter {
    mode: ProgressMode,
    stop: Arc<AtomicBool>,
}

impl Reporter {
    pub(crate) fn new(mode: ProgressMode, stop: Arc<AtomicBool>) -> Self {
        Self { mode, stop }
    }
}

impl Progress for Reporter {
    fn task(&self, label: &str, total: u64, unit: &'static str) -> Box<dyn Task> {
        match self.mode {
            ProgressMode::None => vprep_core::Silent.task(label, total, unit),
            ProgressMode::Bar | ProgressMode::Auto => Box::new(Bar::new(label, total, unit)),
            ProgressMode::Lines => Box::new(Lines::new(label, total, unit)),
        }
    }

    fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A second count of a task's work, shown as a rate beside the first.
#[derive(Default)]
struct Also {
    done: AtomicU64,
    unit: OnceLock<&'static str>,
}

impl Also {
    fn add(&self, units: u64, unit: &'static str) {
        self.unit.get_or_init(|| unit);
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    /// `, 8,801 tokens/s` where `rate` is that of the `done` units of the task; nothing if nothing
    /// was counted.
    fn shown(&self, done: u64, rate: f64) -> String {
        let Some(unit) = self.unit.get().filter(|_| done > 0) else { return String::new() };
        let each = self.done.load(Ordering::Relaxed) as f64 / done as f64;
        format!(", {} {unit}/s", HumanCount((rate * each) as u64))
    }
}

struct Bar {
    bar: ProgressBar,
    also: Arc<Also>,
}

impl Bar {
    fn new(label: &str, total: u64, unit: &'static str) -> Self {
        let template = match total {
            0 => "{prefix} {spinner}  {counts}",
            _ => "{prefix} [{bar:10}] {percent:>3}%  {counts}  {eta} left",
        };
        let also = Arc::new(Also::default());
        let second = Arc::clone(&also);
        let counts = move |state: &ProgressState, out: &mut dyn Write| {
            let total = state.len().unwrap_or(0);
            let (done, rate) = (state.pos(), state.per_sec());
            let (counts, also) = (counts(done, total, unit, rate), second.shown(done, rate));
            let _ = write!(out, "{counts}{also}");
        };
        let style = ProgressStyle::with_template(template).expect("a fixed template");
        let style = style.with_key("counts", counts).progress_chars("=> ");
        let bar = if total == 0 { ProgressBar::no_length() } else { ProgressBar::new(total) };
        let bar = bar.with_style(style);
        bar.set_prefix(label.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, also }
    }
}

impl Task for Bar {
    fn advance(&self, units: u64) {
        self.bar.inc(units);
    }

    fn also(&self, units: u64, unit: &'static str) {
        self.also.add(units, unit);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

struct Lines {
    label: String,
    total: u64,
    unit: &'static str,
    started: Instant,
    done: AtomicU64,
    also: Also,
    /// Milliseconds after the start at which the next line is due.
    due: AtomicU64,
}

impl Lines {
    fn new(label: &str, total: u64, unit: &'static str) -> Self {
        Self {
            label: label.to_owned(),
            total,
            unit,
            started: Instant::now(),
            done: AtomicU64::new(0),
            also: Also::default(),
            due: AtomicU64::new(FIRST_LINE.as_millis() as u64),
        }
    }
}

impl Task for Lines {
    fn advance(&self, units: u64) {
        let done = self.done.fetch_add(units, Ordering::Relaxed) + units;
        let elapsed = self.started.elapsed();
        let now = elapsed.as_millis() as u64;
        let due = self.due.load(Ordering::Relaxed);
        let next = now + NEXT_LINE.as_millis() as u64;
        if now < due
            || self.due.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        let rate = done as f64 / elapsed.as_secs_f64();
        let counts = counts(done, self.total, self.unit, rate) + &self.also.shown(done, rate);
        if self.total == 0 {
            return say(&format!("{}: {counts}", self.label));
        }
        let left = Duration::from_secs_f64(self.total.saturating_sub(done) as f64 / rate.max(1e-9));
        say(&format!("{}: {counts}, {} left", self.label, HumanDuration(left)));
    }

    fn also(&self, units: u64, unit: &'static str) {
        self.also.add(units, unit);
    }
}

/// `225k of 302k rows, 43.9k/s`, or `225k rows, 43.9k/s` where nobody knows the total.
fn counts(done: u64, total: u64, unit: &str, rate: f64) -> String {
    if total == 0 {
        return format!("{} {unit}, {}/s", short(done as f64), short(rate));
    }
    format!("{} of {} {unit}, {}/s", short(done as f64), short(total as f64), short(rate))
}

/// A count in three digits or so: `812`, `43.9k`, `600M`.
fn short(n: f64) -> String {
    let (value, unit) = match n {
        n if n < 1e3 => return format!("{n:.0}"),
        n if n < 1e6 => (n / 1e3, "k"),
        n if n < 1e9 => (n / 1e6, "M"),
        n if n < 1e12 => (n / 1e9, "G"),
        n => (n / 1e12, "T"),
    };
    if value < 99.95 { format!("{value:.1}{unit}") } else { format!("{value:.0}{unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        let shown = [0.0, 812.0, 43_919.2, 99_960.0, 225_280.0, 600e6, 6e11, 138e12];
        let expected = ["0", "812", "43.9k", "100k", "225k", "600M", "600G", "138T"];
        assert_eq!(shown.map(short), expected);
        assert_eq!(counts(5_000, 302_000, "rows", 1e6), "5.0k of 302k rows, 1.0M/s");
        assert_eq!(counts(5_000, 0, "B", 1e6), "5.0k B, 1.0M/s");
    }

    #[test]
    fn a_second_count_is_shown_as_a_rate() {
        let also = Also::default();
        assert_eq!(also.shown(10, 350.0), "");
        also.add(1_000, "tokens");
        assert_eq!(also.shown(0, 0.0), "");
        also.add(257, "tokens");
        assert_eq!(also.shown(50, 350.07), ", 8,800 tokens/s");
    }
}
