//! Counting rows, of files whose format says them cheaply.

use crate::FetchError;
use parquet::file::metadata::ParquetMetaDataReader;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use vprep_core::Progress;

/// The rows of a parquet file (from its footer) or of a text file with a row in each line; nothing
/// for other formats.
pub(crate) fn count(path: &Path, progress: &dyn Progress) -> Result<Option<u64>, FetchError> {
    let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
    match kind {
        "parquet" => parquet(path).map(Some),
        "tsv" | "jsonl" => lines(path, progress).map(Some),
        _ => Ok(None),
    }
}

fn parquet(path: &Path) -> Result<u64, FetchError> {
    let malformed = |problem: String| FetchError::Malformed { path: path.to_owned(), problem };
    let file = File::open(path).map_err(FetchError::io("open", path))?;
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .map_err(|error| malformed(format!("not a parquet file: {error}")))?;
    let rows = metadata.file_metadata().num_rows();
    u64::try_from(rows).map_err(|_| malformed(format!("its footer says {rows} rows")))
}

fn lines(path: &Path, progress: &dyn Progress) -> Result<u64, FetchError> {
    let mut file = File::open(path).map_err(FetchError::io("open", path))?;
    let mut buffer = vec![0; 1 << 20];
    let (mut rows, mut last) = (0, b'\n');
    loop {
        progress.check()?;
        let read = file.read(&mut buffer).map_err(FetchError::io("read", path))?;
        if read == 0 {
            return Ok(rows + u64::from(last != b'\n'));
        }
        rows += buffer[..read].iter().filter(|&&byte| byte == b'\n').count() as u64;
        last = buffer[read - 1];
    }
}

#[cfg(test)]
mod tests {
    use super::count;
    use std::io::Write;
    use vprep_core::Silent;

    #[test]
    fn lines_count_with_and_without_a_last_newline() {
        for (text, rows) in [("", 0), ("a\tb\n", 1), ("a\nb", 2), ("a\nb\n", 2)] {
            let mut file = tempfile::Builder::new().suffix(".tsv").tempfile().expect("a file");
            file.write_all(text.as_bytes()).expect("writes");
            assert_eq!(count(file.path(), &Silent).expect("reads"), Some(rows), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_parquet_is_told() {
        let file = tempfile::Builder::new().suffix(".parquet").tempfile().expect("a file");
        let error = count(file.path(), &Silent).expect_err("empty").to_string();
        assert!(error.contains("not a parquet file"), "{error}");
    }
}
