//! What runs a model, behind one trait.

use crate::EmbedError;
use crate::cpu::Instructions;
use vprep_core::Progress;

/// What runs a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// vprep's own forward pass for CPUs, with these instructions.
    Cpu(Instructions),
    /// The BERT of `candle-transformers`, text by text: several times slower; the reference that
    /// the fast pass is tested against, and the way to models whose sizes the fast pass does not
    /// take.
    Candle,
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
    /// Sets `out`, `texts x dim`, to the pooled vectors, not normalised.
    fn pooled(
        &self,
        pack: &Pack<'_>,
        out: &mut [f32],
        progress: &dyn Progress,
    ) -> Result<(), EmbedError>;
}
