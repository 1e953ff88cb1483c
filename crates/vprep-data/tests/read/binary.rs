//! `.fbin`, `.fvecs` and their kin.

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

#[test]
fn halves_and_bytes_are_the_numbers_they_were() {
    let files = Files::new();
    let header = [2u32, 2].map(u32::to_le_bytes).concat();
    let bin = |values: &[u8]| [header.as_slice(), values].concat();
    let halves: [u8; 8] = [0x00, 0x3c, 0x00, 0xbc, 0x01, 0x00, 0xff, 0x7b];
    for name in ["a.f16bin", "a.hbin"] {
        files.write(name, &bin(&halves));
        let smallest = 2f32.powi(-24);
        assert_eq!(files.vectors(name), (vec![1.0, -1.0, smallest, 65_504.0], 2));
    }
    files.write("a.u8bin", &bin(&[0, 127, 128, 255]));
    assert_eq!(files.vectors("a.u8bin"), (vec![0.0, 127.0, 128.0, 255.0], 2));
    files.write("a.i8bin", &bin(&[0, 127, 128, 255]));
    assert_eq!(files.vectors("a.i8bin"), (vec![0.0, 127.0, -128.0, -1.0], 2));
    files.write("a.bvecs", &[2, 0, 0, 0, 0, 127, 2, 0, 0, 0, 128, 255]);
    assert_eq!(files.vectors("a.bvecs"), (vec![0.0, 127.0, 128.0, 255.0], 2));
    files.write("b.bvecs", &[2, 0, 0, 0, 0, 127, 3, 0, 0, 0, 128, 255]);
    let error = files.error("b.bvecs", &ReadOptions::default());
    assert_eq!(error, "b.bvecs: row 1: has dimension 3, but row 0 has 2");
    files.write("c.bvecs", &[2, 0, 0, 0, 0]);
    let error = files.error("c.bvecs", &ReadOptions::default());
    assert!(error.ends_with("it is cut short, or not a bvecs file"), "{error}");
}

#[test]
fn the_header_is_the_one_that_agrees_with_the_size() {
    let files = Files::new();
    let long = |rows: u64, dim: u64, values: &[u8]| {
        [&rows.to_le_bytes(), &dim.to_le_bytes(), values].concat()
    };
    files.write("a.u8bin", &long(2, 3, &[1, 2, 3, 4, 5, 6]));
    assert_eq!(files.vectors("a.u8bin"), (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3));
    files.write("b.u8bin", &long(2, 3, &[1, 2, 3, 4, 5]));
    assert_eq!(
        files.error("b.u8bin", &ReadOptions::default()),
        "b.u8bin: has 21 bytes, but its header declares 2 x 0 values in two u32, which make 8 bytes, \
         or 2 x 3 in two u64, which make 22 bytes; it is cut short, or of another type"
    );
    // Zeros, which a long header would take for a dimension of 0.
    files.write("c.u8bin", &[1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(files.vectors("c.u8bin"), (vec![0.0; 8], 8));
}
