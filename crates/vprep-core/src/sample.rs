//! Seeded sampling without state: the subset rule and the split of queries.
//!
//! Row `r` has the key `mix(seed ^ mix(r))`, and a sample of `n` rows is the `n` smallest keys, in
//! row order. Every row's fate depends on its own number and on one threshold, so the rule works
//! shard by shard and in any order, and samples of one seed nest: 100k ⊂ 300k ⊂ 1M.
//!
//! ```
//! use vprep_core::sample::Sample;
//!
//! let small: Vec<u64> = Sample::new(7, 1_000, 3).rows().collect();
//! let large: Vec<u64> = Sample::new(7, 1_000, 30).rows().collect();
//! assert_eq!(small.len(), 3);
//! assert!(small.iter().all(|row| large.contains(row)));
//! ```

/// One step of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014): a bijection on `u64`.
pub const fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The sampling key of a row. Keys of one seed are all different, since `mix` is a bijection.
pub const fn key(seed: u64, row: u64) -> u64 {
    mix(seed ^ mix(row))
}

/// The rule in words, as manifests state it.
pub const RULE: &str =
    "n smallest keys splitmix64(seed xor splitmix64(row)) over parent rows, in parent order";

/// A sample of `take` of the rows `0..total`.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    seed: u64,
    total: u64,
    take: u64,
    /// Largest key kept.
    threshold: u64,
}

impl Sample {
    /// Finds the sample in O(total) time and constant memory.
    ///
    /// # Panics
    ///
    /// If `take` is greater than `total`.
    pub fn new(seed: u64, total: u64, take: u64) -> Self {
        assert!(take <= total, "a sample of {take} from {total} rows");
        Self { seed, total, take, threshold: threshold(seed, total, take) }
    }

    /// Whether `row` is in the sample.
    pub fn contains(&self, row: u64) -> bool {
        self.take > 0 && row < self.total && key(self.seed, row) <= self.threshold
    }

    /// The rows of the sample, ascending.
    pub fn rows(self) -> impl Iterator<Item = u64> {
        (0..self.total).filter(move |&row| self.contains(row))
    }
}

/// The `take`-th smallest key. Keys are uniform, so the bucket that holds it is found by counting
/// keys by their upper 16 bits, and only that bucket's keys are collected.
fn threshold(seed: u64, total: u64, take: u64) -> u64 {
    if take == 0 {
        return 0;
    }
    let mut counts = vec![0u64; 1 << 16];
    for row in 0..total {
        counts[(key(seed, row) >> 48) as usize] += 1;
    }
    let mut before = 0;
    let mut bucket = 0;
    while before + counts[bucket] < take {
        before += counts[bucket];
        bucket += 1;
    }
    let mut keys: Vec<u64> =
        (0..total).map(|row| key(seed, row)).filter(|key| key >> 48 == bucket as u64).collect();
    *keys.select_nth_unstable((take - before - 1) as usize).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mix_matches_the_published_sequence() {
        // The first outputs of SplitMix64 from seed 1234567, as given with its reference code.
        let step = 0x9E37_79B9_7F4A_7C15u64;
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
        assert_eq!(mix(1_234_567u64.wrapping_add(step)), 3_203_168_211_198_807_973);
    }

    proptest! {
        #[test]
        fn a_sample_is_the_smallest_keys(seed: u64, total in 0u64..400, part in 0.0f64..=1.0) {
            let take = (total as f64 * part) as u64;
            let mut plain: Vec<u64> = (0..total).collect();
            plain.sort_by_key(|&row| key(seed, row));
            plain.truncate(take as usize);
            plain.sort_unstable();
            let rows: Vec<u64> = Sample::new(seed, total, take).rows().collect();
            prop_assert_eq!(rows, plain);
        }
    }
}
