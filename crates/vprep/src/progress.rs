//! Progress as a bar or as lines, and signals.

use crate::cli::ProgressMode;
use crate::error::CliError;
use crate::output::say;
use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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

struct Bar(ProgressBar);

impl Bar {
    fn new(label: &str, total: u64, unit: &'static str) -> Self {
        let counts = match unit {
            "B" => "{bytes}/{total_bytes}  {bytes_per_sec}".to_owned(),
            unit => format!("{{human_pos}}/{{human_len}} {unit}  {{per_sec}}"),
        };
        let template = format!("{{prefix}} {{bar:24}} {{percent:>3}}%  {counts}  {{eta}} left");
        let style = ProgressStyle::with_template(&template).expect("a fixed template");
        let bar = ProgressBar::new(total).with_style(style.progress_chars("=> "));
        bar.set_prefix(format!("{label:<18}"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }
}

impl Task for Bar {
    fn advance(&self, units: u64) {
        self.0.inc(units);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

struct Lines {
    label: String,
    total: u64,
    unit: &'static str,
    started: Instant,
    done: AtomicU64,
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
        let left = Duration::from_secs_f64(self.total.saturating_sub(done) as f64 / rate.max(1e-9));
        let amount = |n: u64| match self.unit {
            "B" => HumanBytes(n).to_string(),
            unit => format!("{} {unit}", HumanCount(n)),
        };
        say(&format!(
            "{}: {} of {}, {} a second, {} left",
            self.label,
            amount(done),
            amount(self.total),
            amount(rate as u64),
            HumanDuration(left)
        ));
    }
}
