//! The model of an `[embed]` table: a directory, or one of the hub through the cache of fetch.

use crate::{Context, PipelineError};
use std::path::Path;
use vprep_embed::{Backend, Embedder, ModelOptions, Pooling, known_models};
use vprep_fetch::{HubRepo, Options, RepoKind, Source, fetch};
use vprep_manifest::{Device, EmbedTable, EmbeddingFacts, PoolingRule};

/// Files of a model's directory that decide its vectors, where they are there.
const FILES: [&str; 8] = [
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "model.safetensors.index.json",
];

/// A model that is ready, and what the manifest says of it.
pub(crate) struct Model {
    pub(crate) embedder: Embedder,
    pub(crate) facts: EmbeddingFacts,
}

/// Whether a model is the path of a directory, not `owner/name` of the hub.
pub(crate) fn is_directory(model: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.chars().all(legal);
    !model.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name))
}

/// The files of a model's directory that decide its vectors, relative to it.
pub(crate) fn files_of(dir: &Path) -> Vec<String> {
    let there = FILES.iter().filter(|name| dir.join(name).exists()).map(|name| (*name).to_owned());
    let mut files: Vec<String> = there.collect();
    if let Ok(entries) = dir.read_dir() {
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        files.extend(names.filter(|name| name.ends_with(".safetensors")));
    }
    files.sort();
    files
}

/// Fails if vprep is built without this device.
///
/// # Errors
///
/// That, and the feature that would build it.
pub fn check_device(device: Device) -> Result<(), PipelineError> {
    Ok(backend(device).check()?)
}

fn backend(device: Device) -> Backend {
    match device {
        Device::Cpu => Backend::default(),
        Device::Cuda(number) => Backend::Cuda(number),
    }
}

/// Brings the model here and loads it. `dir` is the dataset.
pub(crate) fn open(
    table: &EmbedTable,
    dir: &Path,
    context: &Context<'_>,
) -> Result<Model, PipelineError> {
    check_device(table.device)?;
    let local = is_directory(&table.model);
    let (model_dir, revision) = if local {
        (dir.join(&table.model), None)
    } else {
        let into = dir.join(".vprep/models").join(table.model.replace('/', "--"));
        let (owner, name) = table.model.split_once('/').expect("checked to be owner/name");
        let known = known_models().iter().find(|model| model.id == table.model);
        let revision = table.revision.clone().or_else(|| known?.revision.clone());
        let repo = HubRepo {
            kind: RepoKind::Model,
            owner: owner.to_owned(),
            name: name.to_owned(),
            revision,
        };
        let mut include: Vec<String> = FILES.map(str::to_owned).into();
        include.push("model*.safetensors".to_owned());
        let options = Options { include, ..context.network.options(&into) };
        let fetched = fetch(&Source::Hub(repo), &options, context.progress)?;
        (into, fetched.revision)
    };
    let options = ModelOptions {
        id: (!local).then(|| table.model.clone()),
        pooling: table.pooling.map(|pooling| match pooling {
            PoolingRule::Cls => Pooling::Cls,
            PoolingRule::Mean => Pooling::Mean,
        }),
        max_length: table.max_length.map(|length| length as usize),
        query_prefix: table.query_prefix.clone(),
        base_prefix: table.base_prefix.clone(),
        normalize: None,
    };
    let embedder = Embedder::load(&model_dir, &options, backend(table.device), context.progress)?;
    let known = embedder.facts();
    let settings = &known.settings;
    let name = match local {
        true => crate::job::file_name(Path::new(&table.model)),
        false => table.model.clone(),
    };
    let facts = EmbeddingFacts {
        model: name,
        revision,
        weights_sha256: known.weights.sha256.clone(),
        tokenizer_sha256: known.tokenizer.sha256.clone(),
        config_sha256: known.config.sha256.clone(),
        pooling: match settings.pooling {
            Pooling::Cls => PoolingRule::Cls,
            Pooling::Mean => PoolingRule::Mean,
        },
        max_length: settings.max_length as u32,
        query_prefix: settings.query_prefix.clone(),
        base_prefix: settings.base_prefix.clone(),
        normalized: settings.normalize,
        precision: "f32".to_owned(),
        device: table.device.unnumbered(),
        base: None,
        queries: None,
    };
    Ok(Model { embedder, facts })
}

#[cfg(test)]
mod tests {
    use super::is_directory;

    #[test]
    fn hub_ids_and_directories_are_told_apart() {
        for id in ["BAAI/bge-small-en-v1.5", "thenlper/gte-small"] {
            assert!(!is_directory(id), "{id}");
        }
        for dir in ["./model", "../a/b", "/a/b", "model", "a/b/c", "a/.b", "a/b c"] {
            assert!(is_directory(dir), "{dir}");
        }
    }
}
