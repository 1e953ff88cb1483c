//! How fast a model embeds: the part of vprep in `benches/speed.py`.
//!
//! `speed MODEL_DIR TEXTS.json [avx512|avx2|portable|candle]` loads the model and the texts, a JSON
//! list of strings. Then, for each line `FROM TO` on standard input, it embeds those texts and
//! prints the tokens and the seconds.
#![expect(clippy::print_stdout, reason = "a program for a script")]

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Instant;
use vprep_core::Silent;
use vprep_embed::{Backend, Embedder, Instructions, ModelOptions, Role};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, texts, rest @ ..] = arguments.as_slice() else {
        return Err("give a model directory and a JSON list of texts".into());
    };
    let backend = match rest.first().map(String::as_str) {
        None => Backend::default(),
        Some("avx512") => Backend::Cpu(Instructions::Avx512),
        Some("avx2") => Backend::Cpu(Instructions::Avx2),
        Some("portable") => Backend::Cpu(Instructions::Portable),
        Some("candle") => Backend::Candle,
        Some(other) => return Err(format!("unknown instructions {other}").into()),
    };
    let options = ModelOptions::default();
    let embedder = Embedder::load(Path::new(dir), &options, backend, &Silent)?;
    let texts: Vec<String> = serde_json::from_slice(&std::fs::read(texts)?)?;
    let mut out = Vec::new();
    for line in std::io::stdin().lines() {
        let line = line?;
        let (from, to) = line.split_once(' ').ok_or("a line is FROM TO")?;
        let texts = &texts[from.parse()?..to.parse()?];
        out.resize(texts.len() * embedder.dim(), 0.0);
        let start = Instant::now();
        let embedded = embedder.embed(texts, Role::Base, 0, &mut out, &Silent, &Silent)?;
        let seconds = start.elapsed().as_secs_f64();
        println!("{} {seconds}", embedded.tokens.iter().map(|&n| u64::from(n)).sum::<u64>());
        std::io::stdout().flush()?;
    }
    Ok(())
}
