//! `.npy`. The header has its own tests beside its code.

use crate::Files;
use half::f16;
use proptest::prelude::*;
use vprep_data::read::{ReadOptions, non_finite_rows};

fn npy(descr: &str, fortran_order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran_order}, 'shape': {shape}, }}");
    header.extend(std::iter::repeat_n(' ', 117 - header.len()));
    header.push('\n');
    [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), data].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_matrix_reads_back_in_either_order(rows in 1usize..40, dim in 1usize..40, seed: u32) {
        let value = |i: usize, j: usize| f32::from_bits(seed.wrapping_mul((i * dim + j) as u32 | 1));
        let by_rows: Vec<f32> = (0..rows).flat_map(|i| (0..dim).map(move |j| value(i, j))).collect();
        let by_columns: Vec<f32> =
            (0..dim).flat_map(|j| (0..rows).map(move |i| value(i, j))).collect();
        let shape = format!("({rows}, {dim})");
        let files = Files::new();
        files.write("c.npy", &npy("<f4", "False", &shape, bytemuck::cast_slice(&by_rows)));
        files.write("f.npy", &npy("<f4", "True", &shape, bytemuck::cast_slice(&by_columns)));
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        for name in ["c.npy", "f.npy"] {
            let (read, read_dim) = files.vectors(name);
            prop_assert_eq!(read_dim, dim);
            prop_assert_eq!(bits(&read), bits(&by_rows));
        }
    }
}

#[test]
fn every_type_of_value_is_read() {
    let files = Files::new();
    let read = |descr: &str, data: &[u8]| {
        files.write("a.npy", &npy(descr, "False", "(1, 2)", data));
        let by_rows = files.vectors("a.npy").0;
        files.write("a.npy", &npy(descr, "True", "(1, 2)", data));
        assert_eq!(files.vectors("a.npy").0, by_rows);
        by_rows
    };
    let halves = [f16::from_f32(0.5), f16::MAX];
    assert_eq!(read("<f2", bytemuck::cast_slice(&halves)), [0.5, 65_504.0]);
    assert_eq!(read("<f4", bytemuck::cast_slice(&[0.5f32, 1e38])), [0.5, 1e38]);
    assert_eq!(read("<f8", bytemuck::cast_slice(&[0.1f64, 1e-300])), [0.1, 0.0]);
    assert_eq!(read("|i1", &[0x81, 0x7f]), [-127.0, 127.0]);
    assert_eq!(read("|u1", &[0x81, 0x7f]), [129.0, 127.0]);
}

#[test]
fn columns_longer_than_a_batch_are_gathered() {
    let files = Files::new();
    let rows = 20_001;
    let by_columns: Vec<f32> =
        (0..3).flat_map(|j| (0..rows).map(move |i| (i * 3 + j) as f32)).collect();
    let bytes = npy("<f4", "True", "(20001, 3)", bytemuck::cast_slice(&by_columns));
    files.write("a.npy", &bytes);
    assert_eq!(files.vectors("a.npy").0, (0..rows * 3).map(|i| i as f32).collect::<Vec<_>>());
}

#[test]
fn a_broken_file_says_what_is_wrong() {
    let files = Files::new();
    let error = |bytes: &[u8]| {
        files.write("a.npy", bytes);
        files.error("a.npy", &ReadOptions::default())
    };
    let plain = |shape: &str, bytes: usize| error(&npy("<f4", "False", shape, &vec![0; bytes]));
    assert_eq!(
        error(b"hello, world"),
        "a.npy: is not an npy file: it does not start with \\x93NUMPY"
    );
    assert_eq!(
        error(&npy("<f4", "False", "(1, 1)", b"")[..100]),
        "a.npy: its header needs 128 bytes, but only 100 are there: the file is cut short"
    );
    assert_eq!(
        plain("(2, 3)", 20),
        "a.npy: declares 2 x 3 values, which make a file of 152 bytes, but it has 148: 4 \
         are missing, the file is cut short"
    );
    assert_eq!(
        plain("(2, 3)", 25),
        "a.npy: declares 2 x 3 values, which make a file of 152 bytes, but it has 153: 1 \
         too many"
    );
    assert_eq!(
        plain("(4294967296, 4294967296)", 0),
        "a.npy: declares 4294967296 x 4294967296 values, more than any file can hold"
    );
    assert_eq!(
        plain("(4611686018427387904, 4)", 0),
        "a.npy: declares 4611686018427387904 x 4 values, more than any file can hold"
    );
    assert_eq!(
        plain("(1, 1048577)", 4 * 1_048_577),
        "a.npy: declares vectors of 1048577 values; the most is 1048576, so it may not be a npy \
         file"
    );
    assert_eq!(plain("(0, 3)", 0), "a.npy: holds no vectors (0 x 3)");
    assert_eq!(plain("(3, 0)", 0), "a.npy: holds no vectors (3 x 0)");
    let shape = |shape: &str| {
        format!("a.npy: its shape is {shape}; vectors have two dimensions, rows x values")
    };
    assert_eq!(plain("(3,)", 12), shape("(3,)"));
    assert_eq!(plain("()", 4), shape("()"));
    assert_eq!(plain("(1, 2, 3)", 24), shape("(1, 2, 3)"));
    assert_eq!(
        error(&npy(">f4", "False", "(1, 1)", &[0; 4])),
        "a.npy: its values are big-endian (`>f4`); save it again from numpy with \
         `a.astype('<f4')`"
    );
    assert_eq!(
        error(&npy("<i8", "False", "(1, 1)", &[0; 8])),
        "a.npy: its values are of type `<i8`; vectors are `<f2`, `<f4`, `<f8`, `|i1` or `|u1`: \
         save it again from numpy with `a.astype('<f4')`"
    );
}

#[test]
fn values_beyond_float32_are_named_by_row() {
    let files = Files::new();
    let data = [0.0, 1.0, 1e39, 2.0, f64::INFINITY, 3.0, -1e39, 4.0];
    files.write("a.npy", &npy("<f8", "False", "(4, 2)", bytemuck::cast_slice(&data)));
    let message = "a.npy: rows 1, 3: a value is beyond the range of float32 (3.4e38)";
    assert_eq!(files.error("a.npy", &ReadOptions::default()), message);
    files.write("a.npy", &npy("<f8", "True", "(4, 2)", bytemuck::cast_slice(&data)));
    let message = "a.npy: row 2: a value is beyond the range of float32 (3.4e38)";
    assert_eq!(files.error("a.npy", &ReadOptions::default()), message);
}

#[test]
fn values_that_are_no_numbers_are_left_to_the_caller() {
    let files = Files::new();
    let data = [0.0, f32::NAN, 1.0, 2.0, f32::NEG_INFINITY, 0.0];
    files.write("a.npy", &npy("<f4", "False", "(3, 2)", bytemuck::cast_slice(&data)));
    let (vectors, dim) = files.vectors("a.npy");
    assert_eq!(non_finite_rows(&vectors, dim, 7).collect::<Vec<_>>(), [7, 9]);
}
