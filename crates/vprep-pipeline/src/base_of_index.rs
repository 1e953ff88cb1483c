//! `indexes/<store>/base.sha256`: which base an index was built from, in a line that `sha256sum -c`
//! understands.

use crate::PipelineError;
use crate::dataset::Side;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

const FILE: &str = "base.sha256";

/// Notes the digest of the base in an index directory that is being built.
pub(crate) fn write(dir: &Path, sha256: &str) -> Result<(), PipelineError> {
    let path = dir.join(FILE);
    File::create(&path)
        .and_then(|mut file| file.write_all(line(sha256).as_bytes()))
        .map_err(|source| PipelineError::Io { path, source })
}

/// Whether an index was built from the base of this digest.
pub(crate) fn matches(dir: &Path, sha256: &str) -> bool {
    fs::read_to_string(dir.join(FILE)).is_ok_and(|text| text == line(sha256))
}

fn line(sha256: &str) -> String {
    format!("{sha256}  ../../{}\n", Side::Base.vectors())
}
