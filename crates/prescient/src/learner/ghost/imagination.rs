//! What the model imagines the future by.

use super::settings::LearnSettings;
use crate::error::LearnError;
use crate::ghost::generator::attribute_rows;
use crate::ghost::{Generator, GeneratorKind};
use crate::protocol::Sealed;
use crate::seeds::Seeds;
use tch::Device;

/// What the future is imagined by.
pub(super) enum Imagination {
    /// Nothing: the base model.
    Nothing,
    /// `g`, as far as it has learned.
    Generator(Box<dyn Generator>),
    /// Features of actual images of the future: an oracle's.
    Real,
}

impl Imagination {
    /// One that knows nothing yet, for features of `width`.
    pub(super) fn new(
        settings: &LearnSettings,
        sealed: &Sealed,
        width: usize,
        seeds: Seeds,
        device: Device,
    ) -> Result<Self, LearnError> {
        let kind = &settings.ghosts.generator;
        let catalogue = sealed.catalogue();
        if kind.needs_attributes() && catalogue.attribute_names().is_empty() {
            return Err(LearnError::NoAttributes);
        }
        let order = sealed.scenario().order();
        let rows: Vec<Vec<f32>> = order.iter().map(|class| catalogue.attributes(*class).to_vec()).collect();
        let attributes = attribute_rows(&rows, device);
        let generator = kind.build(&attributes, width, seeds.number("first weights", 1), settings.compute.cuda_graphs);
        Ok(match generator {
            Some(generator) => Self::Generator(generator),
            None if *kind == GeneratorKind::Real => Self::Real,
            None => Self::Nothing,
        })
    }
}
