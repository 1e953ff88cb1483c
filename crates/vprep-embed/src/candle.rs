//! BERT as `candle-transformers` has it: the reference on CPUs, and the way to GPUs.

use crate::backend::{Forward, Pack};
use crate::config::Config;
use crate::weights::Weights;
use crate::{EmbedError, Pooling, packs};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{self, BertModel, HiddenAct};
use std::collections::HashMap;
use vprep_core::Progress;

/// Tokens of a pack: enough texts that those of about the same length fill a batch.
const PACK: usize = 1 << 16;

/// Tokens of a batch with its padding: enough to keep a GPU busy, few enough that the attention of
/// the longest texts needs no more than one or two GB.
const BATCH: usize = 1 << 14;

/// The GPU of this number.
pub(crate) fn cuda(number: u32) -> Result<Device, EmbedError> {
    Device::new_cuda(number as usize).map_err(|source| EmbedError::Cuda { number, source })
}

pub(crate) struct Candle {
    model: BertModel,
    device: Device,
    pooling: Pooling,
}

impl Candle {
    pub(crate) fn build(
        weights: Weights,
        config: &Config,
        pooling: Pooling,
        device: Device,
    ) -> Result<Self, EmbedError> {
        let mut tensors = HashMap::new();
        for (name, (shape, values)) in weights.into_tensors() {
            tensors.insert(name, Tensor::from_vec(values, shape, &device)?);
        }
        let config = bert::Config {
            vocab_size: config.vocab_size,
            hidden_size: config.hidden_size,
            num_hidden_layers: config.num_hidden_layers,
            num_attention_heads: config.num_attention_heads,
            intermediate_size: config.intermediate_size,
            hidden_act: HiddenAct::Gelu,
            max_position_embeddings: config.max_position_embeddings,
            type_vocab_size: config.type_vocab_size,
            layer_norm_eps: config.layer_norm_eps,
            ..bert::Config::default()
        };
        let builder = VarBuilder::from_tensors(tensors, DType::F32, &device);
        Ok(Self { model: BertModel::load(builder, &config)?, device, pooling })
    }

    /// The pooled vectors of texts that are padded to the longest of them.
    fn batch(&self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        let (mut ids, mut mask) = (Vec::new(), Vec::new());
        for text in texts {
            let padding = std::iter::repeat_n(0, longest - text.len());
            ids.extend(text.iter().copied().chain(padding.clone()));
            mask.extend(text.iter().map(|_| 1).chain(padding));
        }
        let shape = (texts.len(), longest);
        let ids = Tensor::from_vec(ids, shape, &self.device)?;
        let mask = Tensor::from_vec(mask, shape, &self.device)?;
        let hidden = self.model.forward(&ids, &ids.zeros_like()?, Some(&mask))?;
        let pooled = match self.pooling {
            Pooling::Cls => hidden.narrow(1, 0, 1)?.squeeze(1)?,
            Pooling::Mean => {
                let mask = mask.to_dtype(DType::F32)?.unsqueeze(2)?;
                hidden.broadcast_mul(&mask)?.sum(1)?.broadcast_div(&mask.sum(1)?)?
            }
        };
        Ok(pooled.to_vec2()?)
    }
}

impl Forward for Candle {
    fn pack_tokens(&self) -> Option<usize> {
        Some(PACK)
    }

    fn pooled(
        &self,
        pack: &Pack<'_>,
        out: &mut [f32],
        progress: &dyn Progress,
    ) -> Result<(), EmbedError> {
        let dim = out.len() / pack.0.len();
        let lengths: Vec<usize> = pack.texts().map(<[u32]>::len).collect();
        for batch in packs::padded(&lengths, BATCH) {
            progress.check()?;
            let texts: Vec<&[u32]> = batch.iter().map(|&text| pack.0[text].as_slice()).collect();
            for (text, vector) in batch.into_iter().zip(self.batch(&texts)?) {
                out[text * dim..][..dim].copy_from_slice(&vector);
            }
        }
        Ok(())
    }
}
