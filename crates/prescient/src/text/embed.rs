//! Texts as numbers by the weights that lie in the user's cache.

use crate::error::DataError;
use crate::text::{TextEncoder, cache};
use crate::weights;

/// What `prescient weights get` calls the network.
const WEIGHTS: &str = "minilm";

/// Texts as numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// Each of length 1.
    pub rows: Vec<Vec<f32>>,
    /// Which texts were longer than `MOST_TOKENS`, and read up to there.
    pub cut: Vec<usize>,
    /// A hash of the weights that made them.
    pub weights: String,
}

/// The texts as numbers, by the weights that `prescient weights get minilm` fetched. What was embedded before is taken from
/// a cache, which may be deleted at any time.
pub fn embed(texts: &[String]) -> Result<Embedded, DataError> {
    let found = weights::find(WEIGHTS)?;
    let (rows, cut) = match cache::read(&found, texts) {
        Some(known) => known,
        None => {
            let made = TextEncoder::load(&found.folder)?.encode_and_cut(texts)?;
            cache::write(&found, texts, &made);
            made
        }
    };
    Ok(Embedded { rows, cut, weights: found.digest })
}
