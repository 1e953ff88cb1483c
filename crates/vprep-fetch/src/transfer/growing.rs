//! A part and what grows with it.

use super::flush::Flush;
use super::follow::Follower;
use super::part::{Part, Version};
use super::{Want, body};
use crate::FetchError;
use bytes::Bytes;
use std::cell::{Cell, RefCell};

/// The digests of one part, growing with it.
pub(super) struct Digests {
    pub(super) sha256: Follower,
    pub(super) by_rule: Option<Follower>,
}

/// A part and what grows with it, shared by the connections of one file (all in one thread).
pub(super) struct Growing {
    pub(super) part: RefCell<Part>,
    pub(super) digests: RefCell<Option<Digests>>,
    pub(super) flush: RefCell<Flush>,
    /// Bytes told to the progress bar.
    pub(super) shown: Cell<u64>,
    /// Whether only whole answers will do.
    pub(super) whole_only: Cell<bool>,
}

impl Growing {
    /// Takes note of bytes that were written at `at`.
    pub(super) fn wrote(&self, at: u64, data: &Bytes) {
        self.flush.borrow_mut().wrote(data.len() as u64);
        if let Some(digests) = self.digests.borrow_mut().as_mut() {
            digests.sha256.offer(at, data);
            if let Some(other) = &mut digests.by_rule {
                other.offer(at, data);
            }
        }
        self.advanced();
    }

    pub(super) fn advanced(&self) {
        let frontier = self.part.borrow().frontier();
        if let Some(digests) = self.digests.borrow_mut().as_mut() {
            digests.sha256.advance(frontier);
            if let Some(other) = &mut digests.by_rule {
                other.advance(frontier);
            }
        }
    }

    /// Whether a piece of the file may be joined with others: something must prove in the end, or
    /// in each answer, that they are of one version.
    pub(super) fn may_join(&self, want: &Want, version: &Version) -> bool {
        want.expected.is_some() || body::validator(version).is_some()
    }

    pub(super) fn restart(&self) -> Result<(), FetchError> {
        *self.digests.borrow_mut() = None;
        self.part.borrow_mut().reset()
    }
}
