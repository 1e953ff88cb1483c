//! What is stale, why, and what running again does about it.

#![expect(clippy::disallowed_methods, reason = "a test spoils files on purpose")]

use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use vprep_core::Silent;
use vprep_manifest::Recipe;
use vprep_pipeline::{Context, Dataset, PipelineError, Reason, plan};

const RECIPE: &str = r#"
schema = 1
name = "x"

[synth]
rows = 400
dim = 6
queries = 30

[normalize]

[subset]
rows = 200
seed = 5

[split]
calibration = 10

[truth]
k = 10

[build.flat]

[calibrate]
target = [0.9]
k = [10]

[manifest]

[validate]
"#;

/// A dataset that the recipe has made.
struct Made {
    _home: TempDir,
    dir: PathBuf,
    context: Context<'static>,
}

impl Made {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let dir = home.path().join("x");
        let made = Self { _home: home, dir, context: Context::new(&Silent) };
        made.run(&recipe());
        made
    }

    fn dataset(&self, recipe: &Recipe) -> Dataset<'_> {
        Dataset::for_recipe(recipe, Path::new("."), &self.dir, &self.context).expect("opens")
    }

    /// Runs a recipe and returns the stages that ran.
    fn run(&self, recipe: &Recipe) -> Vec<String> {
        let mut ran = Vec::new();
        let note = |done: &vprep_pipeline::Done| {
            if done.ran {
                ran.push(done.stage.clone());
            }
        };
        self.dataset(recipe).run_all(None, note).expect("runs");
        ran
    }

    /// The stale stages of a recipe and why.
    fn stale(&self, recipe: &Recipe) -> Vec<(String, Reason)> {
        let recipe = vprep_pipeline::resolve(recipe, Path::new("."), &self.dir).expect("resolves");
        let plan = plan(&recipe, &self.dir, &self.context).expect("plans");
        plan.steps.into_iter().filter_map(|s| Some((s.job.id(), s.stale?))).collect()
    }

    fn flip(&self, file: &str) {
        let path = self.dir.join(file);
        let mut bytes = fs::read(&path).expect("reads");
        *bytes.last_mut().expect("not empty") ^= 1;
        fs::write(path, bytes).expect("writes");
    }
}

fn recipe() -> Recipe {
    Recipe::parse(RECIPE).expect("legal")
}

fn names(stale: &[(String, Reason)]) -> Vec<&str> {
    stale.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn nothing_is_stale_after_a_run_even_without_a_stated_dimension() {
    let made = Made::new();
    assert_eq!(made.stale(&recipe()), []);
    assert_eq!(made.run(&recipe()), [""; 0]);
    let text = fs::read_to_string(made.dir.join("dataset.toml")).expect("reads");
    assert!(text.contains("dim = 6"), "{text}");
}

#[test]
fn a_spoiled_base_makes_every_writer_of_it_and_all_downstream_stale() {
    let made = Made::new();
    made.flip("base.f32.npy");
    let stale = made.stale(&recipe());
    assert_eq!(
        names(&stale),
        [
            "synth",
            "normalize.base",
            "normalize.queries",
            "subset",
            "split",
            "truth",
            "build.flat",
            "calibrate.flat",
            "manifest",
            "validate"
        ]
    );
    assert_eq!(stale[3].1, Reason::OutputChanged("base.f32.npy".into()));
    let by = "subset".to_owned();
    assert_eq!(stale[1].1, Reason::Replaced { file: "base.f32.npy".into(), by });
    // What comes out the same makes nothing after it run.
    assert_eq!(made.run(&recipe()), ["synth", "normalize.base", "normalize.queries", "subset"]);
    assert_eq!(made.stale(&recipe()), []);
}

#[test]
fn a_spoiled_leaf_is_made_again_alone() {
    let made = Made::new();
    made.flip("truth.scores.npy");
    assert_eq!(made.stale(&recipe())[0].1, Reason::OutputChanged("truth.scores.npy".into()));
    assert_eq!(made.run(&recipe()), ["truth"]);
    fs::remove_file(made.dir.join("splits.json")).expect("removes");
    assert_eq!(made.stale(&recipe())[0].1, Reason::OutputMissing("splits.json".into()));
    assert_eq!(made.run(&recipe()), ["split"]);
}

#[test]
fn a_parameter_makes_its_stage_and_what_follows_stale() {
    let made = Made::new();
    let mut changed = recipe();
    changed.split.as_mut().expect("given").seed = 9;
    let stale = made.stale(&changed);
    assert_eq!(names(&stale), ["split", "calibrate.flat", "manifest", "validate"]);
    assert_eq!(stale[0].1, Reason::Parameters);
    assert_eq!(stale[1].1, Reason::Upstream("split".into()));
    assert_eq!(made.run(&changed), ["split", "calibrate.flat", "manifest", "validate"]);
    assert_eq!(made.stale(&changed), []);
}

#[test]
fn a_command_refuses_an_input_that_is_out_of_date() {
    let made = Made::new();
    made.flip("base.f32.npy");
    let mut dataset = Dataset::open(&made.dir, &made.context).expect("opens");
    dataset.edit(|recipe| recipe.truth.as_mut().expect("given").k = 5).expect("legal");
    let error = dataset.run_command(|job| job.command() == "truth").expect_err("stale");
    assert!(matches!(error, PipelineError::StaleInput { .. }), "{error}");
    assert!(error.to_string().contains("subset is stale (base.f32.npy is not as it was written)"));
}

#[test]
fn a_run_ends_where_it_is_told_to() {
    let made = Made::new();
    made.flip("base.f32.npy");
    made.flip("truth.ids.npy");
    let mut ran = Vec::new();
    let mut dataset = made.dataset(&recipe());
    dataset.run_all(Some("split"), |done| ran.push(done.stage.clone())).expect("runs");
    assert_eq!(ran.last().map(String::as_str), Some("split"));
    drop(dataset);
    assert_eq!(names(&made.stale(&recipe()))[0], "truth");
}

#[test]
fn another_dataset_is_not_written_over() {
    let made = Made::new();
    let mut other = recipe();
    other.name = "y".to_owned();
    let error = Dataset::for_recipe(&other, Path::new("."), &made.dir, &made.context).err();
    assert!(matches!(error, Some(PipelineError::OtherDataset { .. })), "{error:?}");
}
