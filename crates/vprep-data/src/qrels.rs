//! Relevance judgements, as TREC's tools and BEIR write them.
//!
//! ```text
//! TREC    query iteration document grade          separated by blanks or tabs
//! BEIR    query-id<TAB>corpus-id<TAB>score        after a header of these names
//! ```

use crate::DataError;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use vprep_core::Progress;

/// How relevant somebody found a document for a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The query's id.
    pub query: String,
    /// The document's id.
    pub document: String,
    /// Above 0 is relevant.
    pub grade: i64,
}

/// Reads a file of judgements.
///
/// # Errors
///
/// If it cannot be read, or a line is not a judgement; the error names the line.
pub fn read_qrels(path: &Path, progress: &dyn Progress) -> Result<Vec<Judgement>, DataError> {
    let file = File::open(path).map_err(DataError::io("open", path))?;
    let mut judgements = Vec::new();
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        if number % 8_192 == 0 {
            progress.check()?;
        }
        let line = line.map_err(DataError::io("read", path))?;
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (query, document, grade) = match fields[..] {
            [] => continue,
            ["query-id", "corpus-id", "score"] if number == 1 => continue,
            [query, _, document, grade] | [query, document, grade] => (query, document, grade),
            _ => {
                let problem = format!("line {number}: {} fields, not 3 or 4", fields.len());
                return Err(DataError::malformed(path, problem));
            }
        };
        let grade = grade.parse().map_err(|_| {
            DataError::malformed(path, format!("line {number}: grade `{grade}` is no whole number"))
        })?;
        judgements.push(Judgement { query: query.into(), document: document.into(), grade });
    }
    Ok(judgements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use vprep_core::Silent;

    fn read(text: &str) -> Result<Vec<(String, String, i64)>, String> {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("writes");
        let judgements = read_qrels(file.path(), &Silent).map_err(|error| error.to_string())?;
        Ok(judgements.into_iter().map(|j| (j.query, j.document, j.grade)).collect())
    }

    #[test]
    fn both_layouts_and_what_is_neither() {
        let expected = vec![("1048585".into(), "7187158".into(), 1), ("2".into(), "x".into(), 0)];
        assert_eq!(read("1048585\t0\t7187158\t1\n2 0 x 0\n"), Ok(expected.clone()));
        let beir = "query-id\tcorpus-id\tscore\n1048585\t7187158\t1\n2\tx\t0\n";
        assert_eq!(read(beir), Ok(expected));
        assert!(read("1 2\n").expect_err("two").contains("line 1: 2 fields, not 3 or 4"));
        assert!(read("\n1 0 2 y\n").expect_err("no grade").contains("line 2: grade `y`"));
    }
}
