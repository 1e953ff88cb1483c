//! What the system says of a failed read or write, in words for people.

use std::io;

/// The system's words without the number that Rust appends.
///
/// ```
/// let error = std::io::Error::from_raw_os_error(2);
/// assert_eq!(vprep_core::io_words::plain(&error), "no such file or directory");
/// ```
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_lowercase()
}

/// What can be done about it, to follow the words; empty where nothing is known to help.
pub fn hint(error: &io::Error) -> &'static str {
    if is_full(error) {
        return "; free some space and run the same command again";
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; check the permissions of its directory"
        }
        _ => "",
    }
}

/// Whether there is no room left.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_closed_one_have_their_hints() {
        let hint = |kind| hint(&io::Error::from(kind));
        assert!(hint(io::ErrorKind::StorageFull).contains("free some space"));
        assert!(hint(io::ErrorKind::PermissionDenied).contains("permissions"));
        assert_eq!(hint(io::ErrorKind::BrokenPipe), "");
    }
}
