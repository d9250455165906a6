//! What the model imagines the future by.

use super::settings::LearnSettings;
use crate::error::LearnError;
use crate::ghost::generator::attribute_rows;
use crate::ghost::{Generator, GeneratorKind};
use crate::protocol::Sealed;
use crate::scenario::Scenario;
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
        if settings.ghosts.enabled() {
            check_memory(settings.ghosts.per_class, sealed.scenario(), width, torch_shim::total_ram())?;
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

/// Whether the ghosts of the future of task 1, and a copy while they are put together, fit into `memory`, where that is known.
/// Very many classes may be described.
fn check_memory(per_class: usize, scenario: &Scenario, width: usize, memory: Option<u64>) -> Result<(), LearnError> {
    let classes = scenario.task(1).future().len();
    let bytes = 2 * 4 * classes as u64 * per_class as u64 * width as u64;
    match memory {
        Some(memory) if bytes > memory => Err(LearnError::TooManyGhosts { classes, per_class, bytes, memory }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::ClassId;
    use crate::scenario::Order;

    /// 100,000 classes × 500 ghosts × 512 numbers × 4 bytes are 95.4 GiB, and a copy as much again.
    #[test]
    fn very_many_classes_are_refused_with_what_they_would_take() {
        let names = ["ant".to_owned()];
        let scenario = Scenario::new(&names, &Order::Listed, &"1".parse().expect("a split")).expect("a scenario");
        let scenario = scenario.beyond((1..=100_000).map(ClassId));
        let error = check_memory(500, &scenario, 512, Some(16 << 30)).expect_err("too many").to_string();
        assert_eq!(
            error,
            "500 ghosts of each of 100000 future classes take 190.7 GiB, and this machine has 16.0 GiB of memory"
        );
        assert!(check_memory(20, &scenario, 512, Some(16 << 30)).is_ok());
        assert!(check_memory(500, &scenario, 512, None).is_ok());
    }
}
