//! `.fbin`, `.f16bin`, `.hbin`, `.u8bin`, `.i8bin`: n and dim, then `n x dim` values LE, row after row.
//!
//! ```text
//! bytes 0..4    u32 LE n              bytes 0..8     u64 LE n
//! bytes 4..8    u32 LE dim      or    bytes 8..16    u64 LE dim
//! bytes 8..     values                bytes 16..     values
//! ```
//!
//! cuVS writes the long header where the short one cannot hold the numbers. Nothing in a file says
//! which it has, but at most one of them agrees with its size: read as two u64, the numbers n and dim of a
//! short header are more than dim x 2^32 rows, and so more values than n x dim, as n is below 2^32.

use super::convert::Element;
use super::dense::Dense;
use super::reader::{Layout, Opened, check_shape};
use super::{Format, MAX_DIM, Problem};
use std::fs::File;
use std::io::Read;

const SHORT: u64 = 8;
const LONG: u64 = 16;

pub(super) fn open(format: Format, element: Element, mut file: File, size: u64) -> Opened {
    if size < SHORT {
        return Err(Problem::HeaderCut { expected: SHORT, found: size });
    }
    let mut header = [0; LONG as usize];
    let there = LONG.min(size) as usize;
    file.read_exact(&mut header[..there]).map_err(Problem::io("read"))?;
    let short: [u64; 2] = std::array::from_fn(|i| u64::from(u32::from_le_bytes(part(&header, i))));
    let long: [u64; 2] = std::array::from_fn(|i| u64::from_le_bytes(part(&header, i)));
    let is_long = size >= LONG && long[0] > 0 && (1..=MAX_DIM).contains(&long[1]);
    let (shape, data_start) = match bytes(long, element, LONG) {
        Some(expected) if is_long && expected == size => (long, LONG),
        expected if is_long && bytes(short, element, SHORT) != Some(size) => {
            let expected = [bytes(short, element, SHORT), expected];
            return Err(Problem::NoHeader { short, long, expected, found: size });
        }
        _ => (short, SHORT),
    };
    let dim = check_shape(format, shape, element.size(), data_start, size)?;
    let source = Dense { file, element, rows: shape[0], dim, data_start, by_columns: false };
    Ok((Layout::plain(shape[0], dim), Box::new(source)))
}

/// The `i`-th number of a header.
fn part<const N: usize>(header: &[u8; LONG as usize], i: usize) -> [u8; N] {
    header[i * N..][..N].try_into().expect("a header holds two numbers")
}

/// The size of a file of this shape, if it can be counted.
fn bytes([rows, dim]: [u64; 2], element: Element, data_start: u64) -> Option<u64> {
    rows.checked_mul(dim)?.checked_mul(element.size() as u64)?.checked_add(data_start)
}
