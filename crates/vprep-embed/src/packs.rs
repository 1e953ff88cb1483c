//! Which texts go through the model together.

use std::ops::Range;

/// Tokens of a pack on a CPU: enough that weights are read seldom, few enough that a pack's activations
/// stay close to the processor and that threads end together.
pub(crate) const TOKENS: usize = 1024;

/// Splits texts of these lengths into packs of successive texts, of about the same number of
/// tokens: about `size`, or fewer where there would not be one for each thread.
pub(crate) fn split(lengths: &[u32], size: usize, threads: usize) -> Vec<Range<usize>> {
    let total: usize = lengths.iter().map(|&length| length as usize).sum();
    let count = total.div_ceil(size).next_multiple_of(threads.max(1)).max(1);
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

/// Groups texts of these lengths into batches that are padded to their longest text: those of about
/// the same length together, and no more than `limit` tokens with the padding, unless one text has
/// more.
pub(crate) fn padded(lengths: &[usize], limit: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    // The longest first: what does not fit into memory fails at once. Equals keep their order.
    order.sort_by_key(|&text| std::cmp::Reverse(lengths[text]));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for text in order {
        match batches.last_mut() {
            Some(batch) if (batch.len() + 1) * lengths[batch[0]] <= limit => batch.push(text),
            _ => batches.push(vec![text]),
        }
    }
    batches
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
            let packs = split(&lengths, TOKENS, threads);
            let rows: Vec<usize> = packs.iter().cloned().flatten().collect();
            prop_assert_eq!(rows, (0..lengths.len()).collect::<Vec<_>>());
            for pack in packs {
                prop_assert!(!pack.is_empty());
                prop_assert!(lengths[pack].iter().sum::<u32>() <= 1024 + 512);
            }
        }
    }

    proptest! {
        #[test]
        fn padded_batches_hold_every_text_once_and_stay_small(
            lengths in prop::collection::vec(2usize..65, 0..200),
        ) {
            let batches = padded(&lengths, 256);
            let mut rows: Vec<usize> = batches.iter().flatten().copied().collect();
            rows.sort_unstable();
            prop_assert_eq!(rows, (0..lengths.len()).collect::<Vec<_>>());
            for batch in batches {
                let longest = batch.iter().map(|&text| lengths[text]).max().expect("not empty");
                prop_assert!(batch.len() * longest <= 256);
            }
        }
    }

    #[test]
    fn padded_batches_take_the_longest_first() {
        assert_eq!(padded(&[3, 9, 4, 9], 18), [vec![1, 3], vec![2, 0]]);
        assert_eq!(padded(&[3, 9], 2), [[1], [0]]);
    }

    #[test]
    fn a_small_batch_is_shared_by_all_threads() {
        assert_eq!(split(&[10, 10, 10, 10], TOKENS, 2), [0..2, 2..4]);
        assert!(split(&[], TOKENS, 2).is_empty());
        assert_eq!(split(&[512], TOKENS, 2).len(), 1);
    }
}
