//! The commands that run one stage: each puts its table into the dataset's recipe and runs it.

use super::dataset;
use crate::cli::{
    BuildArgs, EmbedArgs, Global, ImportArgs, NormalizeArgs, SplitArgs, SubsetArgs, SynthArgs,
    TruthArgs,
};
use crate::error::CliError;
use crate::output::Output;
use bytesize::ByteSize;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use vprep_core::Kind;
use vprep_manifest::{
    BuildTable, EmbedTable, ImportTable, ManifestTable, NormalizeTable, Recipe, SCHEMA, SplitTable,
    SubsetTable, SynthTable, TextsTable, TruthTable,
};
use vprep_pipeline::{
    Context, Dataset, Done, Job, Side, check_device, model, parent_dataset, quarter_of_memory,
    read_dataset, source_files, verify_truth,
};

/// What a stage's command prints with `--json`.
#[derive(Serialize)]
struct StageReport<'a> {
    schema: u32,
    dataset: String,
    stages: &'a [Done],
}

pub(crate) fn import(
    args: &ImportArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let dir = dataset(global)?;
    let table = ImportTable {
        files: source_files(&args.files, Path::new(""), &dir)?,
        vector_column: args.vector_column.clone(),
        id_column: args.id_column.clone(),
    };
    let target = Dataset::open_or_create(&dir, args.metric, context)?;
    let edit = |recipe: &mut Recipe| {
        let import = recipe.import.get_or_insert_default();
        match args.role {
            Side::Base => import.base = Some(table),
            Side::Queries => import.queries = Some(table),
        }
    };
    finish(target, edit, |job| matches!(job, Job::Import(side, _) if *side == args.role), output)
}

pub(crate) fn embed(
    args: &EmbedArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    check_device(args.device)?;
    let dir = dataset(global)?;
    let here = Path::new("");
    let texts = TextsTable {
        texts: source_files(&args.texts, here, &dir)?,
        text_column: args.text_column.clone(),
        id_column: args.id_column.clone(),
        title_column: args.title_column.clone(),
    };
    let model = model(&args.model, here, &dir)?;
    let target = Dataset::open_or_create(&dir, args.metric, context)?;
    let edit = |recipe: &mut Recipe| {
        let before = recipe.embed.take().unwrap_or_default();
        let (base, queries) = match args.role {
            Side::Base => (Some(texts), before.queries),
            Side::Queries => (before.base, Some(texts)),
        };
        recipe.embed = Some(EmbedTable {
            model,
            revision: args.revision.clone(),
            pooling: args.pooling,
            max_length: args.max_length,
            query_prefix: args.query_prefix.clone(),
            base_prefix: args.base_prefix.clone(),
            checkpoint_rows: args.checkpoint_rows,
            allow_empty: args.allow_empty,
            device: args.device,
            base,
            queries,
        });
    };
    let wanted = |job: &Job| match job {
        Job::Texts(side, _) | Job::Embed(side, _) => *side == args.role,
        _ => false,
    };
    finish(target, edit, wanted, output)
}

pub(crate) fn synth(
    args: &SynthArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let target = Dataset::open_or_create(&dataset(global)?, args.metric, context)?;
    let table = SynthTable {
        rows: args.rows,
        dim: args.dim,
        queries: args.queries,
        seed: args.seed,
        clusters: args.clusters,
    };
    finish(target, |r| r.synth = Some(table), |job| matches!(job, Job::Synth(_)), output)
}

pub(crate) fn normalize(
    args: &NormalizeArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let target = Dataset::open(&dataset(global)?, context)?;
    let table = NormalizeTable { zero: args.zero };
    finish(target, |r| r.normalize = Some(table), |job| matches!(job, Job::Normalize(..)), output)
}

pub(crate) fn subset(
    args: &SubsetArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let dir = dataset(global)?;
    let parent = read_dataset(&args.from)?;
    let from = parent_dataset(&args.from, &dir)?;
    let target = Dataset::open_or_create(&dir, Some(parent.metric), context)?;
    let keep_relevant = match args.keep_relevant.as_slice() {
        [] => Vec::new(),
        files => source_files(files, Path::new(""), &dir)?,
    };
    let table = SubsetTable { from: Some(from), rows: args.rows, seed: args.seed, keep_relevant };
    finish(target, |r| r.subset = Some(table), |job| matches!(job, Job::Subset(_)), output)
}

pub(crate) fn split(
    args: &SplitArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let target = Dataset::open(&dataset(global)?, context)?;
    let table = SplitTable { calibration: args.calibration, seed: args.seed };
    finish(target, |r| r.split = Some(table), |job| matches!(job, Job::Split(_)), output)
}

pub(crate) fn truth(
    args: &TruthArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    args.engine.check()?;
    let dir = dataset(global)?;
    let target = Dataset::open(&dir, context)?;
    let table = TruthTable { k: args.k, metric: args.metric };
    if args.memory.is_none() {
        let memory = ByteSize(quarter_of_memory());
        output.note(format_args!(
            "truth: a block of queries takes at most {memory} of memory, a quarter of what there is; \
             --memory sets it"
        ));
    }
    let wanted = |job: &Job| matches!(job, Job::Truth(_));
    let done = run(target, |r| r.truth = Some(table), wanted, output)?;
    if args.verify > 0 && done.iter().all(|done| !done.ran) {
        let clock = Instant::now();
        let verified = verify_truth(&dir, args.verify, context)?;
        let summary = format!("{verified} queries are as the plain reference answers them");
        output.done("verify", clock.elapsed().as_secs_f64(), &summary);
    }
    Ok(None)
}

pub(crate) fn build(
    args: &BuildArgs,
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    vprep_pipeline::stores::find(&args.store)?;
    let target = Dataset::open(&dataset(global)?, context)?;
    let given = [("m", args.m), ("ef-construction", args.ef_construction)];
    let table: BuildTable =
        given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    let edit = |recipe: &mut Recipe| drop(recipe.build.insert(args.store.clone(), table));
    finish(target, edit, |job| matches!(job, Job::Build(store, _) if *store == args.store), output)
}

pub(crate) fn manifest(
    global: &Global,
    output: &Output,
    context: &Context<'_>,
) -> Result<Option<Kind>, CliError> {
    let dir = dataset(global)?;
    let target = Dataset::open(&dir, context)?;
    let edit = |recipe: &mut Recipe| recipe.manifest = Some(ManifestTable {});
    finish(target, edit, |job| *job == Job::Manifest, output)
}

/// Runs a command's stages, and says what came of them.
fn run(
    mut target: Dataset<'_>,
    edit: impl FnOnce(&mut Recipe),
    wanted: impl Fn(&Job) -> bool,
    output: &Output,
) -> Result<Vec<Done>, CliError> {
    target.edit(edit)?;
    let done = target.run_command(wanted)?;
    done.iter().for_each(|done| output.stage(done));
    let dataset = target.dir().display().to_string();
    let report = StageReport { schema: SCHEMA, dataset, stages: &done };
    output.result(&report, String::new)?;
    Ok(done)
}

fn finish(
    target: Dataset<'_>,
    edit: impl FnOnce(&mut Recipe),
    wanted: impl Fn(&Job) -> bool,
    output: &Output,
) -> Result<Option<Kind>, CliError> {
    run(target, edit, wanted, output).map(|_| None)
}
