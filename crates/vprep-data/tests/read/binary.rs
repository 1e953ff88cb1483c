//! `.fbin` and `.fvecs`.

use crate::Files;
use proptest::prelude::*;
use vprep_data::read::{ReadOptions, VectorReader};

fn le(values: &[f32]) -> impl Iterator<Item = u8> + '_ {
    values.iter().flat_map(|value| value.to_le_bytes())
}

fn fbin(rows: u32, dim: u32, values: &[f32]) -> Vec<u8> {
    rows.to_le_bytes().into_iter().chain(dim.to_le_bytes()).chain(le(values)).collect()
}

fn fvecs(rows: &[&[f32]]) -> Vec<u8> {
    let row = |row: &&[f32]| {
        let dim = row.len() as i32;
        dim.to_le_bytes().into_iter().chain(le(row).collect::<Vec<_>>())
    };
    rows.iter().flat_map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_matrix_reads_back(rows in 1usize..40, dim in 1usize..40, seed: u32) {
        let values: Vec<f32> =
            (0..rows * dim).map(|i| f32::from_bits(seed.wrapping_mul(i as u32 | 1))).collect();
        let files = Files::new();
        files.write("a.fbin", &fbin(rows as u32, dim as u32, &values));
        files.write("a.fvecs", &fvecs(&values.chunks(dim).collect::<Vec<_>>()));
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        for name in ["a.fbin", "a.fvecs"] {
            let (read, read_dim) = files.vectors(name);
            prop_assert_eq!(read_dim, dim);
            prop_assert_eq!(bits(read), bits(values.clone()));
        }
    }
}

#[test]
fn many_rows_come_in_several_batches() {
    let files = Files::new();
    let values: Vec<f32> = (0..20_001 * 3).map(|i| i as f32).collect();
    files.write("a.fbin", &fbin(20_001, 3, &values));
    files.write("a.fvecs", &fvecs(&values.chunks(3).collect::<Vec<_>>()));
    for name in ["a.fbin", "a.fvecs"] {
        let batches = files.read(name, &ReadOptions::default()).expect("reads");
        assert_eq!(batches.iter().map(|b| b.rows).collect::<Vec<_>>(), [8_192, 8_192, 3_617]);
        assert_eq!(batches.into_iter().flat_map(|b| b.vectors).collect::<Vec<_>>(), values);
    }
}

#[test]
fn nothing_more_comes_after_the_last_batch() {
    let files = Files::new();
    let path = files.write("a.fvecs", &fvecs(&[&[1.0]]));
    let mut reader = VectorReader::open(&path, &ReadOptions::default()).expect("opens");
    assert!(reader.next_batch().expect("reads").is_some());
    assert!(reader.next_batch().expect("ends").is_none());
    assert!(reader.next_batch().expect("ends").is_none());
}

#[test]
fn a_broken_fbin_says_what_is_wrong() {
    let files = Files::new();
    let error = |bytes: &[u8]| {
        files.write("a.fbin", bytes);
        files.error("a.fbin", &ReadOptions::default())
    };
    let whole = fbin(2, 3, &[0.0; 6]);
    assert_eq!(
        error(&whole[..5]),
        "a.fbin: its header needs 8 bytes, but only 5 are there: the file is cut short"
    );
    assert_eq!(
        error(&whole[..30]),
        "a.fbin: declares 2 x 3 values, which make a file of 32 bytes, but it has 30: 2 are \
         missing, the file is cut short"
    );
    assert_eq!(
        error(&[&whole[..], b"abc"].concat()),
        "a.fbin: declares 2 x 3 values, which make a file of 32 bytes, but it has 35: 3 too many"
    );
    assert_eq!(error(&fbin(0, 3, &[])), "a.fbin: holds no vectors (0 x 3)");
    assert_eq!(error(&fbin(3, 0, &[])), "a.fbin: holds no vectors (3 x 0)");
    assert_eq!(
        error(&fbin(u32::MAX, u32::MAX, &[])),
        "a.fbin: declares 4294967295 x 4294967295 values, more than any file can hold"
    );
    let wide = (1 << 20) + 1;
    assert_eq!(
        error(&fbin(1, wide, &vec![0.0; wide as usize])),
        "a.fbin: declares vectors of 1048577 values; the most is 1048576, so it may not be a fbin \
         file"
    );
}

#[test]
fn a_broken_fvecs_says_what_is_wrong() {
    let files = Files::new();
    let error = |bytes: &[u8]| {
        files.write("a.fvecs", bytes);
        files.error("a.fvecs", &ReadOptions::default())
    };
    let whole = fvecs(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]]);
    assert_eq!(error(b""), "a.fvecs: holds no vectors (0 x 0)");
    assert_eq!(
        error(&whole[..3]),
        "a.fvecs: its header needs 4 bytes, but only 3 are there: the file is cut short"
    );
    assert_eq!(
        error(&whole[..31]),
        "a.fvecs: its 31 bytes are no whole rows of 16 bytes (dimension 3); it is cut short, or \
         not a fvecs file"
    );
    for dim in [0, -3, i32::MIN, (1 << 20) + 1] {
        assert_eq!(
            error(&dim.to_le_bytes()),
            format!(
                "a.fvecs: row 0: has dimension {dim}, which is not in 1 to 1048576; it may not be \
                 a fvecs file"
            )
        );
    }
    // Rows of 1 and 3 values make up for each other.
    let ragged = fvecs(&[&[1.0, 2.0], &[3.0, 4.0], &[5.0], &[6.0, 7.0, 8.0]]);
    assert_eq!(error(&ragged), "a.fvecs: row 2: has dimension 1, but row 0 has 2");
    let mut negative = fvecs(&[&[1.0], &[2.0]]);
    negative[8..12].copy_from_slice(&(-1i32).to_le_bytes());
    assert_eq!(error(&negative), "a.fvecs: row 1: has dimension -1, but row 0 has 1");
}
