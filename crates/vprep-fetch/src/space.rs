//! Free space, asked before it is needed.

use crate::FetchError;
use std::path::Path;

/// Fails if the file system of `dir` has fewer than `need` bytes free. Where the system does not
/// say, nothing is checked: a full disk then stops the write.
pub(crate) fn check(dir: &Path, need: u64) -> Result<(), FetchError> {
    let Ok(stat) = rustix::fs::statvfs(dir) else { return Ok(()) };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    // Some virtual file systems report no blocks at all.
    if stat.f_blocks > 0 && free < need {
        return Err(FetchError::Space { path: dir.to_owned(), need, free });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;
    use std::path::Path;

    #[test]
    fn nobody_has_an_exabyte() {
        check(Path::new("/tmp"), 1).expect("a byte is free");
        let error = check(Path::new("/tmp"), 1 << 60).expect_err("full").to_string();
        assert!(error.starts_with("/tmp: 1152921504606846976 bytes are needed and "), "{error}");
    }
}
