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

/// The same where some rows are kept in any case, as manifests state it.
pub const RULE_WITH_KEPT: &str = "the rows kept in any case, and of the others the smallest keys \
    splitmix64(seed xor splitmix64(row)) over parent rows, n in all, in parent order";

/// A sample of some of the rows `0..total`.
#[derive(Clone, Debug)]
pub struct Sample {
    seed: u64,
    total: u64,
    /// Largest key drawn; none if no row is drawn.
    threshold: Option<u64>,
    /// Rows in the sample whatever their key, a bit each.
    kept: Vec<u64>,
}

impl Sample {
    /// Finds the sample in O(total) time and constant memory.
    ///
    /// # Panics
    ///
    /// If `take` is greater than `total`.
    pub fn new(seed: u64, total: u64, take: u64) -> Self {
        Self::with_kept(seed, total, take, [])
    }

    /// Finds the sample of `take` rows in which the rows `kept` are in any case, each once. The
    /// others have the smallest keys of the rest, so samples nest as long as `kept` is the same.
    ///
    /// # Panics
    ///
    /// If `take` is greater than `total`, `kept` holds more than `take` rows or one not below
    /// `total`.
    pub fn with_kept(
        seed: u64,
        total: u64,
        take: u64,
        kept: impl IntoIterator<Item = u64>,
    ) -> Self {
        assert!(take <= total, "a sample of {take} from {total} rows");
        let mut bits = Vec::new();
        let mut draw = take;
        for row in kept {
            assert!(row < total, "row {row} of {total} kept");
            bits.resize(total.div_ceil(64) as usize, 0);
            let (word, bit) = place(row);
            if bits[word] & bit == 0 {
                bits[word] |= bit;
                draw = draw.checked_sub(1).expect("no more rows are kept than taken");
            }
        }
        let mut sample = Self { seed, total, threshold: None, kept: bits };
        sample.threshold = sample.find_threshold(draw);
        sample
    }

    /// Whether `row` is in the sample.
    pub fn contains(&self, row: u64) -> bool {
        let drawn = self.threshold.is_some_and(|threshold| key(self.seed, row) <= threshold);
        row < self.total && (drawn || self.is_kept(row))
    }

    /// Whether `row` is in the sample whatever its key.
    pub fn is_kept(&self, row: u64) -> bool {
        let (word, bit) = place(row);
        self.kept.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// The rows of the sample, ascending.
    pub fn rows(self) -> impl Iterator<Item = u64> {
        (0..self.total).filter(move |&row| self.contains(row))
    }

    /// The `draw`-th smallest key of the rows that are not kept anyway. Keys are uniform, so the
    /// bucket that holds it is found by counting keys by their upper 16 bits, and only that
    /// bucket's keys are collected.
    fn find_threshold(&self, draw: u64) -> Option<u64> {
        let keys = || {
            let rows = (0..self.total).filter(|&row| !self.is_kept(row));
            rows.map(|row| key(self.seed, row))
        };
        let last = draw.checked_sub(1)?;
        let mut counts = vec![0u64; 1 << 16];
        keys().for_each(|key| counts[(key >> 48) as usize] += 1);
        let mut before = 0;
        let mut bucket = 0;
        while before + counts[bucket] <= last {
            before += counts[bucket];
            bucket += 1;
        }
        let mut keys: Vec<u64> = keys().filter(|key| key >> 48 == bucket as u64).collect();
        Some(*keys.select_nth_unstable((last - before) as usize).1)
    }
}

/// The word and the bit of a row.
fn place(row: u64) -> (usize, u64) {
    ((row / 64) as usize, 1 << (row % 64))
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

        #[test]
        fn kept_rows_are_in_and_the_rest_are_the_smallest_keys(
            seed: u64,
            kept in proptest::collection::btree_set(0u64..300, 0..40),
            part in 0.0f64..=1.0,
        ) {
            let take = kept.len() as u64 + ((300 - kept.len()) as f64 * part) as u64;
            let mut others: Vec<u64> = (0..300).filter(|row| !kept.contains(row)).collect();
            others.sort_by_key(|&row| key(seed, row));
            others.truncate(take as usize - kept.len());
            let mut plain: Vec<u64> = others.into_iter().chain(kept.iter().copied()).collect();
            plain.sort_unstable();
            let sample = Sample::with_kept(seed, 300, take, kept.iter().copied());
            prop_assert!(kept.iter().all(|&row| sample.is_kept(row)));
            let rows: Vec<u64> = sample.rows().collect();
            prop_assert_eq!(rows, plain);
        }
    }
}
