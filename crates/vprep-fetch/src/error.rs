//! What can go wrong with a fetch, said with the likely cause and the way to mend it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use vprep_core::{Failure, Interrupted, Kind, io_words};

/// A source that could not be fetched, or not be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// A source that cannot be understood.
    #[error(
        "source `{text}`: {problem}; use hf://datasets/owner/name[@revision], hf://owner/name[@revision], https://…, a path or a name of the catalogue"
    )]
    Source {
        /// What was given, without credentials.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A pattern that cannot be understood.
    #[error("pattern `{pattern}`: {problem}")]
    Pattern {
        /// What was given.
        pattern: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An option whose value cannot be used.
    #[error("{what}: {problem}")]
    Setting {
        /// The option or environment variable.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A name that the catalogue does not have.
    #[error("the catalogue has no `{name}`, and no such file exists; known: {}", known.join(", "))]
    UnknownName {
        /// What was given.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Patterns that no file of the source matches.
    #[error("{origin}: none of its {listed} files matches {}", patterns.join(", "))]
    NothingMatches {
        /// The source.
        origin: String,
        /// The patterns.
        patterns: Vec<String>,
        /// How many files there are.
        listed: usize,
    },
    /// The server refused.
    #[error("{url}: HTTP status {status}: {cause}")]
    Answer {
        /// The address, without credentials or query.
        url: String,
        /// The status code.
        status: u16,
        /// Why, most likely.
        cause: Cause,
    },
    /// The server could not be reached, or the connection broke too often.
    #[error(
        "{url}: {problem}; check the network and run the same command again, it continues where it stopped"
    )]
    Network {
        /// The address, without credentials or query.
        url: String,
        /// What happened.
        problem: String,
    },
    /// The server went silent.
    #[error(
        "{url}: nothing arrived for {seconds} s; run the same command again, it continues where it stopped"
    )]
    Stalled {
        /// The address, without credentials or query.
        url: String,
        /// The time-out.
        seconds: u64,
    },
    /// A web page came in place of the file.
    #[error(
        "{url}: the answer is a web page, not the file; open it in a browser: a login or a proxy may be in the way"
    )]
    Page {
        /// The address, without credentials or query.
        url: String,
    },
    /// The file has another length than it should have.
    #[error(
        "{url}: {found} bytes where {expected} are expected; the file was replaced or cut short at its source"
    )]
    Length {
        /// The address, without credentials or query.
        url: String,
        /// The length that is known.
        expected: u64,
        /// The length that came.
        found: u64,
    },
    /// The file has another digest than it should have.
    #[error(
        "{url}: {algorithm} is {found} where {expected} is expected; what came was deleted, its source or the way to it is corrupt"
    )]
    Digest {
        /// The address, without credentials or query.
        url: String,
        /// The rule of the digest.
        algorithm: &'static str,
        /// The digest that is known.
        expected: String,
        /// The digest of what came.
        found: String,
    },
    /// The file kept changing, or could not be continued.
    #[error("{url}: {problem}, again and again; try later or from another mirror")]
    Unstable {
        /// The address, without credentials or query.
        url: String,
        /// What kept happening.
        problem: &'static str,
    },
    /// No mirror delivered the file.
    #[error("{name}: no mirror delivered it: {}", join(errors))]
    Mirrors {
        /// The file.
        name: String,
        /// What each said, in order.
        errors: Vec<FetchError>,
    },
    /// The network is needed and forbidden.
    #[error(
        "{what} is not in the cache, and the network is off; unset HF_HUB_OFFLINE or leave out --offline"
    )]
    Offline {
        /// What is missing.
        what: String,
    },
    /// There is too little room.
    #[error("{}: {need} bytes are needed and {free} are free; free some space and run the same command again", path.display())]
    Space {
        /// The directory.
        path: PathBuf,
        /// What is still to come.
        need: u64,
        /// What there is.
        free: u64,
    },
    /// The system refused.
    #[error("{}: cannot {action}: {}{}", path.display(), io_words::plain(source), hint(source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried, as in "write".
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// Another process fetches into the same directory.
    #[error("{}: another vprep is fetching into this directory; wait for it or stop it", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// An archive that cannot be read, or that would write where it should not.
    #[error("{}: {problem}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong, and with which member.
        problem: String,
    },
    /// A file whose rows cannot be counted.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A catalogue that contradicts itself or cannot be read.
    #[error("{origin}: {problem}")]
    Catalog {
        /// The catalogue's file, or "built-in catalogue".
        origin: String,
        /// What is wrong.
        problem: String,
    },
    /// Files that contradict their catalogue entry.
    #[error(
        "{what} has {found} rows where its entry in the catalogue says {declared}; the entry or the file is wrong, do not use it under this name"
    )]
    Rows {
        /// The set or the file.
        what: String,
        /// Rows that the catalogue declares.
        declared: u64,
        /// Rows that are there.
        found: u64,
    },
    /// Stopped by the user.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Why a server refused, most likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A token is missing or wrong.
    Unauthorised,
    /// The terms must be accepted first.
    Gated,
    /// No such repository, revision or file.
    NotFound,
    /// Too many requests.
    RateLimited,
    /// The server is at fault.
    Server,
    /// Anything else.
    Other,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unauthorised => {
                "it does not exist, or it is private or gated; accept its terms on its page and set HF_TOKEN to a token of yours"
            }
            Self::Gated => {
                "gated; accept its terms on its page and set HF_TOKEN to a token of yours"
            }
            Self::NotFound => "not found; check the name, the revision and the path",
            Self::RateLimited => {
                "rate limited; wait some minutes, lower --jobs, or set HF_TOKEN for a higher limit"
            }
            Self::Server => "the server is in trouble; try again later",
            Self::Other => "the server refuses the request",
        })
    }
}

fn hint(error: &io::Error) -> String {
    let more = if io_words::is_full(error) { ", it continues where it stopped" } else { "" };
    format!("{}{more}", io_words::hint(error))
}

fn join(errors: &[FetchError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; then ")
}

impl FetchError {
    /// A closure for `map_err` on an I/O result.
    pub(crate) fn io(
        action: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.as_ref().to_owned(), action, source }
    }

    /// Whether another mirror could do better.
    pub(crate) fn is_remote(&self) -> bool {
        match self {
            Self::Answer { .. }
            | Self::Network { .. }
            | Self::Stalled { .. }
            | Self::Page { .. }
            | Self::Length { .. }
            | Self::Digest { .. }
            | Self::Unstable { .. }
            | Self::Mirrors { .. } => true,
            Self::Source { .. }
            | Self::Pattern { .. }
            | Self::Setting { .. }
            | Self::UnknownName { .. }
            | Self::NothingMatches { .. }
            | Self::Offline { .. }
            | Self::Space { .. }
            | Self::Io { .. }
            | Self::Locked { .. }
            | Self::Archive { .. }
            | Self::Malformed { .. }
            | Self::Catalog { .. }
            | Self::Rows { .. }
            | Self::Interrupted(_) => false,
        }
    }
}

impl Failure for FetchError {
    fn kind(&self) -> Kind {
        match self {
            Self::Source { .. }
            | Self::Pattern { .. }
            | Self::Setting { .. }
            | Self::UnknownName { .. }
            | Self::NothingMatches { .. } => Kind::Usage,
            Self::Answer { .. }
            | Self::Network { .. }
            | Self::Stalled { .. }
            | Self::Page { .. }
            | Self::Unstable { .. }
            | Self::Offline { .. } => Kind::Unreachable,
            Self::Mirrors { errors, .. } => {
                let data = errors.iter().any(|error| error.kind() == Kind::Data);
                if data { Kind::Data } else { Kind::Unreachable }
            }
            Self::Length { .. }
            | Self::Digest { .. }
            | Self::Space { .. }
            | Self::Io { .. }
            | Self::Locked { .. }
            | Self::Archive { .. }
            | Self::Malformed { .. }
            | Self::Catalog { .. }
            | Self::Rows { .. } => Kind::Data,
            Self::Interrupted(_) => Kind::Interrupted,
        }
    }
}
