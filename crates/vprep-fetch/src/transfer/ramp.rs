//! How many connections a file is worth.
//!
//! On a slow line several connections bring more than one. On a fast one they bring less: the
//! machine is then the limit, and bytes that come from several places of a file are written, hashed
//! and cached in a worse order. So a file begins with one connection, and gets more while the bytes
//! come too slowly to be the machine's doing.

use std::time::{Duration, Instant};

/// How long bytes are counted.
const TICK: Duration = Duration::from_millis(200);

/// Counts bytes, and opens the gate when they come slowly.
#[derive(Debug)]
pub(super) struct Ramp {
    connections: usize,
    /// Bytes per second that are fast.
    fast: u64,
    since: Instant,
    bytes: u64,
}

impl Ramp {
    /// Begins with one connection, or with all if nothing is fast. `bytes` is how many came until
    /// now.
    pub(super) fn new(fast: u64, bytes: u64) -> Self {
        let connections = if fast == u64::MAX { usize::MAX } else { 1 };
        Self { connections, fast, since: Instant::now(), bytes }
    }

    /// How many connections may be open now that `bytes` bytes have come.
    pub(super) fn connections(&mut self, bytes: u64) -> usize {
        let passed = self.since.elapsed();
        if passed >= TICK {
            let rate = (bytes - self.bytes) as f64 / passed.as_secs_f64();
            if rate < self.fast as f64 {
                self.connections = self.connections.saturating_mul(2);
            }
            (self.since, self.bytes) = (Instant::now(), bytes);
        }
        self.connections
    }

    /// When to ask again.
    pub(super) fn wait(&self) -> Duration {
        TICK.saturating_sub(self.since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_double_while_bytes_come_slowly() {
        let mut ramp = Ramp::new(1000, 0);
        assert_eq!(ramp.connections(1), 1, "too early to know");
        ramp.since -= TICK;
        assert_eq!(ramp.connections(100), 2);
        ramp.since -= TICK;
        assert_eq!(ramp.connections(10_000), 2);
        ramp.since -= TICK;
        assert_eq!(ramp.connections(10_100), 4);
    }
}
