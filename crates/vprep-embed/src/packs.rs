//! Which texts go through the model together.

use std::ops::Range;

/// Tokens of a pack: enough that weights are read seldom, few enough that a pack's activations
/// stay close to the processor and that threads end together.
const TOKENS: usize = 1024;

/// Splits texts of these lengths into packs of successive texts, of about the same number of
/// tokens: about [`TOKENS`], or fewer where there would not be one for each thread.
pub(crate) fn split(lengths: &[u32], threads: usize) -> Vec<Range<usize>> {
    let total: usize = lengths.iter().map(|&length| length as usize).sum();
    let count = total.div_ceil(TOKENS).next_multiple_of(threads.max(1)).max(1);
    let mut packs = Vec::with_capacity(count);
    let (mut start, mut tokens, mut end) = (0, 0, 1);
    for (i, &length) in lengths.iter().enumerate() {
        // A text belongs to the pack in whose share its middle lies.
        if (tokens + length as usize / 2) * count >= total * end && i > start {
            packs.push(start..i);
            start = i;
        }
        while (tokens + length as usize / 2) * count >= total * end {
            end += 1;
        }
        tokens += length as usize;
    }
    if start < lengths.len() {
        packs.push(start..lengths.len());
    }
    packs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packs_hold_every_text_once_and_in_order(
            lengths in prop::collection::vec(2u32..513, 0..200),
            threads in 1usize..9,
        ) {
            let packs = split(&lengths, threads);
            let rows: Vec<usize> = packs.iter().cloned().flatten().collect();
            prop_assert_eq!(rows, (0..lengths.len()).collect::<Vec<_>>());
            for pack in packs {
                prop_assert!(!pack.is_empty());
                prop_assert!(lengths[pack].iter().sum::<u32>() <= 1024 + 512);
            }
        }
    }

    #[test]
    fn a_small_batch_is_shared_by_all_threads() {
        assert_eq!(split(&[10, 10, 10, 10], 2), [0..2, 2..4]);
        assert!(split(&[], 2).is_empty());
        assert_eq!(split(&[512], 2).len(), 1);
    }
}
