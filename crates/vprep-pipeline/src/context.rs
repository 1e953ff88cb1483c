//! What every stage is given.

use vprep_core::Progress;
use vprep_manifest::Tool;

/// Progress, interruption, and which tool this is.
pub struct Context<'a> {
    /// Where progress goes, and who is asked whether to stop.
    pub progress: &'a dyn Progress,
    /// What manifests say made them.
    pub tool: Tool,
}

impl<'a> Context<'a> {
    /// A context of this version of vprep, of an unknown commit.
    pub fn new(progress: &'a dyn Progress) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { progress, tool: Tool { name: "vprep".to_owned(), version, commit: None } }
    }
}
