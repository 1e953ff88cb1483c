//! The header of `.npy`.
//!
//! ```text
//! bytes 0..6    \x93NUMPY
//! bytes 6..8    version: 1, 0 or 2, 0 or 3, 0
//! bytes 8..10   u16 LE length of the rest (version 1), or
//! bytes 8..12   u32 LE length of the rest (versions 2 and 3)
//! rest          {'descr': '<f4', 'fortran_order': False, 'shape': (n, dim), } and padding
//! ```
//!
//! Headers come from anywhere, so nothing here allocates by what a header claims, recurses, or
//! computes with its numbers.

use super::Problem;
use std::io::Read;

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NpyHeader {
    /// NumPy's name of the type, as in `<f4`.
    pub(crate) descr: String,
    /// Whether the first index varies fastest.
    pub(crate) fortran_order: bool,
    /// Any number of dimensions.
    pub(crate) shape: Vec<u64>,
    /// The byte at which the data starts.
    pub(crate) data_start: u64,
}

/// A header of a matrix takes some 128 bytes; this leaves room for any padding.
const MAX_LENGTH: u64 = 1 << 16;

impl NpyHeader {
    /// Reads the header of a file of `size` bytes from its start.
    pub(crate) fn read(mut file: impl Read, size: u64) -> Result<Self, Problem> {
        let mut take = |bytes: &mut [u8]| file.read_exact(bytes).map_err(Problem::io("read"));
        let mut fixed = [0; 12];
        if size < 10 {
            return Err(Problem::NotNpy);
        }
        take(&mut fixed[..10])?;
        if &fixed[..6] != b"\x93NUMPY" {
            return Err(Problem::NotNpy);
        }
        let (start, length) = match [fixed[6], fixed[7]] {
            [1, 0] => (10, u64::from(u16::from_le_bytes([fixed[8], fixed[9]]))),
            [2 | 3, 0] => {
                if size < 12 {
                    return Err(Problem::HeaderCut { expected: 12, found: size });
                }
                take(&mut fixed[10..])?;
                let length = [fixed[8], fixed[9], fixed[10], fixed[11]];
                (12, u64::from(u32::from_le_bytes(length)))
            }
            [major, minor] => return Err(Problem::NpyVersion { major, minor }),
        };
        if start + length > size {
            return Err(Problem::HeaderCut { expected: start + length, found: size });
        }
        if length > MAX_LENGTH {
            return Err(Problem::NpyHeader { at: start, expected: "less than 65536 bytes" });
        }
        let mut text = vec![0; length as usize];
        take(&mut text)?;
        let mut parser = Parser { text: &text, at: 0 };
        let header = parser.header(start + length);
        header.map_err(|expected| Problem::NpyHeader { at: start + parser.at as u64, expected })
    }
}

/// Reads the one kind of Python literal that a header is. Its errors say what was expected.
struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn header(&mut self, data_start: u64) -> Result<NpyHeader, &'static str> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect(b'{', "`{`")?;
        while !self.skip(b'}') {
            let key = self.string()?;
            self.expect(b':', "`:`")?;
            match key.as_str() {
                "descr" => descr = Some(self.descr()?),
                "fortran_order" => fortran_order = Some(self.boolean()?),
                "shape" => shape = Some(self.shape()?),
                _ => return Err("only the keys descr, fortran_order and shape"),
            }
            if !self.skip(b',') && self.peek() != Some(b'}') {
                return Err("`,` or `}`");
            }
        }
        match self.peek() {
            None => {}
            Some(_) => return Err("nothing but spaces"),
        }
        Ok(NpyHeader {
            descr: descr.ok_or("the key descr")?,
            fortran_order: fortran_order.ok_or("the key fortran_order")?,
            shape: shape.ok_or("the key shape")?,
            data_start,
        })
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text[self.at..];
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.text.get(self.at).copied()
    }

    /// Whether `byte` was next; it is passed.
    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, name: &'static str) -> Result<(), &'static str> {
        if self.skip(byte) { Ok(()) } else { Err(name) }
    }

    /// Passes bytes as long as `is` holds.
    fn run(&mut self, is: impl Fn(u8) -> bool) -> &[u8] {
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|&&byte| is(byte)).count();
        self.at += length;
        &rest[..length]
    }

    /// A quoted string without escapes.
    fn string(&mut self) -> Result<String, &'static str> {
        let quote = match self.peek() {
            Some(quote @ (b'\'' | b'"')) => quote,
            _ => return Err("a string"),
        };
        self.at += 1;
        let text = self.run(|byte| byte != quote && byte != b'\\' && byte.is_ascii_graphic());
        let text = String::from_utf8_lossy(text).into_owned();
        self.expect(quote, "the end of the string")?;
        Ok(text)
    }

    fn descr(&mut self) -> Result<String, &'static str> {
        match self.peek() {
            Some(b'[') => Err("one type, as in '<f4', not a record"),
            _ => self.string(),
        }
    }

    fn boolean(&mut self) -> Result<bool, &'static str> {
        self.peek();
        match self.run(|byte| byte.is_ascii_alphabetic()) {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => Err("True or False"),
        }
    }

    fn shape(&mut self) -> Result<Vec<u64>, &'static str> {
        self.expect(b'(', "`(`")?;
        let mut shape = Vec::new();
        while !self.skip(b')') {
            self.peek();
            let digits = self.run(|byte| byte.is_ascii_digit());
            let number = str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            shape.push(number.ok_or("a number that fits in 64 bits")?);
            // Python 2 wrote long numbers so.
            self.skip(b'L');
            if !self.skip(b',') && self.peek() != Some(b')') {
                return Err("`,` or `)`");
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file of version `major` with the dictionary `text`, and what is read of it.
    fn read(major: u8, text: &str) -> Result<NpyHeader, String> {
        let mut file = b"\x93NUMPY".to_vec();
        file.extend([major, 0]);
        match major {
            1 => file.extend((text.len() as u16).to_le_bytes()),
            _ => file.extend((text.len() as u32).to_le_bytes()),
        }
        file.extend(text.as_bytes());
        NpyHeader::read(&file[..], file.len() as u64).map_err(|problem| problem.to_string())
    }

    #[test]
    fn headers_of_every_version_and_writer_are_read() {
        let texts = [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }          \n",
            "{\"shape\":(3L,4L),\"fortran_order\":False,\"descr\":\"<f4\"}",
        ];
        for text in texts {
            for (major, start) in [(1, 10), (2, 12), (3, 12)] {
                let header = read(major, text).expect("reads");
                assert_eq!((header.descr.as_str(), header.fortran_order), ("<f4", false));
                assert_eq!(header.shape, [3, 4]);
                assert_eq!(header.data_start, start + text.len() as u64);
            }
        }
        let shape = |text: &str| {
            let text = format!("{{'descr': '|u1', 'fortran_order': True, 'shape': {text}}}");
            read(1, &text).expect("reads").shape
        };
        assert!(shape("()").is_empty());
        assert_eq!(shape("(5,)"), [5]);
        assert_eq!(shape("(1, 2, 18446744073709551615)"), [1, 2, u64::MAX]);
    }

    #[test]
    fn a_malformed_header_says_what_was_expected_where() {
        let at = |at: u64, expected: &str| {
            format!("its npy header is malformed at byte {at}: expected {expected}")
        };
        let rest = "'fortran_order': False, 'shape': (3, 4)}";
        let cases = [
            ("", at(10, "`{`")),
            ("{'descr': '<f4', 'shape': (3, 4)}", at(43, "the key fortran_order")),
            ("{'descr': '<f4'", at(25, "`,` or `}`")),
            ("{'descr': <f4", at(20, "a string")),
            ("{'descr': '<f4", at(24, "the end of the string")),
            ("{'descr' '<f4'", at(19, "`:`")),
            ("{'data': 3}", at(18, "only the keys descr, fortran_order and shape")),
            (
                &format!("{{'descr': [('a', '<f4')], {rest}"),
                at(20, "one type, as in '<f4', not a record"),
            ),
            (&format!("{{'descr': '<f4', {rest} x"), at(68, "nothing but spaces")),
            ("{'fortran_order': 0}", at(28, "True or False")),
            ("{'shape': 3}", at(20, "`(`")),
            ("{'shape': (-3, 4)}", at(21, "a number that fits in 64 bits")),
            ("{'shape': (18446744073709551616,)}", at(41, "a number that fits in 64 bits")),
            ("{'shape': (3 4)}", at(23, "`,` or `)`")),
        ];
        for (text, message) in cases {
            assert_eq!(read(1, text).expect_err(text), message, "{text}");
        }
        assert_eq!(read(1, &"(".repeat(60_000)).expect_err("deep"), at(10, "`{`"));
    }

    #[test]
    fn lengths_are_compared_before_anything_is_read() {
        let read =
            |bytes: &[u8], size: u64| NpyHeader::read(bytes, size).expect_err("cut").to_string();
        let none = "is not an npy file: it does not start with \\x93NUMPY";
        assert_eq!(read(b"", 0), none);
        assert_eq!(read(b"\x93NUMPY\x01\x00\x10", 9), none);
        assert_eq!(read(b"PK\x03\x04\x00\x00\x00\x00\x00\x00", 10), none);
        assert_eq!(
            read(b"\x93NUMPY\x01\x01\x10\x00", 10),
            "npy version 1.1 is not known; 1.0, 2.0 and 3.0 are"
        );
        assert_eq!(
            read(b"\x93NUMPY\x01\x00\x76\x00{'descr'", 18),
            "its header needs 128 bytes, but only 18 are there: the file is cut short"
        );
        assert_eq!(
            read(b"\x93NUMPY\x02\x00\x76\x00", 10),
            "its header needs 12 bytes, but only 10 are there: the file is cut short"
        );
        assert_eq!(
            read(b"\x93NUMPY\x02\x00\xff\xff\xff\xff", 12),
            "its header needs 4294967307 bytes, but only 12 are there: the file is cut short"
        );
        assert_eq!(
            read(b"\x93NUMPY\x02\x00\xff\xff\xff\xff", 5_000_000_000),
            "its npy header is malformed at byte 12: expected less than 65536 bytes"
        );
    }

    proptest! {
        #[test]
        fn no_header_panics(text in "[{}()\\[\\]'\",:<f48L0-9 TruealsdecrhpnN_o-]{0,80}") {
            let _ = read(1, &text);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = NpyHeader::read(&bytes[..], bytes.len() as u64);
        }
    }
}
