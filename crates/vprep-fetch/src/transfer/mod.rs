//! One file from its mirrors to a finished, verified part.

mod body;
mod flush;
mod follow;
mod growing;
mod part;
mod ramp;
mod verify;

use crate::http::{Http, Next, Trouble};
use crate::retry::Waits;
use crate::{Expected, FetchError, Limits, Verified, space};
use body::Body;
pub(crate) use body::Origin;
use flush::Flush;
use futures_util::stream::{FuturesUnordered, StreamExt};
use growing::Growing;
use part::Writer;
pub(crate) use part::{Part, sweep};
use ramp::Ramp;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use vprep_core::{Progress, Task};

/// Blocks in one request, at most.
const SPAN_BLOCKS: u64 = 32;
/// Blocks in one request, at least, while others work on the same file.
const TURN_BLOCKS: u64 = 4;
/// Requests of each of several connections, if their length allows: with long ones the connections
/// would work far apart, and hashing, which goes from beginning to end, would wait for the first.
const TURNS: u64 = 8;
/// Bytes that make a try count as progress: a server that sends a few bytes and stalls has none.
const WORTHWHILE: u64 = 256 << 10;
/// Times that a file is thrown away for a wrong digest before its mirror is given up.
const MISMATCHES: u32 = 2;
/// Times that a file begins again because it changed or cannot be continued.
const RESTARTS: u32 = 6;

/// A file to fetch.
#[derive(Debug)]
pub(crate) struct Want {
    /// Its name, for messages.
    pub(crate) name: String,
    /// Where its part lies.
    pub(crate) part: PathBuf,
    /// Where it can be had, in order.
    pub(crate) origins: Vec<Origin>,
    /// Its length, where known.
    pub(crate) bytes: Option<u64>,
    /// Its digest, where known.
    pub(crate) expected: Option<Expected>,
}

/// A file that came.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) part: Part,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    pub(crate) url: String,
    pub(crate) verified: Verified,
}

/// What all files of a fetch share.
pub(crate) struct Engine<'a> {
    pub(crate) http: Http,
    pub(crate) limits: &'a Limits,
    pub(crate) slots: Semaphore,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) task: Box<dyn Task>,
    /// Bytes that came over the network.
    pub(crate) downloaded: Cell<u64>,
}

impl Engine<'_> {
    /// Fetches a file from the first mirror that delivers it whole. Nothing, if another process is
    /// fetching it.
    ///
    /// # Errors
    ///
    /// What the mirrors said, or what this machine refuses. The part stays, and the next call
    /// continues it.
    pub(crate) async fn fetch(&self, want: &Want) -> Result<Option<Got>, FetchError> {
        let Some(part) = Part::open(&want.part, self.limits.block, self.progress)? else {
            return Ok(None);
        };
        let growing = Growing {
            shown: Cell::new(part.have()),
            flush: RefCell::new(Flush::new(part.file())),
            part: RefCell::new(part),
            digests: RefCell::new(None),
            whole_only: Cell::new(false),
        };
        self.task.advance(growing.shown.get());
        let mut errors = Vec::new();
        for origin in &want.origins {
            match self.mirror(want, origin, &growing).await {
                Ok((sha256, verified)) => {
                    let part = growing.part.into_inner();
                    let url = origin.shown();
                    return Ok(Some(Got { bytes: part.have(), part, sha256, url, verified }));
                }
                Err(error) if error.is_remote() => errors.push(error),
                Err(error) => return Err(error),
            }
        }
        // An empty part is worth nothing to the next fetch.
        if growing.part.borrow().have() == 0 {
            growing.part.into_inner().discard();
        }
        match errors.len() {
            1 => Err(errors.remove(0)),
            _ => Err(FetchError::Mirrors { name: want.name.clone(), errors }),
        }
    }

    async fn mirror(
        &self,
        want: &Want,
        origin: &Origin,
        growing: &Growing,
    ) -> Result<(String, Verified), FetchError> {
        let (mut tries, mut restarts, mut mismatches) = (0, 0, 0);
        let waits = || Waits::new(self.limits.first_wait, self.limits.longest_wait);
        let mut wait = waits();
        loop {
            let high = growing.part.borrow().high();
            let trouble = match self.round(want, origin, growing).await {
                Ok(()) if !growing.part.borrow().is_complete() => continue,
                Ok(()) => match self.verify(want, origin, growing).await? {
                    Ok(done) => return Ok(done),
                    Err(error) => {
                        growing.restart()?;
                        mismatches += 1;
                        if mismatches >= MISMATCHES {
                            return Err(error);
                        }
                        continue;
                    }
                },
                Err(trouble) => trouble,
            };
            match trouble.next {
                Next::Stop => return Err(trouble.error),
                Next::Restart => {
                    growing.restart()?;
                    restarts += 1;
                    if restarts > RESTARTS {
                        return Err(trouble.error);
                    }
                }
                Next::Retry(asked) => {
                    if growing.part.borrow().high() - high >= WORTHWHILE.min(self.limits.block) {
                        tries = 0;
                        wait = waits();
                    }
                    tries += 1;
                    if tries >= self.limits.tries {
                        return Err(trouble.error);
                    }
                    tokio::time::sleep(wait.next(asked)).await;
                }
            }
        }
    }

    /// Asks for everything that is missing, once, over as many connections as help and are free.
    async fn round(&self, want: &Want, origin: &Origin, growing: &Growing) -> Result<(), Trouble> {
        if growing.part.borrow().is_complete() {
            return Ok(());
        }
        let slot = self.slot().await;
        let block = self.limits.block;
        let known = growing.part.borrow().version().map_or(want.bytes, |version| version.bytes);
        let longest = |remaining: u64| {
            let share = remaining.div_ceil(self.slots.available_permits() as u64 + 1);
            let turn = if share < remaining { share / TURNS } else { share };
            let turn = turn.max(share.min(TURN_BLOCKS * block));
            turn.next_multiple_of(block).clamp(block, SPAN_BLOCKS * block)
        };
        let longest = known.map_or(SPAN_BLOCKS * block, |bytes| {
            longest(bytes.saturating_sub(growing.part.borrow().have()))
        });
        let first = match known {
            Some(bytes) if growing.part.borrow().version().is_none() => 0..longest.min(bytes),
            _ => growing.part.borrow().missing(0, longest).pop_front().unwrap_or(0..0),
        };
        let high = growing.part.borrow().high();
        let body = Body::open(self, want, origin, growing, first.clone()).await?;
        let mut queue = if body.is_whole() {
            VecDeque::new()
        } else {
            growing.part.borrow().missing(first.end, longest)
        };
        let connection = |slot, body: Option<Body>, span| async move {
            let _slot: SemaphorePermit<'_> = slot;
            let body = match body {
                Some(body) => body,
                None => Body::open(self, want, origin, growing, span).await?,
            };
            self.pump(origin, growing, body).await
        };
        let mut running = FuturesUnordered::new();
        running.push(connection(slot, Some(body), first));
        let mut ramp = Ramp::new(self.limits.fast, self.downloaded.get());
        loop {
            while !queue.is_empty() && running.len() < ramp.connections(self.downloaded.get()) {
                let slot = match self.slots.try_acquire() {
                    Ok(slot) => slot,
                    Err(_) if running.is_empty() => self.slot().await,
                    Err(_) => break,
                };
                let span = queue.pop_front().expect("checked above");
                running.push(connection(slot, None, span));
            }
            let wait = if queue.is_empty() { Duration::MAX } else { ramp.wait() };
            match tokio::time::timeout(wait, running.next()).await {
                Ok(Some(result)) => result?,
                Ok(None) => break,
                Err(_) => {}
            }
        }
        let part = growing.part.borrow();
        if !part.is_complete() && part.high() == high {
            return Err(Trouble::retry(FetchError::Network {
                url: origin.shown(),
                problem: "the answer was empty".to_owned(),
            }));
        }
        Ok(())
    }

    async fn slot(&self) -> SemaphorePermit<'_> {
        self.slots.acquire().await.expect("the slots stay open")
    }

    /// Writes a body to its place.
    async fn pump(
        &self,
        origin: &Origin,
        growing: &Growing,
        mut body: Body,
    ) -> Result<(), Trouble> {
        let mut writer = Writer::new(&growing.part, body.start(), self.progress)?;
        while let Some(chunk) = body.next(self).await? {
            self.downloaded.set(self.downloaded.get() + chunk.len() as u64);
            let start = writer.position();
            let end = start + chunk.len() as u64;
            if let Some(limit) = body.end().filter(|limit| end > *limit) {
                return Err(Trouble::retry(origin.length(limit, end)));
            }
            writer.write(&chunk)?;
            growing.wrote(start, &chunk);
            let have = growing.part.borrow().have();
            if have > growing.shown.get() {
                self.task.advance(have - growing.shown.get());
                growing.shown.set(have);
            }
        }
        let end = writer.position();
        drop(writer);
        match body.end() {
            Some(limit) if end < limit => Err(Trouble::retry(origin.length(limit, end))),
            Some(_) => Ok(()),
            None => {
                growing.part.borrow_mut().end(end);
                Ok(())
            }
        }
    }

    /// Takes note of what an answer says of the file: its length and version.
    fn begin(
        &self,
        want: &Want,
        growing: &Growing,
        version: part::Version,
    ) -> Result<(), FetchError> {
        let known = growing.part.borrow().version().cloned();
        match (known, version.bytes) {
            (None, _) => growing.part.borrow_mut().begin(version)?,
            (Some(known), Some(bytes)) if known.bytes.is_none() => {
                growing.part.borrow_mut().learn(bytes);
            }
            _ => {}
        }
        let (bytes, have) = {
            let part = growing.part.borrow();
            (part.version().and_then(|version| version.bytes), part.have())
        };
        if let Some(bytes) = bytes {
            let dir = want.part.parent().unwrap_or(std::path::Path::new("."));
            space::check(dir, bytes.saturating_sub(have))?;
            self.start_digests(want, growing, bytes)?;
        }
        growing.advanced();
        Ok(())
    }

    pub(crate) fn stall(&self) -> Duration {
        self.limits.stall
    }
}

/// A span as `Range` says it.
fn range(span: &Range<u64>) -> String {
    format!("bytes={}-{}", span.start, span.end - 1)
}
