//! Reads a dataset of vprep: vectors, true neighbours, and a store's search setting.
//!
//!     read-dataset [--sha256] DATASET QIDX STORE K TARGET

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::error::Error;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SHOWN: usize = 5;

/// An open `.npy` file of 4-byte values in C order.
struct Matrix {
    name: String,
    file: File,
    offset: u64,
    rows: u64,
    columns: u64,
}

impl Matrix {
    /// Opens the matrix of a role, `(rows, columns)`, after everything that the manifest says of it
    /// was checked.
    fn open(
        dir: &Path,
        manifest: &Value,
        (role, dtype): (&str, &str),
        (rows, columns): (u64, u64),
        sha256: bool,
    ) -> Result<Self> {
        let files = manifest["files"].as_array().ok_or("manifest.json: no list of files")?;
        let entry = files.iter().find(|entry| entry["role"] == role);
        let entry = entry.ok_or(format!("manifest.json: no file with the role {role}"))?;
        let name = entry["path"].as_str().ok_or("manifest.json: a file without a path")?.to_owned();
        if Path::new(&name).components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(format!("{name}: not a path inside the dataset").into());
        }
        let mut file = File::open(dir.join(&name)).map_err(|error| format!("{name}: {error}"))?;
        let (bytes, stated) = (file.metadata()?.len(), number(&entry["bytes"])?);
        if bytes != stated {
            return Err(format!("{name}: {bytes} bytes, the manifest says {stated}").into());
        }
        if sha256 {
            let digest = digest(&mut file)?;
            if entry["sha256"] != *digest {
                let stated = &entry["sha256"];
                return Err(format!("{name}: sha256 {digest}, the manifest says {stated}").into());
            }
            file.rewind()?;
        }
        // An npy file: magic, version, the length of the header, the header, the values.
        let mut start = [0; 10];
        file.read_exact(&mut start)?;
        let mut length = u64::from(u16::from_le_bytes([start[8], start[9]]));
        let mut offset = 10;
        if start[6] > 1 {
            let mut rest = [0; 2];
            file.read_exact(&mut rest)?;
            length += u64::from(u16::from_le_bytes(rest)) << 16;
            offset = 12;
        }
        if !start.starts_with(b"\x93NUMPY") || !(1..=3).contains(&start[6]) || length > 65536 {
            return Err(format!("{name}: not an npy file").into());
        }
        let mut header = String::new();
        file.by_ref().take(length).read_to_string(&mut header)?;
        let c_order = header.contains("'fortran_order': False");
        if !c_order || !header.contains(&format!("'descr': '{dtype}'")) {
            let header = header.trim();
            return Err(format!("{name}: not a matrix of {dtype} in C order: {header}").into());
        }
        if !header.contains(&format!("'shape': ({rows}, {columns})")) {
            let header = header.trim();
            return Err(format!("{name}: the manifest says {rows} x {columns}: {header}").into());
        }
        offset += length;
        let values = rows.checked_mul(columns).and_then(|values| values.checked_mul(4));
        if values.and_then(|values| values.checked_add(offset)) != Some(bytes) {
            return Err(format!("{name}: {bytes} bytes are not what its header says").into());
        }
        Ok(Self { name, file, offset, rows, columns })
    }

    /// The values of one row, each still as its four bytes.
    fn row(&mut self, row: u64) -> Result<Vec<[u8; 4]>> {
        if row >= self.rows {
            return Err(format!("{}: there is no row {row}", self.name).into());
        }
        let mut bytes = vec![0; usize::try_from(self.columns * 4)?];
        self.file.seek(SeekFrom::Start(self.offset + row * self.columns * 4))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes.chunks_exact(4).map(|four| [four[0], four[1], four[2], four[3]]).collect())
    }

    fn floats(&mut self, row: u64) -> Result<Vec<f32>> {
        Ok(self.row(row)?.into_iter().map(f32::from_le_bytes).collect())
    }
}

/// The sha256 of what is left of a file.
fn digest(file: &mut File) -> Result<String> {
    let (mut hasher, mut block) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            read => hasher.update(&block[..read]),
        }
    }
}

fn number(value: &Value) -> Result<u64> {
    Ok(value.as_u64().ok_or(format!("manifest.json: {value} is not a count"))?)
}

/// Larger is better, but for `l2`, the squared distance.
fn score(metric: &Value, a: &[f32], b: &[f32]) -> f64 {
    let pairs = || a.iter().zip(b).map(|(&a, &b)| (f64::from(a), f64::from(b)));
    if metric == "l2" {
        return pairs().map(|(a, b)| (a - b) * (a - b)).sum();
    }
    let dot: f64 = pairs().map(|(a, b)| a * b).sum();
    if metric != "cosine" {
        return dot;
    }
    let (a, b): (f64, f64) = (pairs().map(|(a, _)| a * a).sum(), pairs().map(|(_, b)| b * b).sum());
    let norms = a.sqrt() * b.sqrt();
    if norms > 0.0 { dot / norms } else { 0.0 }
}

/// What calibration found for a store at (k, target); `reached` says whether it holds.
fn cell<'a>(manifest: &'a Value, store: &str, k: u64, target: f64) -> Result<&'a Value> {
    let facts = manifest["stores"].get(store);
    let facts = facts.ok_or(format!("manifest.json: no store {store}"))?;
    let cells = facts["cells"].as_array().ok_or("manifest.json: a store without cells")?;
    let cell = cells.iter().find(|cell| cell["k"] == k && cell["target"].as_f64() == Some(target));
    Ok(cell
        .ok_or(format!("manifest.json: {store} is not calibrated to recall {target} at k = {k}"))?)
}

/// A cell in words.
fn setting(cell: &Value) -> Result<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (store, k) = (text(&cell["store"]), number(&cell["k"])?);
    let target = cell["target"].as_f64().ok_or("manifest.json: a cell without a target")?;
    let what = format!("{store}: recall {target:.4} at k = {k} is ");
    let knob = match (&cell["knob"], cell["value"].as_u64()) {
        (Value::Null, _) => "no knob".to_owned(),
        (knob, Some(value)) => format!("{} = {value}", text(knob)),
        (knob, None) => format!("{} = none", text(knob)),
    };
    let recall = |name: &str| match cell[name].as_f64() {
        Some(recall) => format!("{recall:.4}"),
        None => "unknown".to_owned(),
    };
    if cell["reached"] != true {
        let recall = recall("calibration_recall");
        return Ok(what + &format!("NOT REACHED; the best is {knob}, with {recall}"));
    }
    let proved = recall("held_out_recall");
    let (low, high) = (recall("held_out_low"), recall("held_out_high"));
    let queries = number(&cell["held_out_queries"])?;
    Ok(what
        + &format!("reached with {knob}; {proved} ({low} to {high}) on {queries} held-out queries"))
}

fn run() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let sha256 = arguments.first().is_some_and(|first| first == "--sha256");
    arguments.drain(..usize::from(sha256));
    let [dir, qidx, store, k, target] = arguments.as_slice() else {
        return Err("usage: [--sha256] DATASET QIDX STORE K TARGET".into());
    };
    let (dir, qidx, k, target) = (Path::new(dir), qidx.parse()?, k.parse()?, target.parse()?);
    let manifest: Value = serde_json::from_str(&fs::read_to_string(dir.join("manifest.json"))?)?;
    if manifest["schema"] != 1 {
        let schema = &manifest["schema"];
        return Err(format!("manifest.json: schema {schema}, this reader knows 1").into());
    }
    let (metric, dim) = (&manifest["metric"], number(&manifest["dim"])?);
    let counts = &manifest["counts"];
    let (rows, queries) = (number(&counts["base"])?, number(&counts["queries"])?);
    let width = number(&manifest["truth"]["k"])?;
    let open = |kind, shape| Matrix::open(dir, &manifest, kind, shape, sha256);
    let mut base = open(("base", "<f4"), (rows, dim))?;
    let query = open(("queries", "<f4"), (queries, dim))?.floats(qidx)?;
    let neighbours = open(("truth_ids", "<i4"), (queries, width))?.row(qidx)?;
    let scores = open(("truth_scores", "<f4"), (queries, width))?.floats(qidx)?;
    let cell = cell(&manifest, store, k, target)?;

    let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (dataset, by) = (name(&manifest["name"]), name(metric));
    println!("{dataset}: {rows} x {dim}, {queries} queries, {by}");
    let values: Vec<_> = query.iter().take(SHOWN).map(|value| format!("{value:.6}")).collect();
    println!("query {qidx}: {}", values.join(" "));
    for (i, (id, stated)) in neighbours.into_iter().zip(scores).take(SHOWN).enumerate() {
        let row = i32::from_le_bytes(id);
        let vector = base.floats(u64::try_from(row)?)?;
        let (rank, here) = (i + 1, score(metric, &query, &vector));
        println!("neighbour {rank}: row {row}, score {stated:.6}, computed here {here:.6}");
    }
    println!("{}", setting(cell)?);
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
