//! Which bytes are there, and which are missing.

use super::Part;
use std::collections::VecDeque;
use std::ops::Range;

impl Part {
    /// The length turned out when the stream ended.
    pub(crate) fn end(&mut self, bytes: u64) {
        self.open_ended = true;
        self.learn(bytes);
    }

    /// A later answer named the length.
    pub(crate) fn learn(&mut self, bytes: u64) {
        self.version.bytes = Some(bytes);
        self.blocks.resize(self.count(bytes), 0);
        self.have = self.blocks.iter().sum();
        self.front = 0;
        while self.front < self.blocks.len() && self.blocks[self.front] == self.length(self.front) {
            self.front += 1;
        }
    }

    pub(super) fn count(&self, bytes: u64) -> usize {
        usize::try_from(bytes.div_ceil(self.block)).expect("a file has fewer blocks than memory")
    }

    fn length(&self, index: usize) -> u64 {
        let start = index as u64 * self.block;
        self.version.bytes.map_or(self.block, |bytes| bytes.saturating_sub(start).min(self.block))
    }

    pub(super) fn set(&mut self, index: usize, bytes: u64) {
        if index >= self.blocks.len() {
            if self.version.bytes.is_some() {
                return;
            }
            self.blocks.resize(index + 1, 0);
        }
        let bytes = bytes.min(self.length(index));
        self.have = self.have - self.blocks[index] + bytes;
        self.high = self.high.max(self.have);
        self.blocks[index] = bytes;
        while self.front < self.blocks.len() && self.blocks[self.front] == self.length(self.front) {
            self.front += 1;
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.version.bytes == Some(self.have)
    }

    /// Bytes without a gap from the beginning.
    pub(crate) fn frontier(&self) -> u64 {
        let cut = self.blocks.get(self.front).copied().unwrap_or(0);
        let whole = self.front as u64 * self.block;
        self.version.bytes.map_or(whole + cut, |bytes| bytes.min(whole + cut))
    }

    /// What is missing at or after `from`, in spans of at most `longest` (whole blocks). Before the
    /// length is known, one span from the frontier.
    pub(crate) fn missing(&self, from: u64, longest: u64) -> VecDeque<Range<u64>> {
        let Some(bytes) = self.version.bytes else {
            let start = self.frontier();
            return std::iter::once(start..start + longest).collect();
        };
        let mut spans: VecDeque<Range<u64>> = VecDeque::new();
        for (index, &have) in self.blocks.iter().enumerate() {
            let start = index as u64 * self.block;
            let end = (start + self.block).min(bytes);
            if start + have >= end || start < from {
                continue;
            }
            match spans.back_mut() {
                Some(last) if have == 0 && last.end == start && end - last.start <= longest => {
                    last.end = end;
                }
                _ => spans.push_back(start + have..end),
            }
        }
        spans
    }
}
