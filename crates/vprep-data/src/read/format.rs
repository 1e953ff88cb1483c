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
    /// TEXMEX' float32 file.
    Fvecs,
    /// HDF5 as ann-benchmarks writes it.
    Hdf5,
}

impl Format {
    /// Every format, in the order of the documentation.
    pub const ALL: [Self; 5] = [Self::Parquet, Self::Npy, Self::Fbin, Self::Fvecs, Self::Hdf5];

    /// The extension, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Npy => "npy",
            Self::Fbin => "fbin",
            Self::Fvecs => "fvecs",
            Self::Hdf5 => "hdf5",
        }
    }

    /// The format that the name of a file tells, in any case of letters.
    pub(super) fn of(path: &Path) -> Result<Self, Problem> {
        let extension = path.extension().map(|extension| extension.to_string_lossy());
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
        let known = "the known ones are .parquet, .npy, .fbin, .fvecs and .hdf5";
        assert_eq!(error("a.csv"), format!("unknown format `.csv`; {known}"));
        assert_eq!(error("a"), format!("no extension tells its format; {known}"));
    }
}
