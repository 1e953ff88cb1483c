//! The `vprep` command: flags, printing, progress and exit codes. The work is done by
//! `vprep_pipeline`.

mod cli;
mod commands;
mod error;
mod output;
mod progress;
mod table;

use clap::Parser;
use cli::Cli;
use error::CliError;
use output::Output;
use progress::{Reporter, watch_signals};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use vprep_core::{Failure, Kind};
use vprep_manifest::Tool;
use vprep_pipeline::{Context, PipelineError};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(&cli.global);
    // A panic is a bug, and its message says where; the exit code is that of the unexpected.
    match catch_unwind(AssertUnwindSafe(|| start(&cli, &output))) {
        Ok(Ok(kind)) => kind.map_or(ExitCode::SUCCESS, |kind| kind.exit_code().into()),
        Ok(Err(error)) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Ok(Err(CliError::Pipeline(
            done @ (PipelineError::PartDone { .. } | PipelineError::ShardDone { .. }),
        ))) => {
            output.note(done);
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => {
            output.error(&error);
            error.kind().exit_code().into()
        }
        Err(_) => {
            output
                .error(&"vprep failed unexpectedly; this is a bug, please report the lines above");
            Kind::Unexpected.exit_code().into()
        }
    }
}

/// Sets up threads, signals and progress, and runs the command. The result is the kind of failure
/// that a command reports by exit code alone, its own output having said the rest.
fn start(cli: &Cli, output: &Output) -> Result<Option<Kind>, CliError> {
    if let Some(threads) = cli.global.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
        pool.build_global().map_err(|error| CliError::Threads(error.to_string()))?;
    }
    let reporter = Reporter::new(output.progress_mode(), watch_signals()?);
    let tool = Tool {
        name: "vprep".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("VPREP_COMMIT").map(str::to_owned),
    };
    let network = commands::network(&cli.command)?;
    let share = commands::share(&cli.command);
    let truth = commands::truth_options(&cli.command);
    let context = Context { progress: &reporter, tool, network, share, truth };
    commands::run(cli, output, &context)
}
