//! The log of requests.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde::Serialize;

use crate::fault::Fault;
use crate::hub::lock;

/// One request, and what was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Whether the CDN was asked, not the hub.
    pub cdn: bool,
    /// The method.
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    /// The file as rules name it, for instance `datasets/acme/words/data/train.parquet`.
    pub key: Option<String>,
    /// The `Range` header.
    pub range: Option<String>,
    /// The `If-Range` header.
    pub if_range: Option<String>,
    /// Whether there was an `Authorization` header. Its value is not kept.
    pub authorization: bool,
    /// The `User-Agent` header.
    pub user_agent: Option<String>,
    /// The status; 0 if the connection was closed without a response.
    pub status: u16,
    /// Bytes of the body handed to the socket. A client that goes away has received less: what
    /// was still in the socket's buffer counts here.
    pub bytes: u64,
    /// Whether the response was sent to its end.
    pub done: bool,
    /// Requests for the same file that were still being answered when this one came.
    pub beside: usize,
    /// The faults that befell it.
    pub faults: Vec<Fault>,
}

impl Entry {
    /// Whether this was a `GET` answered with bytes of a file.
    pub fn is_download(&self) -> bool {
        self.method == "GET" && self.key.is_some() && matches!(self.status, 200 | 206)
    }
}

/// An entry whose response may still be on its way.
pub(crate) struct Pending {
    entry: Entry,
    pub(crate) bytes: AtomicU64,
    pub(crate) done: AtomicBool,
}

impl Pending {
    fn snapshot(&self) -> Entry {
        Entry {
            bytes: self.bytes.load(Ordering::SeqCst),
            done: self.done.load(Ordering::SeqCst),
            ..self.entry.clone()
        }
    }
}

/// All entries, in the order in which the requests came.
#[derive(Default)]
pub(crate) struct Log(Mutex<Vec<Arc<Pending>>>);

impl Log {
    pub(crate) fn push(&self, mut entry: Entry) -> Arc<Pending> {
        let mut entries = lock(&self.0);
        let open = |other: &&Arc<Pending>| {
            other.entry.key == entry.key && !other.done.load(Ordering::SeqCst)
        };
        entry.beside = entries.iter().filter(open).count();
        let pending =
            Arc::new(Pending { entry, bytes: AtomicU64::new(0), done: AtomicBool::new(false) });
        entries.push(Arc::clone(&pending));
        pending
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        lock(&self.0).iter().map(|pending| pending.snapshot()).collect()
    }

    pub(crate) fn reset(&self) {
        lock(&self.0).clear();
    }
}
