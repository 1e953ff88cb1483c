//! The files of a shard.
//!
//! When the engine opens a shard, it writes a log, a lock and an empty segment into it. So it gets
//! a directory of its own with the files, which it then only reads: hard links (it does not see
//! symbolic ones), or copies where the file system has none or is another one.

use std::io::{self, ErrorKind};
use std::path::Path;
use vprep_core::Progress;
use vprep_store::{StoreError, checksum};

/// The shard, as the engine writes it.
pub(super) const SHARD: &str = "shard";

/// What the engine does not read again: its log, all of which is in the segments, and where it
/// built the graph.
const LEFT_OVER: [&str; 2] = ["wal", "temp_segments"];

/// Removes what is no longer needed and writes the checksums; all is on the disk when this
/// returns.
pub(super) fn finish(dir: &Path, progress: &dyn Progress) -> Result<(), StoreError> {
    let shard = dir.join(SHARD);
    for name in LEFT_OVER {
        let path = shard.join(name);
        match std::fs::remove_dir_all(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                return Err(StoreError::Io { path, source });
            }
            _ => {}
        }
    }
    checksum::write(&shard, progress)
}

/// Makes the directories of the shard in `place` and links or copies its files into them.
pub(super) fn link(dir: &Path, place: &Path) -> io::Result<()> {
    for name in checksum::list(&dir.join(SHARD))? {
        let inside = Path::new(&name).strip_prefix(SHARD).unwrap_or(Path::new(&name));
        let link = place.join(inside);
        link.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        let file = dir.join(&name);
        std::fs::hard_link(&file, &link).or_else(|_| std::fs::copy(&file, &link).map(drop))?;
    }
    Ok(())
}
