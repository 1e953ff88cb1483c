//! What every stage is given.

use crate::truth_options::TruthOptions;
use std::path::Path;
use vprep_core::Progress;
use vprep_fetch::{Catalog, Options, Rewrite};
use vprep_manifest::Tool;

/// Progress, interruption, and which tool this is.
pub struct Context<'a> {
    /// Where progress goes, and who is asked whether to stop.
    pub progress: &'a dyn Progress,
    /// What manifests say made them.
    pub tool: Tool,
    /// How public data is fetched.
    pub network: Network,
    /// Which checkpoints of an embedding are computed.
    pub share: Share,
    /// How a truth is computed.
    pub truth: TruthOptions,
}

/// Which checkpoints of an embedding are computed, where several machines share the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Share {
    /// All that are missing.
    #[default]
    All,
    /// Those of one part: checkpoint c belongs to part c mod `count`.
    Part {
        /// Number of the part, from 0.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// None: those that are there are put together.
    Nothing,
}

/// How public data is fetched.
#[derive(Clone, Debug)]
pub struct Network {
    /// Whether to do without the network.
    pub offline: bool,
    /// Connections at once.
    pub jobs: usize,
    /// The catalogue.
    pub catalog: Catalog,
    /// Addresses to ask in place of others.
    pub rewrite: Vec<Rewrite>,
}

impl Default for Network {
    fn default() -> Self {
        Self { offline: false, jobs: 4, catalog: Catalog::built_in(), rewrite: Vec::new() }
    }
}

impl Network {
    /// The options of a fetch into a directory, with what the environment says about the hub.
    pub fn options(&self, into: &Path) -> Options {
        let options = Options::new(into);
        Options {
            offline: self.offline || options.offline,
            jobs: self.jobs,
            catalog: self.catalog.clone(),
            rewrite: self.rewrite.clone(),
            ..options
        }
    }
}

impl<'a> Context<'a> {
    /// A context of this version of vprep, of an unknown commit.
    pub fn new(progress: &'a dyn Progress) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self {
            progress,
            tool: Tool { name: "vprep".to_owned(), version, commit: None },
            network: Network::default(),
            share: Share::All,
            truth: TruthOptions::default(),
        }
    }
}
