//! Clearing what dead processes left.

use crate::Options;
use crate::plan::{self, Kind, Plan};
use crate::transfer;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Clears what dead processes left: parts of other versions of the files that are fetched now,
/// files that were being written aside, and anything that is two weeks old.
pub(super) fn sweep(plan: &Plan, options: &Options) {
    let mut dirs = BTreeSet::new();
    for item in &plan.items {
        let part = plan::part_of(item, options);
        let dir = part.parent().map(Path::to_owned).unwrap_or_default();
        let ours = part.file_name().map(|name| name.to_string_lossy().into_owned());
        match &item.kind {
            Kind::Cached(..) => {
                if dirs.insert(dir.clone()) {
                    let blobs = dir.clone();
                    transfer::sweep(&dir, &|name| {
                        let etag = name.split('.').next().unwrap_or_default();
                        blobs.join(etag).is_file()
                    });
                }
            }
            Kind::Plain | Kind::Archive(_) => {
                let name = Path::new(&item.path).file_name().unwrap_or_default().to_string_lossy();
                let prefix = format!("{name}.");
                transfer::sweep(&dir, &|part| {
                    part.strip_prefix(&prefix).is_some_and(|rest| rest.matches('.').count() == 1)
                        && Some(part) != ours.as_deref()
                });
            }
        }
        if let Some(dir) = options.into.join(&item.path).parent() {
            clear_aside(dir);
        }
    }
}

/// This process has the directory, so files written aside belong to dead ones.
fn clear_aside(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(".vprep-") && name.ends_with(".tmp") {
            let _ = fs::remove_file(entry.path());
        }
    }
}
