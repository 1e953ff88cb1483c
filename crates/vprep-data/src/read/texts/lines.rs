//! Lines of a file that may be compressed.

use super::Problem;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A line longer than this is no text that anybody embeds.
const LONGEST: u64 = 64 << 20;

/// Reads lines and counts them.
pub(in crate::read) struct Lines {
    inner: BufReader<Box<dyn Read + Send>>,
    read: Arc<AtomicU64>,
    number: u64,
    buffer: Vec<u8>,
}

impl Lines {
    /// Opens a file, and what is in it if its name ends in `.gz` or `.zst`.
    pub(in crate::read) fn open(path: &Path) -> Result<Self, Problem> {
        let file = File::open(path).map_err(Problem::io("open"))?;
        if file.metadata().map_err(Problem::io("read"))?.is_dir() {
            return Err(Problem::Directory { path: path.to_owned() });
        }
        let read = Arc::new(AtomicU64::new(0));
        let file = Counted { file, read: Arc::clone(&read) };
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let inner: Box<dyn Read + Send> = match extension.as_str() {
            "gz" => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 20, file))),
            "zst" => Box::new(zstd::Decoder::new(file).map_err(Problem::io("read"))?),
            _ => Box::new(file),
        };
        let inner = BufReader::with_capacity(1 << 20, inner);
        Ok(Self { inner, read, number: 0, buffer: Vec::new() })
    }

    /// The number of the line that was read last, from 1.
    pub(in crate::read) fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of the file that were read.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The line that was read last, without its end.
    pub(in crate::read) fn last(&self) -> Result<&str, Problem> {
        let line = self.number;
        let text = std::str::from_utf8(&self.buffer).map_err(|error| {
            let at = error.valid_up_to();
            Problem::Line { line, problem: format!("is not UTF-8, from its byte {at} on") }
        })?;
        Ok(if line == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text })
    }

    /// The next line without its end.
    pub(in crate::read) fn next(&mut self) -> Result<Option<&str>, Problem> {
        self.buffer.clear();
        let mut limited = self.inner.by_ref().take(LONGEST);
        let read = limited.read_until(b'\n', &mut self.buffer).map_err(Problem::io("read"))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let line = self.number;
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
            if self.buffer.last() == Some(&b'\r') {
                self.buffer.pop();
            }
        } else if read as u64 == LONGEST {
            return Err(Problem::Line { line, problem: "is longer than 64 MiB".to_owned() });
        }
        self.last().map(Some)
    }
}

struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
