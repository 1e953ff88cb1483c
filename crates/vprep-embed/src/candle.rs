//! The reference: BERT as `candle-transformers` has it.

use crate::backend::{Forward, Pack};
use crate::config::Config;
use crate::weights::Weights;
use crate::{EmbedError, Pooling};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{self, BertModel, HiddenAct};
use std::collections::HashMap;
use vprep_core::Progress;

pub(crate) struct Candle {
    model: BertModel,
    pooling: Pooling,
}

impl Candle {
    pub(crate) fn build(
        weights: Weights,
        config: &Config,
        pooling: Pooling,
    ) -> Result<Self, EmbedError> {
        let device = Device::Cpu;
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
        Ok(Self { model: BertModel::load(builder, &config)?, pooling })
    }
}

impl Forward for Candle {
    fn pooled(
        &self,
        pack: &Pack<'_>,
        out: &mut [f32],
        progress: &dyn Progress,
    ) -> Result<(), EmbedError> {
        let dim = out.len() / pack.0.len();
        for (text, out) in pack.texts().zip(out.chunks_exact_mut(dim)) {
            progress.check()?;
            let ids = Tensor::new(text, &Device::Cpu)?.unsqueeze(0)?;
            let hidden = self.model.forward(&ids, &ids.zeros_like()?, None)?.squeeze(0)?;
            let pooled = match self.pooling {
                Pooling::Cls => hidden.get(0)?,
                Pooling::Mean => hidden.mean(0)?,
            };
            out.copy_from_slice(&pooled.to_vec1::<f32>()?);
        }
        Ok(())
    }
}
