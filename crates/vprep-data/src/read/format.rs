//! The formats, told by their extensions.

use super::Problem;
use std::path::Path;

/// A format of vector files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// NumPy's array file.
    Npy,
    /// big-ann-benchmarks' float32 file.
    Fbin,
    /// cuVS' float16 file.
    F16bin,
    /// The same by another name.
    Hbin,
    /// big-ann-benchmarks' uint8 file.
    U8bin,
    /// big-ann-benchmarks' int8 file.
    I8bin,
    /// TEXMEX' float32 file.
    Fvecs,
    /// TEXMEX' uint8 file.
    Bvecs,
    /// A vector on each line.
    Jsonl,
    /// The same by another name.
    Ndjson,
    /// HDF5 as ann-benchmarks writes it.
    Hdf5,
}

impl Format {
    /// Every format, in the order of the documentation.
    pub const ALL: [Self; 12] = [
        Self::Parquet,
        Self::Npy,
        Self::Fbin,
        Self::F16bin,
        Self::Hbin,
        Self::U8bin,
        Self::I8bin,
        Self::Fvecs,
        Self::Bvecs,
        Self::Jsonl,
        Self::Ndjson,
        Self::Hdf5,
    ];

    /// The extension, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Npy => "npy",
            Self::Fbin => "fbin",
            Self::F16bin => "f16bin",
            Self::Hbin => "hbin",
            Self::U8bin => "u8bin",
            Self::I8bin => "i8bin",
            Self::Fvecs => "fvecs",
            Self::Bvecs => "bvecs",
            Self::Jsonl => "jsonl",
            Self::Ndjson => "ndjson",
            Self::Hdf5 => "hdf5",
        }
    }

    /// Whether vectors and ids have names.
    pub(super) const fn has_columns(self) -> bool {
        matches!(self, Self::Parquet | Self::Jsonl | Self::Ndjson)
    }

    /// The format that the name of a file tells, in any case of letters. Files of lines may be
    /// compressed, which the end of the name says then.
    pub(super) fn of(path: &Path) -> Result<Self, Problem> {
        let extension = path.extension().map(|extension| extension.to_string_lossy());
        if extension
            .as_ref()
            .is_some_and(|e| ["gz", "zst"].iter().any(|c| e.eq_ignore_ascii_case(c)))
            && let Ok(inner @ (Self::Jsonl | Self::Ndjson)) = Self::of(&path.with_extension(""))
        {
            return Ok(inner);
        }
        Self::ALL
            .into_iter()
            .find(|format| {
                let is =
                    |known: &str| extension.as_ref().is_some_and(|e| e.eq_ignore_ascii_case(known));
                is(format.extension()) || (*format == Self::Hdf5 && is("h5"))
            })
            .ok_or_else(|| Problem::UnknownFormat { extension: extension.map(Into::into) })
    }

    /// All extensions in words.
    pub(super) fn list() -> String {
        let names = Self::ALL.map(|format| format!(".{}", format.extension()));
        let (last, others) = names.split_last().expect("there are formats");
        format!("{} and {last}", others.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_extension_lists_the_known() {
        assert_eq!(Format::of(Path::new("a/b.FBIN")).expect("known"), Format::Fbin);
        let error = |name: &str| Format::of(Path::new(name)).expect_err("unknown").to_string();
        assert_eq!(Format::of(Path::new("a.jsonl.GZ")).expect("known"), Format::Jsonl);
        let known = "the known ones are .parquet, .npy, .fbin, .f16bin, .hbin, .u8bin, .i8bin, \
                     .fvecs, .bvecs, .jsonl, .ndjson and .hdf5";
        assert_eq!(error("a.npy.gz"), format!("unknown format `.gz`; {known}"));
        assert_eq!(error("a.csv"), format!("unknown format `.csv`; {known}"));
        assert_eq!(error("a"), format!("no extension tells its format; {known}"));
    }
}
