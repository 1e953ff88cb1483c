//! Values of other types, as `f32`.

use half::f16;
use half::slice::HalfFloatSliceExt;
use vprep_core::RowList;

/// The type of the values in a file without columns, all little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F16,
    F32,
    F64,
    I8,
    U8,
}

impl Element {
    /// Bytes of one value.
    pub(super) const fn size(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
            Self::I8 | Self::U8 => 1,
        }
    }

    /// Appends the values of `bytes` to `out`. Returns whether each finite one stayed finite.
    pub(super) fn decode(self, bytes: &[u8], out: &mut Vec<f32>) -> bool {
        match self {
            Self::F16 => {
                let values: Vec<f16> =
                    bytes.as_chunks().0.iter().map(|&b| f16::from_le_bytes(b)).collect();
                append_f16(&values, out);
            }
            Self::F32 => out.extend(bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b))),
            Self::F64 => {
                let values = bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b));
                return append_f64(values, out);
            }
            Self::I8 => out.extend(bytes.iter().map(|&b| f32::from(b.cast_signed()))),
            Self::U8 => out.extend(bytes.iter().map(|&b| f32::from(b))),
        }
        true
    }
}

/// Appends `values`; every float16 is a float32.
pub(super) fn append_f16(values: &[f16], out: &mut Vec<f32>) {
    let start = out.len();
    out.resize(start + values.len(), 0.0);
    values.convert_to_f32_slice(&mut out[start..]);
}

/// Appends `values`, rounded. Returns whether each finite one stayed finite.
pub(super) fn append_f64(values: impl Iterator<Item = f64>, out: &mut Vec<f32>) -> bool {
    let mut stayed = true;
    out.extend(values.map(|value| {
        stayed &= !overflows(value);
        value as f32
    }));
    stayed
}

/// Whether a float64 is finite, but infinite as a float32.
pub(super) fn overflows(value: f64) -> bool {
    value.is_finite() && (value as f32).is_infinite()
}

/// The rows, counted from `first_row`, in which a value `is` so.
pub(super) fn rows_where<T>(
    values: &[T],
    dim: usize,
    first_row: u64,
    is: impl Fn(&T) -> bool,
) -> RowList {
    (first_row..)
        .zip(values.chunks_exact(dim))
        .filter(|(_, row)| row.iter().any(&is))
        .map(|(row, _)| row)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_element_is_the_number_it_was() {
        let mut out = Vec::new();
        assert!(Element::I8.decode(&[0x80, 0x7f], &mut out));
        assert!(Element::U8.decode(&[0x80], &mut out));
        assert!(Element::F16.decode(&[0x00, 0x3c, 0x00, 0x7c], &mut out));
        assert!(Element::F32.decode(&1.5f32.to_le_bytes(), &mut out));
        assert!(Element::F64.decode(&0.1f64.to_le_bytes(), &mut out));
        assert_eq!(out, [-128.0, 127.0, 128.0, 1.0, f32::INFINITY, 1.5, 0.1]);
    }

    #[test]
    fn only_a_finite_value_overflows() {
        let largest = f64::from(f32::MAX);
        assert!(!overflows(largest) && !overflows(f64::INFINITY) && !overflows(f64::NAN));
        assert!(!overflows(largest * (1.0 + 1e-9)), "rounds to the largest");
        assert!(overflows(-largest * (1.0 + 1e-7)) && overflows(1e39));
        let mut out = Vec::new();
        assert!(!Element::F64.decode(bytemuck::cast_slice(&[1.0, 1e39]), &mut out));
        let rows = rows_where(&[1.0, 1e39, 2.0, 3.0, 1e39, 1e39], 2, 10, |&v| overflows(v));
        assert_eq!(rows.to_string(), "rows 10, 12");
    }

    proptest! {
        #[test]
        fn halves_convert_as_one_by_one(bits: Vec<u16>) {
            let mut out = Vec::new();
            let halves: Vec<f16> = bits.iter().map(|&b| f16::from_bits(b)).collect();
            append_f16(&halves, &mut out);
            for (half, value) in halves.iter().zip(out) {
                prop_assert!(half.to_f32() == value || (half.is_nan() && value.is_nan()));
            }
        }
    }
}
