//! `.fbin`: u32 LE n, u32 LE dim, then `n x dim` float32 LE, row after row.

use super::convert::Element;
use super::dense::Dense;
use super::reader::{Layout, Opened, check_shape};
use super::{Format, Problem};
use std::fs::File;
use std::io::Read;

const HEADER: u64 = 8;

pub(super) fn open(mut file: File, size: u64) -> Opened {
    if size < HEADER {
        return Err(Problem::HeaderCut { expected: HEADER, found: size });
    }
    let mut header = [0; HEADER as usize];
    file.read_exact(&mut header).map_err(Problem::io("read"))?;
    let [n0, n1, n2, n3, d0, d1, d2, d3] = header;
    let rows = u64::from(u32::from_le_bytes([n0, n1, n2, n3]));
    let dim = u64::from(u32::from_le_bytes([d0, d1, d2, d3]));
    let element = Element::F32;
    let dim = check_shape(Format::Fbin, [rows, dim], element.size(), HEADER, size)?;
    let source = Dense { file, element, rows, dim, data_start: HEADER, by_columns: false };
    Ok((Layout::plain(rows, dim), Box::new(source)))
}
