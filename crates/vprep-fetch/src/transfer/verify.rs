//! What proves that a file is whole: its digests, computed while it grows.

use super::flush::Flush;
use super::follow::Follower;
use super::growing::{Digests, Growing};
use super::{Engine, Origin, Want};
use crate::digest::Hasher;
use crate::{Expected, FetchError, Verified};
use futures_util::future::join;

impl Engine<'_> {
    /// Compares the digests. The outer error is of this machine.
    pub(super) async fn verify(
        &self,
        want: &Want,
        origin: &Origin,
        growing: &Growing,
    ) -> Result<Result<(String, Verified), FetchError>, FetchError> {
        let bytes = growing.part.borrow().have();
        self.start_digests(want, growing, bytes)?;
        let mut digests = growing.digests.borrow_mut().take().expect("started above");
        let failed = |error| FetchError::io("read", &want.part)(error);
        let mut flush = growing.flush.replace(Flush::new(growing.part.borrow().file()));
        // What is left to sync goes to the disk while the rest is hashed.
        let (sha256, synced) = join(digests.sha256.finish(bytes), flush.finish()).await;
        let sha256 = sha256.map_err(failed)?;
        synced.map_err(FetchError::io("write", &want.part))?;
        let Some(expected) = &want.expected else {
            let found = want.bytes.is_none() && growing.part.borrow().was_open_ended();
            let verified = if found { Verified::Nothing } else { Verified::Length };
            return Ok(Ok((sha256, verified)));
        };
        let found = match &mut digests.by_rule {
            Some(other) => other.finish(bytes).await.map_err(failed)?,
            None => sha256.clone(),
        };
        if found == expected.text() {
            return Ok(Ok((sha256, Verified::Digest)));
        }
        Ok(Err(FetchError::Digest {
            url: origin.shown(),
            algorithm: expected.algorithm(),
            expected: expected.text().to_owned(),
            found,
        }))
    }

    /// Starts the hashing threads of a part, which has or will have `bytes` bytes.
    pub(super) fn start_digests(
        &self,
        want: &Want,
        growing: &Growing,
        bytes: u64,
    ) -> Result<(), FetchError> {
        let mut digests = growing.digests.borrow_mut();
        if digests.is_none() {
            let start = |hasher| {
                Follower::start(growing.part.borrow().file(), hasher)
                    .map_err(FetchError::io("hash", &want.part))
            };
            let by_rule = match &want.expected {
                None | Some(Expected::Sha256(_)) => None,
                Some(rule) => Some(start(Hasher::new(rule, bytes))?),
            };
            *digests = Some(Digests { sha256: start(Hasher::sha256())?, by_rule });
        }
        Ok(())
    }
}
