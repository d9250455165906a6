//! Words as numbers: all-MiniLM-L6-v2, which gives texts of similar meaning similar directions. The same numbers as
//! sentence-transformers gives, to 1e-4.

mod bert;
mod cache;
mod embed;

pub use embed::{Embedded, embed};

use crate::error::DataError;
use bert::{Bert, wrong};
use std::collections::BTreeMap;
use std::path::Path;
use tch::Tensor;
use tokenizers::{Tokenizer, TruncationParams};

/// How many numbers a text becomes.
pub const WIDTH: usize = bert::WIDTH;

/// Longer texts are cut; the two tokens that stand for start and end count.
pub const MOST_TOKENS: usize = 256;

/// Texts that are embedded together.
const BATCH_SIZE: usize = 64;

/// The network and its tokenizer.
pub struct TextEncoder {
    tokenizer: Tokenizer,
    network: Bert,
}

impl TextEncoder {
    /// Reads `model.safetensors` and `tokenizer.json` of a folder.
    pub fn load(folder: &Path) -> Result<Self, DataError> {
        let (model, words) = (folder.join("model.safetensors"), folder.join("tokenizer.json"));
        let bytes = |path: &Path| crate::disk::read(path, crate::disk::IMAGE).map_err(DataError::io(path));
        let network = Bert::read(&bytes(&model)?, &model)?;
        let mut tokenizer = Tokenizer::from_bytes(bytes(&words)?).map_err(|error| wrong(&words, error.to_string()))?;
        // The file pads to 128 tokens and cuts there; the original cuts at 256.
        tokenizer.with_padding(None);
        let truncation = TruncationParams { max_length: MOST_TOKENS, ..Default::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| wrong(&words, error.to_string()))?;
        Ok(Self { tokenizer, network })
    }

    /// The embedding of each text, of length 1.
    pub fn encode(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, DataError> {
        Ok(self.encode_and_cut(texts)?.0)
    }

    /// The embeddings, and which texts were cut. Texts of one length go together: nothing is padded.
    fn encode_and_cut(&self, texts: &[String]) -> Result<(Vec<Vec<f32>>, Vec<usize>), DataError> {
        let unreadable = |error: tokenizers::Error| wrong(Path::new("tokenizer.json"), error.to_string());
        let mut by_length: BTreeMap<usize, Vec<(usize, Vec<i64>)>> = BTreeMap::new();
        let mut cut = Vec::new();
        for (place, text) in texts.iter().enumerate() {
            let encoding = self.tokenizer.encode(text.as_str(), true).map_err(unreadable)?;
            if !encoding.get_overflowing().is_empty() {
                cut.push(place);
            }
            let tokens: Vec<i64> = encoding.get_ids().iter().map(|&token| i64::from(token)).collect();
            by_length.entry(tokens.len()).or_default().push((place, tokens));
        }
        let mut rows = vec![Vec::new(); texts.len()];
        for (length, of_length) in by_length {
            for batch in of_length.chunks(BATCH_SIZE) {
                let tokens: Vec<i64> = batch.iter().flat_map(|(_, tokens)| tokens.iter().copied()).collect();
                let tokens = Tensor::from_slice(&tokens).view([batch.len() as i64, length as i64]);
                let embeddings = self.network.embeddings(&tokens);
                for ((place, _), row) in batch.iter().zip(0..) {
                    rows[*place] = Vec::<f32>::try_from(embeddings.get(row)).expect("a row of single precision");
                }
            }
        }
        Ok((rows, cut))
    }
}
