//! Features that were computed elsewhere, as they are: `f(x) = x`. Only the classifier and the generator learn.

use crate::extractor::layers::Layers;
use crate::extractor::{Extractor, Representation};
use tch::Tensor;

#[derive(Debug)]
pub(crate) struct Net {
    /// The length of a row, and so of a feature.
    pub(crate) width: usize,
}

impl Extractor for Net {
    fn width(&self) -> usize {
        self.width
    }

    fn extract(&self, rows: &Tensor, _train: bool) -> Representation {
        Representation { features: rows.shallow_clone(), stages: Vec::new() }
    }

    fn layers(&self) -> Option<Layers> {
        Some(Layers::default())
    }
}
