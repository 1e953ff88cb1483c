//! What can stop embedding.

use std::error::Error;
use std::path::PathBuf;
use vprep_core::{Failure, Interrupted, Kind, RowList};
use vprep_data::DataError;

/// A model that cannot be used, or texts that cannot be embedded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A file of the model is not what its name says.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what was expected.
        problem: String,
    },
    /// A file without which a model cannot be used.
    #[error("{}: the model has no {file}; {hint}", dir.display())]
    Missing {
        /// The model's directory.
        dir: PathBuf,
        /// Name of the file.
        file: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// Not a model that is implemented.
    #[error("{}: {key} is {found}, but vprep runs only {expected}", path.display())]
    Architecture {
        /// The file that says so.
        path: PathBuf,
        /// Its key.
        key: &'static str,
        /// Its value.
        found: String,
        /// What would be possible.
        expected: String,
    },
    /// Nothing says how the model pools.
    #[error("{}: neither modules.json nor 1_Pooling/config.json says how this model pools its tokens; give --pooling cls or --pooling mean, as its authors say", dir.display())]
    NoPooling {
        /// The model's directory.
        dir: PathBuf,
    },
    /// A maximum length that the model cannot have.
    #[error("--max-length {asked} is out of range; this model takes from 3 to {limit} tokens")]
    MaxLength {
        /// The length asked for.
        asked: usize,
        /// The model's number of positions.
        limit: usize,
    },
    /// A prefix that leaves no room for the text.
    #[error(
        "the prefix {prefix:?} takes {tokens} tokens with [CLS] and [SEP], but only {limit} are used; shorten it or raise --max-length"
    )]
    Prefix {
        /// The prefix.
        prefix: String,
        /// Its tokens, `[CLS]` and `[SEP]` included.
        tokens: usize,
        /// The maximum length.
        limit: usize,
    },
    /// A tensor is missing, or has another shape than the configuration says.
    #[error("{}: tensor {name} is {found}, but config.json asks for shape {expected:?}", path.display())]
    Tensor {
        /// The weights.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Its shape or type, or that it is missing.
        found: String,
        /// The shape that config.json asks for.
        expected: Vec<usize>,
    },
    /// The processor lacks an instruction set that was asked for by name.
    #[error("this processor has no {name}")]
    Instructions {
        /// The instruction set.
        name: &'static str,
    },
    /// A GPU was asked for, but the feature is not built in.
    #[error(
        "device cuda: vprep is built without the feature cuda; build it with `cargo build --release -p vprep --features cuda` where nvcc is, or use --device cpu"
    )]
    NoCuda,
    /// A GPU that cannot be used.
    #[error("device cuda:{number}: {source}; nvidia-smi lists what there is")]
    Cuda {
        /// Number of the GPU.
        number: u32,
        /// What CUDA says.
        source: candle_core::Error,
    },
    /// A text that the tokenizer refuses.
    #[error("row {row}: the tokenizer refuses this text: {source}")]
    Tokenize {
        /// The row.
        row: u64,
        /// What the tokenizer says.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The model gave NaN or infinity.
    #[error(
        "the model gives NaN or infinity for {rows}; its weights are damaged or overflow in f32"
    )]
    NotFinite {
        /// The rows at fault.
        rows: RowList,
    },
    /// Texts of no token but `[CLS]` and `[SEP]`.
    #[error(
        "{rows} of the {role} hold no text; remove them, or give --allow-empty to embed them all the same"
    )]
    EmptyTexts {
        /// The rows at fault.
        rows: RowList,
        /// `base` or `queries`.
        role: &'static str,
    },
    /// Checkpoints of another run.
    #[error("{}: the checkpoints were made with {changed}; use the same, or remove the directory to begin anew", dir.display())]
    Changed {
        /// The checkpoints.
        dir: PathBuf,
        /// What differs, as in "another model and other texts".
        changed: String,
    },
    /// Checkpoints that are still to be computed.
    #[error("{}: checkpoints {checkpoints} of {total} (counted from 0) are missing; compute them: checkpoint c belongs to --shard i/n with i = c mod n", dir.display())]
    Incomplete {
        /// The checkpoints.
        dir: PathBuf,
        /// The first few that are missing, and how many.
        checkpoints: String,
        /// How many there are in all.
        total: usize,
    },
    /// A shard that does not exist.
    #[error("--shard {index}/{count} does not exist; it must be from 0/{count} to {}/{count}", count.saturating_sub(1))]
    Shard {
        /// Number of the shard, from 0.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The source of texts gave another number of texts than was asked for.
    #[error("the source has {found} texts for rows {start} to {end}; it was to have {expected}")]
    Texts {
        /// The first row.
        start: u64,
        /// The row after the last.
        end: u64,
        /// Texts that came.
        found: usize,
        /// Texts that were to come.
        expected: u64,
    },
    /// The reference implementation failed, or its GPU did.
    #[error("candle: {source}")]
    Candle {
        /// What it says.
        #[from]
        source: candle_core::Error,
    },
    /// Stopped by the user.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl Failure for EmbedError {
    fn kind(&self) -> Kind {
        match self {
            Self::Data(error) => error.kind(),
            Self::Malformed { .. }
            | Self::Missing { .. }
            | Self::Architecture { .. }
            | Self::Tensor { .. }
            | Self::Tokenize { .. }
            | Self::NotFinite { .. }
            | Self::EmptyTexts { .. }
            | Self::Changed { .. }
            | Self::Incomplete { .. }
            | Self::Texts { .. } => Kind::Data,
            Self::NoPooling { .. }
            | Self::MaxLength { .. }
            | Self::Prefix { .. }
            | Self::Instructions { .. }
            | Self::Shard { .. } => Kind::Usage,
            Self::NoCuda | Self::Cuda { .. } => Kind::Unreachable,
            Self::Candle { .. } => Kind::Unexpected,
            Self::Interrupted(_) => Kind::Interrupted,
        }
    }
}
