//! The server's handle, and what it serves.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::error::StartError;
use crate::fault::{Fault, Rule, Rules};
use crate::log::{Entry, Log};
use crate::plain::PlainFile;
use crate::repo::{Kind, Repo};
use crate::serve;

/// Entries on a page of a listing, as on the hub.
const PAGE: usize = 1000;

/// A running hub. Everything can be changed while it serves; it stops when dropped.
#[derive(Debug)]
pub struct Hub {
    state: Arc<State>,
    threads: Vec<JoinHandle<()>>,
}

/// What the connections share.
pub(crate) struct State {
    pub(crate) hub: SocketAddr,
    pub(crate) cdn: SocketAddr,
    pub(crate) stop: AtomicBool,
    pub(crate) store: Mutex<Store>,
    pub(crate) rules: Rules,
    pub(crate) log: Log,
    pub(crate) page: AtomicUsize,
    /// Open connections, by peer, so that they can be cut when the hub stops.
    pub(crate) open: Mutex<BTreeMap<SocketAddr, TcpStream>>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("hub", &self.hub).field("cdn", &self.cdn).finish()
    }
}

/// What is served.
#[derive(Default)]
pub(crate) struct Store {
    pub(crate) repos: BTreeMap<(Kind, String), Commits>,
    /// Former ids of repositories, and their present ones.
    pub(crate) moved: BTreeMap<(Kind, String), String>,
    pub(crate) plain: BTreeMap<String, PlainFile>,
    /// Tokens, and the repositories they open.
    pub(crate) tokens: BTreeMap<String, BTreeSet<String>>,
}

/// The history of a repository.
#[derive(Default)]
pub(crate) struct Commits {
    /// References and the commits they are at.
    pub(crate) refs: BTreeMap<String, String>,
    /// Commits by name.
    pub(crate) commits: BTreeMap<String, Arc<Repo>>,
}

impl Hub {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// If no port can be had.
    pub fn start() -> Result<Self, StartError> {
        Self::start_on(0)
    }

    /// Starts on this port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// If the port cannot be had.
    pub fn start_on(port: u16) -> Result<Self, StartError> {
        let (hub_listener, hub) = listen(Ipv4Addr::LOCALHOST, port)?;
        // Another host where the system has one, as Linux does; another port in any case.
        let (cdn_listener, cdn) =
            listen(Ipv4Addr::new(127, 0, 0, 2), 0).or_else(|_| listen(Ipv4Addr::LOCALHOST, 0))?;
        let state = Arc::new(State {
            hub,
            cdn,
            stop: AtomicBool::new(false),
            store: Mutex::default(),
            rules: Rules::default(),
            log: Log::default(),
            page: AtomicUsize::new(PAGE),
            open: Mutex::default(),
        });
        let threads = [(hub_listener, false), (cdn_listener, true)]
            .map(|(listener, is_cdn)| {
                let state = Arc::clone(&state);
                thread::spawn(move || serve::accept(&listener, &state, is_cdn))
            })
            .into();
        Ok(Self { state, threads })
    }

    /// The address, for `HF_ENDPOINT`: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.state.hub)
    }

    /// The address of the CDN, another host or at least another port.
    pub fn cdn_url(&self) -> String {
        format!("http://{}", self.state.cdn)
    }

    /// The address of a plain file.
    pub fn file_url(&self, path: &str) -> String {
        format!("{}/files/{}", self.url(), crate::http::encode_path(path))
    }

    /// Adds a repository, or another commit of one: the branch moves to it, and what was there
    /// stays reachable by its commit. Returns the commit's name.
    pub fn add_repo(&self, repo: Repo) -> String {
        let sha = repo.sha();
        let mut store = lock(&self.state.store);
        for former in &repo.former_ids {
            store.moved.insert((repo.kind, former.clone()), repo.id.clone());
        }
        let commits = store.repos.entry((repo.kind, repo.id.clone())).or_default();
        commits.refs.insert(repo.branch.clone(), sha.clone());
        commits.commits.insert(sha.clone(), Arc::new(repo));
        sha
    }

    /// Adds or replaces a plain file, under `/files/PATH`.
    pub fn add_file(&self, path: impl Into<String>, file: PlainFile) {
        lock(&self.state.store).plain.insert(path.into(), file);
    }

    /// Makes a token valid, and lets it into these gated or private repositories (`owner/name`).
    pub fn add_token<S: Into<String>>(
        &self,
        token: impl Into<String>,
        repos: impl IntoIterator<Item = S>,
    ) {
        let mut store = lock(&self.state.store);
        store.tokens.entry(token.into()).or_default().extend(repos.into_iter().map(Into::into));
    }

    /// Sets the number of entries on a page of a listing, 1,000 if nothing is said.
    ///
    /// # Panics
    ///
    /// If it is 0.
    pub fn set_page_size(&self, entries: usize) {
        assert!(entries > 0, "a page of nothing");
        self.state.page.store(entries, Ordering::SeqCst);
    }

    /// The fault befalls every request to `path`; see [`Rule`] for what a path is.
    pub fn fault(&self, path: impl Into<String>, fault: Fault) {
        self.rule(Rule::new(path, fault));
    }

    /// Adds a rule. Several that strike one request work together as far as they can.
    pub fn rule(&self, rule: Rule) {
        self.state.rules.add(rule);
    }

    /// Takes all rules away.
    pub fn clear_faults(&self) {
        self.state.rules.clear();
    }

    /// All requests so far, except those to `/_test/`.
    pub fn log(&self) -> Vec<Entry> {
        self.state.log.entries()
    }

    /// Forgets the requests so far.
    pub fn reset_log(&self) {
        self.state.log.reset();
    }

    /// Bytes of a file handed to sockets so far, by its name in rules.
    pub fn bytes_sent(&self, key: &str) -> u64 {
        let of_file = |entry: &Entry| entry.key.as_deref() == Some(key);
        self.log().iter().filter(|entry| of_file(entry)).map(|entry| entry.bytes).sum()
    }

    pub(crate) fn from_state(state: Arc<State>) -> Self {
        Self { state, threads: Vec::new() }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if self.threads.is_empty() {
            return;
        }
        self.state.stop.store(true, Ordering::SeqCst);
        for stream in lock(&self.state.open).values() {
            // Whatever its state, nobody waits for this connection any more.
            stream.shutdown(Shutdown::Both).ok();
        }
        for address in [self.state.hub, self.state.cdn] {
            // Wakes the thread that waits for connections.
            TcpStream::connect(address).ok();
        }
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

fn listen(host: Ipv4Addr, port: u16) -> Result<(TcpListener, SocketAddr), StartError> {
    let start = || {
        let listener = TcpListener::bind((host, port))?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    start().map_err(|source| StartError { address: format!("{host}:{port}"), source })
}

/// Locks, whether or not a thread of a failed test has panicked meanwhile.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
