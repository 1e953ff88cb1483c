//! Every file that vprep reads or writes: vector formats, tables, digests and atomic publishing.
//! Nothing here knows what a stage is.
//!
//! A dataset's own files are written through a [`Transaction`], so that all outputs of a stage
//! appear together or not at all:
//!
//! ```
//! use vprep_data::{MappedNpy, NpyWriter, Workdir};
//!
//! let dir = tempfile::tempdir().unwrap();
//! let workdir = Workdir::lock(dir.path())?;
//! let mut transaction = workdir.begin()?;
//! let mut writer = NpyWriter::new(transaction.create("base.f32.npy")?, 2, 2)?;
//! writer.append(&[1.0f32, 0.0, 0.0, 1.0])?;
//! let content = writer.finish()?;
//! transaction.commit()?;
//!
//! assert_eq!(content.bytes, 128 + 16);
//! let base = MappedNpy::<f32>::open(&dir.path().join("base.f32.npy"))?;
//! assert_eq!(base.view().row(1), [0.0, 1.0]);
//! # Ok::<(), vprep_data::DataError>(())
//! ```

mod digest;
mod error;
mod guard;
mod neighbors;
mod npy;
mod publish;
mod qrels;
pub mod read;
mod single;
mod table;
pub mod write;

pub use digest::{Content, content, files_below, listing_content, slashed};
pub use error::DataError;
pub use neighbors::{PublishedNeighbors, read_neighbors};
pub use npy::{Element, MappedNpy, NpyWriter};
pub use publish::{StagedFile, Transaction, Workdir};
pub use qrels::{Judgement, read_qrels};
pub use single::publish_file;
pub use table::{
    ID, KEPT, Lineage, PARENT_ROW, ROW, TEXT, TableWriter, copy_rows, read_i64_column, read_table,
    read_texts, read_true_rows, table_shape,
};
