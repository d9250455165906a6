//! The rehearsal memory: a few images of each new class, herded with `f^t`.

use super::GhostLearner;
use super::held_out::HeldOut;
use super::lesson::{Lesson, features};
use crate::class::Slot;
use crate::data::Sample;
use crate::engine::Pass;
use crate::error::LearnError;
use crate::learner::{Event, share_readings};
use crate::memory::herd;
use crate::protocol::Usage;
use std::collections::BTreeMap;
use tch::{Device, Kind};

/// The exemplars of the new classes.
#[derive(Debug)]
pub(super) struct Exemplars(BTreeMap<Slot, Vec<Sample>>);

impl Exemplars {
    pub(super) fn samples(&self) -> impl Iterator<Item = Sample> {
        self.0.values().flatten().copied()
    }
}

/// Chooses the exemplars of the new classes; where images are held out, a tenth of them are such. `f` does not change between the
/// fine-tune and keeping them.
pub(super) fn choose_exemplars(model: &GhostLearner, lesson: &Lesson<'_>) -> Result<Exemplars, LearnError> {
    let count = model.settings.memory.per_class;
    let mut chosen = BTreeMap::new();
    if count > 0 {
        for (slot, class) in features(model, lesson, &lesson.data().present(), Pass::Eval)? {
            let rows = Vec::<Vec<f32>>::try_from(class.features.to_device(Device::Cpu).to_kind(Kind::Float))?;
            let (held_out, training): (Vec<usize>, Vec<usize>) =
                (0..rows.len()).partition(|&row| lesson.held_out.contains(&class.samples[row]));
            let share = HeldOut::share_of(count, held_out.len());
            let herded = |among: &[usize], count: usize| -> Vec<Sample> {
                let rows: Vec<Vec<f32>> = among.iter().map(|&row| rows[row].clone()).collect();
                herd(&rows, count).into_iter().map(|place| class.samples[among[place]]).collect()
            };
            // Herding takes the most typical images; what is held out must be as hard as others are.
            let step = held_out.len().div_ceil(share.max(1)).max(1);
            let mut exemplars = herded(&training, count - share);
            exemplars.extend(held_out.iter().step_by(step).take(share).map(|&row| class.samples[row]));
            chosen.insert(slot, exemplars);
        }
    }
    Ok(Exemplars(chosen))
}

/// Keeps them.
pub(super) fn remember(
    model: &mut GhostLearner,
    lesson: &mut Lesson<'_>,
    Exemplars(chosen): Exemplars,
) -> Result<(), LearnError> {
    // What is kept may have been read by another process.
    share_readings(&model.processes, lesson.data())?;
    let data = lesson.batches.data();
    let names = |samples: &[Sample]| samples.iter().map(|sample| data.name(sample)).collect();
    let by_name: Vec<(Slot, Vec<String>)> = chosen.iter().map(|(slot, samples)| (*slot, names(samples))).collect();
    for (slot, samples) in chosen {
        model.memory.keep(slot, samples);
    }
    data.use_again(Usage::Keep, &model.memory.samples().collect::<Vec<_>>());
    lesson.observer.on_event(&Event::Remembered { task: lesson.task.number(), exemplars: &by_name });
    Ok(())
}
