//! `.fbin`, `.f16bin`, `.hbin`, `.u8bin`, `.i8bin`: n and dim, then `n x dim` values LE, row after row.
//!
//! ```text
//! bytes 0..4    u32 LE n              bytes 0..8     u64 LE n
//! bytes 4..8    u32 LE dim      or    bytes 8..16    u64 LE dim
//! bytes 8..     values                bytes 16..     values
//! ```
//!
//! cuVS writes the long header where the short one cannot hold the numbers. Nothing in a file says
//! which it has, but only one of them agrees with its size.

use super::convert::Element;
use super::dense::Dense;
use super::reader::{Layout, Opened, check_shape};
use super::{Format, Problem};
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
    let fits = |shape: [u64; 2], start| bytes(shape, element, start) == Some(size);
    let long_fits = size >= LONG && fits(long, LONG);
    let (shape, data_start) = match (fits(short, SHORT), long_fits) {
        (true, true) => return Err(Problem::TwoHeaders { short, long, found: size }),
        (false, true) => (long, LONG),
        (true, false) => (short, SHORT),
        (false, false)
            if size >= LONG && long[0] > 0 && (1..=super::MAX_DIM).contains(&long[1]) =>
        {
            let expected = [bytes(short, element, SHORT), bytes(long, element, LONG)];
            return Err(Problem::NoHeader { short, long, expected, found: size });
        }
        (false, false) => (short, SHORT),
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
