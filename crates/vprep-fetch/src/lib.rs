//! Public data, whole and verified.
//!
//! [`fetch`] takes a [`Source`] (the Hugging Face hub, the web, a local path or a name of the
//! [`Catalog`]) and installs its files below a directory. It trusts digests, never presence:
//!
//! - A download goes to a partial file of its own (`….vprep-part`, with a journal beside it) and
//!   continues there after a cut, a time-out, Ctrl-C or `kill -9`.
//! - Two versions of a file are never mixed: `If-Range`, the ETag and the length of every answer
//!   are compared, and a changed one starts the file again.
//! - What is installed has the digest that the hub or the catalogue names. Where nobody names one,
//!   only the length is known, and [`Verified`] says so.
//! - `.vprep-fetch.json` beside the files records what was installed; a file that still has its
//!   recorded digest is not fetched again.
//!
//! Files of the hub go through the cache that Python's `huggingface_hub` uses, in its layout: what
//! either has, neither fetches again. Secrets appear in no message, record or `Debug` output.
//!
//! ```
//! use vprep_fetch::Source;
//!
//! let source = Source::parse("hf://datasets/owner/name@v1.0")?;
//! assert_eq!(source.to_string(), "hf://datasets/owner/name@v1.0");
//! # Ok::<(), vprep_fetch::FetchError>(())
//! ```

mod archive;
mod catalog;
mod digest;
mod error;
mod fetch;
mod http;
mod hub;
mod install;
mod local;
mod options;
mod paths;
mod plan;
mod record;
mod redact;
mod retry;
mod rows;
mod source;
mod space;
mod transfer;

pub use catalog::{Catalog, Column, File, Member, Set};
pub use digest::Expected;
pub use error::{Cause, FetchError};
pub use fetch::fetch;
pub use hub::HubSettings;
pub use options::{Fetched, FetchedFile, Limits, Options, Rewrite, Verified};
pub use redact::Secret;
pub use source::{HubRepo, RepoKind, Source};
