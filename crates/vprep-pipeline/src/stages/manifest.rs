//! `manifest`: everything that is known of the dataset, tied together by digests.

use super::{Outcome, grouped};
use crate::PipelineError;
use crate::dataset::{
    DATASET_TOML, MANIFEST, SPLITS, Side, TRUTH_IDS, TRUTH_SCORES, TRUTH_STATS, index_dir,
};
use crate::facts::{
    BuildFacts, EmbedFacts, FetchStageFacts, ImportFacts, ManifestFacts, NormalizeFacts, TextsFacts,
};
use crate::job::{Job, jobs, portable};
use crate::matrix;
use crate::record::{self, Record};
use crate::run::Stage;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::time::SystemTime;
use vprep_data::{DataError, MappedNpy, content, files_below, slashed};
use vprep_manifest::{
    Counts, EmbeddingFacts, FileEntry, Manifest, Normalization, Role, Run, SCHEMA, StoreFacts,
    canonical_json, sha256,
};

/// Name of the stage that fetches.
pub(crate) const FETCH: &str = "fetch";

pub(crate) fn run(stage: &mut Stage<'_>) -> Result<Outcome, PipelineError> {
    let (dir, progress) = (stage.dir, stage.context.progress);
    let base = MappedNpy::<f32>::open(&dir.join(Side::Base.vectors()))?;
    let path = dir.join(Side::Queries.vectors());
    let has_queries = stage.inputs.contains_key(Side::Queries.vectors());
    let queries = has_queries.then(|| MappedNpy::<f32>::open(&path)).transpose()?;
    let counts = Counts {
        base: base.rows() as u64,
        queries: queries.as_ref().map_or(0, |queries| queries.rows() as u64),
    };
    let mut unit_length = matrix::norms(base.blocks(), progress)?.unit;
    if let Some(queries) = &queries {
        unit_length &= matrix::norms(queries.blocks(), progress)?.unit;
    }

    let earlier: Vec<Job> =
        jobs(stage.recipe, dir).into_iter().take_while(|job| *job != Job::Manifest).collect();
    let facts = Facts::of(stage, &earlier)?;
    let (about, fetched) = match facts.get::<FetchStageFacts>(FETCH)? {
        Some(facts) => (facts.about, Some(facts.fetched)),
        None => (None, None),
    };
    let mut source_files = Vec::new();
    for side in Side::BOTH {
        let import: Option<ImportFacts> = facts.get(&format!("import.{}", side.name()))?;
        source_files.extend(import.into_iter().flat_map(|import| import.files));
        let texts: Option<TextsFacts> = facts.get(&format!("texts.{}", side.name()))?;
        source_files.extend(texts.into_iter().flat_map(|texts| texts.files));
    }
    let base_norms: Option<NormalizeFacts> = facts.get("normalize.base")?;
    let query_norms: Option<NormalizeFacts> = facts.get("normalize.queries")?;
    let mut stores = BTreeMap::new();
    for job in &earlier {
        if let Job::Build(store, _) = job {
            let Some(build) = facts.get::<BuildFacts>(&job.id())? else { continue };
            let cells = facts.get(&format!("calibrate.{store}"))?.unwrap_or_default();
            let index = stage.inputs.get(&index_dir(store));
            let index_sha256 = index.map(|index| index.sha256.clone()).unwrap_or_default();
            let BuildFacts { engine, version, knob, parameters } = build;
            let store_facts = StoreFacts { engine, version, knob, parameters, index_sha256, cells };
            stores.insert(store.clone(), store_facts);
        }
    }
    let mut manifest = Manifest {
        schema: SCHEMA,
        name: stage.recipe.name.clone(),
        metric: stage.recipe.metric,
        dim: base.cols() as u32,
        element_type: "f32".to_owned(),
        unit_length,
        counts,
        files: files(stage, counts)?,
        source: stage.recipe.source.clone().or(about),
        fetched,
        source_files,
        embedding: embedding(&facts)?,
        normalization: base_norms.map(|base| Normalization {
            zero: base.zero,
            base: base.norms,
            queries: query_norms.map(|queries| queries.norms),
        }),
        subset: facts.get("subset")?,
        split: facts.get("split")?,
        truth: facts.get("truth")?,
        stores,
        recipe: portable(stage.recipe),
        tool: stage.context.tool.clone(),
        digest: String::new(),
        run: run_facts(&facts),
    };
    manifest.digest = manifest.computed_digest();
    stage.outputs.write(MANIFEST, &canonical_json(&manifest))?;
    let summary = format!(
        "{} files, {} stores, digest {}",
        grouped(manifest.files.len() as u64),
        manifest.stores.len(),
        &manifest.digest[..12]
    );
    let facts = ManifestFacts {
        digest: manifest.digest,
        fetched: fetched_digest(facts.records.get(FETCH)),
    };
    Ok(Outcome::new(&facts, summary))
}

/// Digest of what a fetch found out: it can change, as with a licence, where no file does.
pub(crate) fn fetched_digest(record: Option<&Record>) -> Option<String> {
    record.map(|record| sha256(canonical_json(&record.facts).as_bytes()))
}

/// What the earlier stages found out. All of them: a manifest that leaves one out would say of its
/// outputs nothing that can be checked.
struct Facts {
    records: BTreeMap<String, Record>,
}

impl Facts {
    fn of(stage: &Stage<'_>, jobs: &[Job]) -> Result<Self, PipelineError> {
        let record = |job: &Job| match record::read(stage.dir, &job.id()) {
            Some(record) => Ok((job.id(), record)),
            None => Err(PipelineError::NoRecord {
                path: stage.dir.join(&job.writes(stage.dir)[0]),
                stage: job.id(),
                dataset_toml: stage.dir.join(DATASET_TOML),
            }),
        };
        Ok(Self { records: jobs.iter().map(record).collect::<Result<_, _>>()? })
    }

    /// The facts of a stage; none if the recipe has no such stage.
    fn get<T: DeserializeOwned>(&self, id: &str) -> Result<Option<T>, PipelineError> {
        let Some(record) = self.records.get(id) else { return Ok(None) };
        serde_json::from_value(record.facts.clone()).map(Some).map_err(|error| {
            let problem = format!("{error}; run the stage again");
            DataError::Malformed { path: record::path(id).into(), problem }.into()
        })
    }
}

/// The model of either side, which is the same for both.
fn embedding(facts: &Facts) -> Result<Option<EmbeddingFacts>, PipelineError> {
    let base: Option<EmbedFacts> = facts.get("embed.base")?;
    let queries: Option<EmbedFacts> = facts.get("embed.queries")?;
    let model = base.as_ref().or(queries.as_ref()).map(|facts| facts.model.clone());
    Ok(model.map(|model| EmbeddingFacts {
        base: base.map(|facts| facts.texts),
        queries: queries.map(|facts| facts.texts),
        ..model
    }))
}

fn run_facts(facts: &Facts) -> Run {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let stages: BTreeMap<_, _> =
        facts.records.iter().map(|(id, record)| (id.clone(), record.run.clone())).collect();
    let build_seconds = stages
        .iter()
        .filter_map(|(id, run)| Some((id.strip_prefix("build.")?.to_owned(), run.seconds)))
        .collect();
    Run {
        machine: format!("{} {}, {cpus} cpus", std::env::consts::OS, std::env::consts::ARCH),
        written: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        stages,
        build_seconds,
    }
}

/// Every file that the stages before the manifest made, by path.
fn files(stage: &Stage<'_>, counts: Counts) -> Result<Vec<FileEntry>, PipelineError> {
    let mut files = Vec::new();
    for (name, whole) in stage.inputs {
        let path = stage.dir.join(name);
        if path.is_dir() {
            for below in files_below(&path)? {
                let content = content(&path.join(&below), stage.context.progress)?;
                files.push(FileEntry {
                    role: Role::Index,
                    path: format!("{name}/{}", slashed(&below)),
                    bytes: content.bytes,
                    rows: None,
                    sha256: content.sha256,
                });
            }
            continue;
        }
        let (role, rows) = role_and_rows(name, counts);
        let (path, bytes, sha256) = (name.clone(), whole.bytes, whole.sha256.clone());
        files.push(FileEntry { role, path, bytes, rows, sha256 });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn role_and_rows(name: &str, counts: Counts) -> (Role, Option<u64>) {
    for side in Side::BOTH {
        let (rows, table) = match side {
            Side::Base => (counts.base, Role::BaseTable),
            Side::Queries => (counts.queries, Role::QueriesTable),
        };
        if name == side.vectors() {
            return (side.role(), Some(rows));
        }
        if name == side.table() {
            return (table, Some(rows));
        }
    }
    match name {
        SPLITS => (Role::Splits, None),
        TRUTH_IDS => (Role::TruthIds, Some(counts.queries)),
        TRUTH_SCORES => (Role::TruthScores, Some(counts.queries)),
        TRUTH_STATS => (Role::TruthStats, Some(counts.queries)),
        _ => (Role::Calibration, None),
    }
}
