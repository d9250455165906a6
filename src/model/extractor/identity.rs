//! Features that were computed elsewhere, as they are: `f(x) = x`. Only the classifier and the generator learn.

use super::{Extractor, Representation};
use tch::Tensor;

#[derive(Debug)]
pub(super) struct Net {
    /// The length of a row, and so of a feature.
    pub(super) width: usize,
}

impl Extractor for Net {
    fn width(&self) -> usize {
        self.width
    }

    fn extract(&self, rows: &Tensor, _train: bool) -> Representation {
        Representation { features: rows.shallow_clone(), stages: Vec::new() }
    }
}
