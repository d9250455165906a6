//! Chooses what to keep of the new classes, with `f^t`.

use super::{GhostLearner, Lesson};
use crate::class::Slot;
use crate::data::Sample;
use crate::engine::Pass;
use crate::error::LearnError;
use crate::learner::observer::Event;
use crate::protocol::Usage;
use std::collections::BTreeMap;
use tch::{Device, Kind};

/// The exemplars of the new classes.
#[derive(Clone, Debug)]
pub(super) struct Exemplars(BTreeMap<Slot, Vec<Sample>>);

impl Exemplars {
    pub(super) fn samples(&self) -> Vec<Sample> {
        self.0.values().flatten().copied().collect()
    }
}

impl GhostLearner {
    /// The exemplars of the new classes. Chosen once a task: `f` does not change between fine-tune and keeping.
    pub(super) fn exemplars(&self, lesson: &mut Lesson<'_>) -> Result<Exemplars, LearnError> {
        if let Some(exemplars) = &lesson.exemplars {
            return Ok(exemplars.clone());
        }
        let settings = self.settings.memory;
        let mut chosen = BTreeMap::new();
        if settings.per_class > 0 {
            for (slot, class) in self.features(lesson, &lesson.album.loader.data().present(), Pass::Eval)? {
                let rows = Vec::<Vec<f32>>::try_from(class.features.to_device(Device::Cpu).to_kind(Kind::Float))?;
                let mut stream = self.seeds.stream("memory", slot.index());
                let kept = settings.selection.choose(&rows, settings.per_class, &mut stream);
                chosen.insert(slot, kept.into_iter().map(|row| class.samples[row]).collect());
            }
        }
        let exemplars = Exemplars(chosen);
        lesson.exemplars = Some(exemplars.clone());
        Ok(exemplars)
    }

    /// Keeps them.
    pub(super) fn remember(&mut self, lesson: &mut Lesson<'_>) -> Result<(), LearnError> {
        let Exemplars(chosen) = self.exemplars(lesson)?;
        let data = lesson.album.loader.data();
        let names = |samples: &[Sample]| samples.iter().map(|sample| data.name(sample)).collect();
        let by_name: Vec<(Slot, Vec<String>)> = chosen.iter().map(|(slot, samples)| (*slot, names(samples))).collect();
        for (slot, samples) in chosen {
            self.memory.keep(slot, samples);
        }
        data.use_again(Usage::Keep, &self.memory.samples().collect::<Vec<_>>());
        lesson.observer.notice(&Event::Remembered { task: lesson.task.number(), exemplars: &by_name });
        Ok(())
    }
}
