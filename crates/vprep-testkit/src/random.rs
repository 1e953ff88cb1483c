//! Random mixes of faults, from a seed.

use vprep_core::sample::mix;

use crate::fault::{Declared, Fault, RetryAfter, Rule};

/// Longest pause that a mix asks for: two of them fit into a test's second.
const MAX_PAUSE_MILLIS: u64 = 400;

/// A source of random faults: the same seed, the same faults.
///
/// ```
/// use vprep_testkit::Faults;
///
/// let mix = Faults::random(7).rules("files/a", 1_000_000);
/// assert_eq!(mix, Faults::random(7).rules("files/a", 1_000_000));
/// assert!((1..=4).contains(&mix.len()));
/// ```
#[derive(Clone, Debug)]
pub struct Faults {
    state: u64,
}

impl Faults {
    /// Faults of a seed.
    pub fn random(seed: u64) -> Self {
        Self { state: mix(seed ^ 0x5EED) }
    }

    /// One to four rules for a file of `len` bytes: each skips up to two requests, then strikes one
    /// to three. About one rule in sixteen strikes for ever, so that some fetches must fail.
    pub fn rules(&mut self, path: &str, len: u64) -> Vec<Rule> {
        let count = 1 + self.below(4);
        (0..count)
            .map(|_| {
                let rule = Rule::new(path, self.fault(len)).skip(self.below(3));
                if self.below(16) == 0 { rule } else { rule.times(1 + self.below(3)) }
            })
            .collect()
    }

    /// One fault that makes sense for a file of `len` bytes.
    pub fn fault(&mut self, len: u64) -> Fault {
        let len = len.max(2);
        match self.below(18) {
            0..=2 => Fault::Cut { after: self.below(len) },
            3 => Fault::NoResponse,
            4 => Fault::Stall { after: self.below(len), millis: self.below(MAX_PAUSE_MILLIS) },
            // Never longer than two seconds for the whole file.
            5 => Fault::Slow { bytes_per_second: (len / 2).max(1) + self.below(len) },
            6..=7 => Fault::FlipByte { offset: self.below(len) },
            8 => Fault::ShortBody {
                missing: 1 + self.below(len - 1),
                declared: [Declared::Full, Declared::Short, Declared::Nothing]
                    [self.below(3) as usize],
            },
            9 => Fault::HtmlPage,
            10 => Fault::IgnoreRange,
            11 => Fault::NewVersion,
            12 => Fault::TooManyRequests {
                retry_after: [
                    RetryAfter::Absent,
                    RetryAfter::Seconds(self.below(2)),
                    RetryAfter::Date(self.below(2)),
                ][self.below(3) as usize],
            },
            13 => Fault::Status { code: [500, 502, 503, 504][self.below(4) as usize] },
            14 => Fault::RedirectLoop,
            15 => Fault::Status { code: 404 },
            16 => Fault::WrongContentLength { delta: [-1, 1, 1000][self.below(3) as usize] },
            _ => Fault::WrongContentRange {
                shift: [-1, 1, 4096][self.below(3) as usize],
                bytes_too: self.below(2) == 0,
            },
        }
    }

    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(1);
        mix(self.state) % bound
    }
}
