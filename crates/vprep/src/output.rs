//! The one place that writes to the terminal: results to stdout, everything else to stderr.

use crate::cli::{ColorWhen, Global, ProgressMode};
use crate::error::CliError;
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use vprep_pipeline::Done;

/// What was asked of the output, resolved once.
pub(crate) struct Output {
    json: bool,
    quiet: bool,
    color: bool,
    progress: ProgressMode,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let terminal = io::stderr().is_terminal();
        let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_some_and(|term| term == "dumb");
        let progress = match global.progress {
            _ if global.quiet => ProgressMode::None,
            ProgressMode::Auto if terminal && !plain => ProgressMode::Bar,
            ProgressMode::Auto => ProgressMode::Lines,
            told => told,
        };
        let color = match global.color {
            ColorWhen::Auto => terminal && !plain,
            ColorWhen::Always => true,
            ColorWhen::Never => false,
        };
        Self { json: global.json, quiet: global.quiet, color, progress }
    }

    pub(crate) fn progress_mode(&self) -> ProgressMode {
        self.progress
    }

    /// Prints the result: `value` as JSON if asked, else the text.
    pub(crate) fn result(
        &self,
        value: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), CliError> {
        let text = if self.json {
            let json = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
            json + "\n"
        } else {
            text()
        };
        self.print(text.as_bytes())
    }

    /// Prints bytes to stdout.
    pub(crate) fn print(&self, bytes: &[u8]) -> Result<(), CliError> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        Ok(stdout.flush()?)
    }

    /// Says something on stderr, unless quiet.
    pub(crate) fn note(&self, text: impl Display) {
        if !self.quiet {
            say(&format!("{text}"));
        }
    }

    /// Says what came of a stage.
    pub(crate) fn stage(&self, done: &Done) {
        if done.ran {
            return self.done(&done.stage, done.seconds, &done.summary);
        }
        self.line(AnsiColor::BrightBlack, &done.stage, "up to date", &done.summary);
    }

    /// Says what came of some work that took `seconds`.
    pub(crate) fn done(&self, name: &str, seconds: f64, summary: &str) {
        self.line(AnsiColor::Green, name, &format!("{seconds:>7.1} s"), summary);
    }

    fn line(&self, color: AnsiColor, name: &str, state: &str, summary: &str) {
        let name = self.styled(&format!("{name:<18}"), color.on_default().bold());
        self.note(format!("{name} {state:>10}  {}", one_line(summary)));
    }

    /// Says what ended the command.
    pub(crate) fn error(&self, error: &impl Display) {
        let label = self.styled("error:", AnsiColor::Red.on_default().bold());
        // One fault, one line, whatever a library puts into its message.
        say(&format!("{label} {}", one_line(&error.to_string())));
    }

    fn styled(&self, text: &str, style: Style) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// The text with its control characters escaped: a file name cannot break a line or colour it.
pub(crate) fn one_line(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    text.chars().map(escape).collect()
}

/// Writes a line to stderr. If nobody reads it, nobody needs to know.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
