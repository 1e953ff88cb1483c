//! A hub and file server on loopback, for tests only. It speaks the Hugging Face hub's protocol
//! well enough that Python's `huggingface_hub` and the crate `hf-hub` download from it unmodified
//! (`HF_ENDPOINT`), serves plain files under `/files/` as S3 does, and misbehaves on demand.
//!
//! Every request is logged, so that a test can say "zero requests" or "the resume fetched at most
//! a tenth of the file".
//!
//! ```
//! use vprep_testkit::{Content, Fault, Hub, PlainFile, Repo, Rule};
//!
//! let hub = Hub::start()?;
//! hub.add_repo(
//!     Repo::dataset("acme/words")
//!         .file("README.md", "# words")
//!         .lfs("data/train.parquet", Content::random(7, 1_000_000)),
//! );
//! hub.add_file("words/test.parquet", PlainFile::new("text").s3(8 << 20));
//!
//! // The first download of the file breaks off, the next ones do not.
//! hub.rule(Rule::new("datasets/acme/words/data/train.parquet", Fault::Cut { after: 900_000 }).times(1));
//!
//! assert!(hub.url().starts_with("http://127.0.0.1:"));
//! assert!(hub.log().is_empty());
//! # Ok::<(), vprep_testkit::StartError>(())
//! ```
//!
//! # Addresses
//!
//! | path | what |
//! | --- | --- |
//! | `/api/{models,datasets}/OWNER/NAME[/revision/REV]` | repository information and file names |
//! | `/api/…/tree/REV[/FOLDER]?recursive=&expand=` | listing, in pages linked by `Link` |
//! | `/api/…/paths-info/REV`, `/api/…/refs`, `/api/whoami-v2` | what the clients ask besides |
//! | `/[datasets/]OWNER/NAME/resolve/REV/PATH` | a file, by redirect or not: [`Delivery`] |
//! | `/files/PATH` | a plain file |
//! | `/_test/…` | control over HTTP, see [`setup`] |
//!
//! Large files are redirected to a second server on another loopback address, the "CDN", which
//! knows nothing of tokens or commits: as on the real hub, a client must take the commit and the
//! hash from the redirect itself, and must not send its token along.

mod body;
mod content;
mod digest;
mod error;
mod fault;
mod http;
mod hub;
mod log;
mod plain;
mod random;
mod range;
mod repo;
mod route;
mod serve;
pub mod setup;

pub use content::Content;
pub use error::{ContentError, StartError};
pub use fault::{Declared, Fault, RetryAfter, Rule};
pub use hub::Hub;
pub use log::Entry;
pub use plain::{EtagRule, PlainFile};
pub use random::Faults;
pub use repo::{Delivery, Kind, Repo};
