//! Vectors from the files of others, batch by batch, with flat memory.
//!
//! | extension | holds |
//! |---|---|
//! | `.parquet` | a column of lists of float16, float32, float64, int8 or uint8; an id; other columns |
//! | `.npy` | an `n x dim` array of `<f2`, `<f4`, `<f8`, `\|i1` or `\|u1`, in C or Fortran order |
//! | `.fbin` | u32 LE n, u32 LE dim, then `n x dim` float32 LE; both may be u64, as cuVS writes them |
//! | `.f16bin`, `.hbin`, `.u8bin`, `.i8bin` | the same with float16, float16, uint8 or int8 |
//! | `.fvecs`, `.bvecs` | for each vector: int32 LE dim, then dim float32 LE or uint8 |
//! | `.jsonl`, `.ndjson` | on each line an array of numbers, or an object with one and an id; also `.gz`, `.zst` |
//! | `.hdf5`, `.h5` | `n x dim` datasets of float16, float32, float64, int8 or uint8: `train`, `test` or others |
//!
//! ```
//! use vprep_data::read::{ReadOptions, VectorReader};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("two.fbin");
//! let mut bytes: Vec<u8> = [2u32, 3].iter().flat_map(|n| n.to_le_bytes()).collect();
//! bytes.extend([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|x| x.to_le_bytes()));
//! std::fs::write(&path, bytes)?;
//!
//! let mut reader = VectorReader::open(&path, &ReadOptions::default())?;
//! assert_eq!((reader.rows(), reader.dim()), (2, 3));
//! let batch = reader.next_batch()?.unwrap();
//! assert_eq!(batch.vectors, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
//! assert!(reader.next_batch()?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod columns;
mod convert;
mod dense;
mod error;
mod expand;
mod format;
mod hdf5;
mod jsonl;
mod npy;
mod npy_header;
mod parquet;
mod reader;
mod texts;
mod vecs;
mod xbin;

pub use batch::{Batch, Ids, non_finite_rows};
pub use error::{Problem, ReadError};
pub use expand::expand;
pub use format::Format;
pub use hdf5::{Hdf5Truth, TruthBatch};
pub(crate) use npy_header::NpyHeader;
pub use reader::{IdType, Part, ReadOptions, VectorReader};
pub use texts::{TextBatch, TextOptions, TextReader};

/// The most values that a vector has. Headers that declare more belong to other files.
pub const MAX_DIM: u64 = 1 << 20;
