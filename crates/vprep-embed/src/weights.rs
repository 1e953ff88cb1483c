//! Tensors of a model, as f32.

use crate::{EmbedError, files};
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use vprep_core::Progress;
use vprep_data::Content;

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// A tensor: shape, and values in C order.
pub(crate) type Tensor = (Vec<usize>, Vec<f32>);

/// The tensors of a model's `model.safetensors`, or of the files that its index lists.
#[derive(Debug)]
pub(crate) struct Weights {
    tensors: HashMap<String, Tensor>,
    path: PathBuf,
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Weights {
    /// Reads the weights and their digest. That of several files is the sha256 of one line
    /// `<sha256>  <name>` for each, sorted by name: what `sha256sum` would print.
    pub(crate) fn read(dir: &Path, progress: &dyn Progress) -> Result<(Self, Content), EmbedError> {
        let single = dir.join(SINGLE);
        let mut weights = Self { tensors: HashMap::new(), path: single.clone() };
        if single.exists() {
            let content = weights.add(&single)?;
            return Ok((weights, content));
        }
        weights.path = dir.join(INDEX);
        let index: Index = files::json(&weights.path)?.ok_or_else(|| EmbedError::Missing {
            dir: dir.to_owned(),
            file: SINGLE,
            hint: "save it with `save_pretrained(..., safe_serialization=True)`",
        })?;
        let names: BTreeSet<String> = index.weight_map.into_values().collect();
        let mut lines = Sha256::new();
        let mut bytes = 0;
        for name in names {
            progress.check()?;
            if Path::new(&name).file_name().is_none_or(|file| file != name.as_str()) {
                let problem = format!("{name:?} is not the name of a file beside the index");
                return Err(EmbedError::Malformed { path: weights.path, problem });
            }
            let content = weights.add(&dir.join(&name))?;
            bytes += content.bytes;
            lines.update(format!("{}  {name}\n", content.sha256));
        }
        Ok((weights, Content { bytes, sha256: files::hex(&lines.finalize()) }))
    }

    fn add(&mut self, path: &Path) -> Result<Content, EmbedError> {
        let bytes = files::read(path)?;
        let bad = |problem: String| EmbedError::Malformed { path: path.to_owned(), problem };
        let file = SafeTensors::deserialize(&bytes)
            .map_err(|error| bad(format!("not a safetensors file: {error}")))?;
        for (name, view) in file.iter() {
            let data = view.data();
            let values: Vec<f32> = match view.dtype() {
                Dtype::F32 => floats(data, f32::from_le_bytes),
                Dtype::F16 => floats(data, |b| half::f16::from_le_bytes(b).to_f32()),
                Dtype::BF16 => floats(data, |b| half::bf16::from_le_bytes(b).to_f32()),
                // Position numbers, which older versions of transformers saved.
                _ => continue,
            };
            let name = name.strip_prefix("bert.").unwrap_or(name);
            self.tensors.insert(name.to_owned(), (view.shape().to_vec(), values));
        }
        Ok(files::content(&bytes))
    }

    /// Takes a tensor out.
    pub(crate) fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EmbedError> {
        // Models converted from TensorFlow name the parts of a layer norm otherwise.
        let old = name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta");
        let tensor = self.tensors.remove(name).or_else(|| self.tensors.remove(&old));
        let found = match tensor {
            Some((found, values)) if found == shape => return Ok(values),
            Some((found, _)) => format!("of shape {found:?}"),
            None => "missing".to_owned(),
        };
        let (path, name) = (self.path.clone(), name.to_owned());
        Err(EmbedError::Tensor { path, name, found, expected: shape.to_vec() })
    }

    /// All tensors.
    pub(crate) fn into_tensors(self) -> HashMap<String, Tensor> {
        self.tensors
    }
}

fn floats<const N: usize>(bytes: &[u8], convert: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks::<N>().0.iter().map(|&bytes| convert(bytes)).collect()
}
