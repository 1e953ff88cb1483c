//! `.npy`: NumPy's header (see [`npy_header`](super::npy_header)), then the values.

use super::convert::Element;
use super::dense::Dense;
use super::npy_header::NpyHeader;
use super::reader::{Layout, Opened, check_shape};
use super::{Format, Problem};
use std::fs::File;

pub(super) fn open(mut file: File, size: u64) -> Opened {
    let NpyHeader { descr, fortran_order, shape, data_start } = NpyHeader::read(&mut file, size)?;
    let element = match descr.as_str() {
        "<f2" => Element::F16,
        "<f4" => Element::F32,
        "<f8" => Element::F64,
        "|i1" => Element::I8,
        "|u1" => Element::U8,
        ">f2" | ">f4" | ">f8" => return Err(Problem::BigEndian { descr }),
        _ => return Err(Problem::NpyType { descr }),
    };
    let &[rows, dim] = &shape[..] else { return Err(Problem::Shape { shape }) };
    let dim = check_shape(Format::Npy, [rows, dim], element.size(), data_start, size)?;
    let source = Dense { file, element, rows, dim, data_start, by_columns: fortran_order };
    Ok((Layout::plain(rows, dim), Box::new(source)))
}
