//! Texts from the files of others, batch by batch, with flat memory.
//!
//! | extension | a text is |
//! |---|---|
//! | `.tsv` | a field of a line; fields are separated by tabs, nothing is quoted |
//! | `.txt` | a line |
//! | `.jsonl`, `.ndjson` | a string of the object on a line |
//! | `.parquet` | a value of a column of strings |
//!
//! All but parquet may be compressed: `.gz` or `.zst` follows then. A line ends with LF or CRLF and
//! with nothing else: U+0085, U+2028 and other control characters belong to the text, as do quotes.
//! A byte-order mark at the start of a file is dropped.
//!
//! ```
//! use vprep_data::read::{TextOptions, TextReader};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("two.tsv");
//! std::fs::write(&path, "7\tsaid \"no\"\n8\tone\u{85}line\r\n")?;
//!
//! let mut reader = TextReader::open(&path, &TextOptions::default())?;
//! let batch = reader.next_batch()?.unwrap();
//! assert_eq!(batch.texts, ["said \"no\"", "one\u{85}line"]);
//! assert!(reader.next_batch()?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod columns;
mod json;
mod lines;
mod table;
mod tsv;

use super::{IdType, Ids, Problem, ReadError};
pub(super) use lines::Lines;
use std::path::{Path, PathBuf};

/// Which columns to read.
#[derive(Clone, Debug, Default)]
pub struct TextOptions {
    /// The column of texts. Unless named, it is found by the usual names (`text`, `passage`,
    /// `contents`, `query`, …); of a `.tsv` it is the second of two fields, or the only one. In a
    /// `.tsv`, a name means that the first line holds names, and a number counts fields from 1.
    pub text_column: Option<String>,
    /// The column of ids. Unless named, it is found by the usual names (`id`, `_id`, `docid`, …);
    /// of a `.tsv` it is the first of two fields. Without one, a row is known by its number.
    pub id_column: Option<String>,
    /// A column whose value, where it is not empty, goes before the text, with a space.
    pub title_column: Option<String>,
}

/// Some rows of a file, in its order.
#[derive(Clone, Debug)]
pub struct TextBatch {
    /// The number of the first row within the file.
    pub first_row: u64,
    /// The texts; at least one.
    pub texts: Vec<String>,
    /// Their ids.
    pub ids: Ids,
}

/// Reads the texts of one file.
pub struct TextReader {
    path: PathBuf,
    ids: IdType,
    size: u64,
    source: Box<dyn Source>,
    next_row: u64,
}

/// A format's part of the work.
trait Source: Send {
    /// The next rows, or none at the end.
    fn next(&mut self) -> Result<Option<(Vec<String>, Ids)>, Problem>;

    /// Bytes of the file that were read so far.
    fn bytes_read(&self) -> u64;
}

/// Rows and bytes of text that make a batch.
const BATCH_ROWS: usize = 8_192;
const BATCH_BYTES: usize = 8 << 20;

impl TextReader {
    /// Opens the file at `path`, whose extension tells its format.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is damaged, holds no text, or the columns cannot be told.
    pub fn open(path: &Path, options: &TextOptions) -> Result<Self, ReadError> {
        let fail = |problem| ReadError::new(path, problem);
        let size = std::fs::metadata(path).map_err(Problem::io("open")).map_err(fail)?.len();
        let (ids, source) = open(path, options).map_err(fail)?;
        Ok(Self { path: path.to_owned(), ids, size, source, next_row: 0 })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the ids are.
    pub fn ids(&self) -> IdType {
        self.ids
    }

    /// The size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many of its bytes were read.
    pub fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// The next rows, or `None` after the last.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is damaged, or a row has no text or no id; rows are counted
    /// from 0, lines from 1.
    pub fn next_batch(&mut self) -> Result<Option<TextBatch>, ReadError> {
        let next = self.source.next().map_err(|problem| ReadError::new(&self.path, problem))?;
        let Some((texts, ids)) = next else {
            return match self.next_row {
                0 => Err(ReadError::new(&self.path, Problem::NoTexts)),
                _ => Ok(None),
            };
        };
        let first_row = self.next_row;
        self.next_row += texts.len() as u64;
        Ok(Some(TextBatch { first_row, texts, ids }))
    }
}

fn open(path: &Path, options: &TextOptions) -> Result<(IdType, Box<dyn Source>), Problem> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let (plain, compressed) = match (name.strip_suffix(".gz"), name.strip_suffix(".zst")) {
        (Some(plain), _) | (_, Some(plain)) => (plain, true),
        _ => (name.as_str(), false),
    };
    match plain.rsplit_once('.').map(|(_, extension)| extension) {
        Some("tsv") => tsv::open(Lines::open(path)?, options),
        Some("txt") => tsv::open_plain(Lines::open(path)?, options),
        Some("jsonl" | "ndjson") => json::open(Lines::open(path)?, options),
        Some("parquet") if !compressed => table::open(path, options),
        extension => Err(Problem::UnknownTexts { extension: extension.map(str::to_owned) }),
    }
}
