//! What runs a model, behind one trait.

use crate::EmbedError;
use crate::cpu::Instructions;
use vprep_core::Progress;

/// What runs a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// vprep's own forward pass for CPUs, with these instructions.
    Cpu(Instructions),
    /// The BERT of `candle-transformers`, in padded batches: several times slower; the reference
    /// that the fast pass is tested against, and the way to models whose sizes the fast pass does
    /// not take.
    Candle,
    /// The same on the NVIDIA GPU of this number, where the feature `cuda` is built in.
    Cuda(u32),
}

impl Backend {
    /// Fails if vprep is built without it.
    ///
    /// # Errors
    ///
    /// [`EmbedError::NoCuda`].
    pub fn check(self) -> Result<(), EmbedError> {
        match self {
            Self::Cuda(_) if !cfg!(feature = "cuda") => Err(EmbedError::NoCuda),
            Self::Cpu(_) | Self::Candle | Self::Cuda(_) => Ok(()),
        }
    }
}

impl Default for Backend {
    fn default() -> Self {
        Self::Cpu(Instructions::best())
    }
}

/// Texts that go through the model together, as token ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pack<'a>(pub(crate) &'a [Vec<u32>]);

impl Pack<'_> {
    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u32]> {
        self.0.iter().map(Vec::as_slice)
    }

    pub(crate) fn tokens(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

/// A model that is ready to run.
pub(crate) trait Forward: Send + Sync {
    /// Tokens of a pack, for a model that takes one pack after the other and spreads the work of
    /// a pack itself. Others take small ones on every thread.
    fn pack_tokens(&self) -> Option<usize> {
        None
    }

    /// Sets `out`, `texts x dim`, to the pooled vectors, not normalised.
    fn pooled(
        &self,
        pack: &Pack<'_>,
        out: &mut [f32],
        progress: &dyn Progress,
    ) -> Result<(), EmbedError>;
}
