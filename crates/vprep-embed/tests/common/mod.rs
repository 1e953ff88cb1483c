//! What the tests share.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use std::fmt;
use std::path::{Path, PathBuf};
use vprep_core::Silent;
use vprep_embed::{Backend, Embedder, ModelOptions, Role};

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference").join(name)
}

/// The directory of all-MiniLM-L6-v2.
pub(crate) fn minilm() -> Option<PathBuf> {
    let dir = std::env::var_os("VPREP_MINILM").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    if dir.is_none() {
        println!("SKIPPED: VPREP_MINILM does not name the directory of all-MiniLM-L6-v2");
    }
    dir
}

/// A file of the data that lies beside the repository on some machines.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = data.join(name);
    if !path.exists() {
        println!("SKIPPED: there is no {}", path.display());
        return None;
    }
    Some(path)
}

/// A JSON list of texts.
pub(crate) fn strings(name: &str) -> Vec<String> {
    let bytes = std::fs::read(reference(name)).expect("reads");
    serde_json::from_slice(&bytes).expect("a list of strings")
}

/// The values of an `.npy` of f32.
pub(crate) fn matrix(name: &str) -> Vec<f32> {
    let matrix = vprep_data::MappedNpy::<f32>::open(&reference(name)).expect("opens");
    matrix.values().to_vec()
}

pub(crate) fn load(dir: &Path, options: &ModelOptions, backend: Backend) -> Embedder {
    Embedder::load(dir, options, backend, &Silent).expect("loads")
}

pub(crate) fn run(embedder: &Embedder, texts: &[String], role: Role) -> Vec<f32> {
    let mut out = vec![0.0; texts.len() * embedder.dim()];
    embedder.embed(texts, role, 0, &mut out, &Silent, &Silent).expect("embeds");
    out
}

pub(crate) fn embed(
    dir: &Path,
    options: &ModelOptions,
    backend: Backend,
    texts: &[String],
    role: Role,
) -> Vec<f32> {
    run(&load(dir, options, backend), texts, role)
}

/// The worst of a comparison.
#[derive(Debug)]
pub(crate) struct Worst {
    pub(crate) difference: f32,
    pub(crate) cosine: f64,
    pub(crate) row: usize,
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { difference, cosine, row } = self;
        write!(
            f,
            "largest difference {difference:.2e} in row {row}, smallest cosine 1 - {:.1e}",
            1.0 - cosine
        )
    }
}

pub(crate) fn compare(found: &[f32], expected: &[f32], dim: usize) -> Worst {
    assert_eq!(found.len(), expected.len());
    let mut worst = Worst { difference: 0.0, cosine: 1.0, row: 0 };
    for (row, (a, b)) in found.chunks(dim).zip(expected.chunks(dim)).enumerate() {
        let norms = vprep_core::norm(a) * vprep_core::norm(b);
        worst.cosine = worst.cosine.min(vprep_core::dot(a, b) / norms);
        for (a, b) in a.iter().zip(b) {
            if (a - b).abs() > worst.difference {
                worst.difference = (a - b).abs();
                worst.row = row;
            }
        }
    }
    worst
}
