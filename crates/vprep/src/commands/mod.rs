//! One file for each group of commands: parse what is meant, call the pipeline, print.

mod calibrate;
mod describe;
mod fetch;
mod recipe;
mod stage;
mod validate;

use crate::cli::{Cli, Command, EmbedArgs, FetchArgs, Global, PlanArgs, RunArgs, TruthArgs};
use crate::error::CliError;
use crate::output::Output;
use clap::CommandFactory;
use std::path::PathBuf;
use vprep_core::Kind;
use vprep_pipeline::{Context, Network, Share, TruthOptions, TruthPart, locate};

/// Runs the command that was typed.
pub(crate) fn run(
    cli: &Cli,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let global = &cli.global;
    match &cli.command {
        Command::Fetch(args) => fetch::fetch(args, output, context),
        Command::Run(args) => recipe::run(args, global, output, context),
        Command::Plan(args) => recipe::plan(&args.recipe, global, output, context),
        Command::Import(args) => stage::import(args, global, output, context),
        Command::Embed(args) => stage::embed(args, global, output, context),
        Command::Synth(args) => stage::synth(args, global, output, context),
        Command::Normalize(args) => stage::normalize(args, global, output, context),
        Command::Subset(args) => stage::subset(args, global, output, context),
        Command::Split(args) => stage::split(args, global, output, context),
        Command::Truth(args) => stage::truth(args, global, output, context),
        Command::Build(args) => stage::build(args, global, output, context),
        Command::Manifest => stage::manifest(global, output, context),
        Command::Calibrate(args) => calibrate::calibrate(args, global, output, context),
        Command::Validate(args) => validate::validate(args, global, output, context),
        Command::Stores => describe::stores(output),
        Command::Inspect(args) => describe::inspect(args, output, context),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "vprep", &mut script);
            output.print(&script)?;
            Ok(None)
        }
        Command::Man => {
            let mut page = Vec::new();
            render_manual(&mut page)?;
            output.print(&page)?;
            Ok(None)
        }
    }
}

/// What the command was told about the network.
pub(crate) fn network(command: &Command) -> Result<Network, CliError> {
    match command {
        Command::Run(RunArgs { network, .. })
        | Command::Plan(PlanArgs { network, .. })
        | Command::Embed(EmbedArgs { network, .. })
        | Command::Fetch(FetchArgs { network, .. }) => fetch::network(network),
        _ => Ok(Network::default()),
    }
}

/// Which checkpoints of an embedding the command was told to compute.
pub(crate) fn share(command: &Command) -> Share {
    let (Command::Run(RunArgs { share, .. }) | Command::Embed(EmbedArgs { share, .. })) = command
    else {
        return Share::All;
    };
    match share.shard {
        Some((index, count)) => Share::Part { index, count },
        None if share.assemble => Share::Nothing,
        None => Share::All,
    }
}

/// How the command was told to compute a truth.
pub(crate) fn truth_options(command: &Command) -> TruthOptions {
    match command {
        Command::Truth(TruthArgs { engine, verify, shard, merge, memory, .. }) => {
            let part = match *shard {
                Some((index, count)) => TruthPart::Shard { index, count },
                None if *merge => TruthPart::Merge,
                None => TruthPart::Whole,
            };
            let memory = memory.map(|size| size.as_u64());
            TruthOptions { engine: *engine, verify: *verify, part, memory }
        }
        _ => TruthOptions::default(),
    }
}

/// The dataset that a command is about.
fn dataset(global: &Global) -> Result<PathBuf, CliError> {
    match &global.dataset {
        Some(dir) => Ok(dir.clone()),
        None => Ok(locate()?),
    }
}

/// One page: the command, then every subcommand.
fn render_manual(page: &mut Vec<u8>) -> Result<(), CliError> {
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(page)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let man = clap_mangen::Man::new(sub.clone());
        page.extend(format!(".SH \"VPREP {}\"\n", sub.get_name().to_uppercase()).bytes());
        man.render_synopsis_section(page)?;
        man.render_description_section(page)?;
        man.render_options_section(page)?;
    }
    Ok(())
}
