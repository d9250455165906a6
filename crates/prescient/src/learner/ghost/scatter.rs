//! Some ghosts, kept to be drawn beside real features.

use super::GhostLearner;
use super::imagination::Imagination;
use super::lesson::Lesson;
use crate::class::Slot;
use crate::error::LearnError;
use crate::evaluation::Points;
use crate::ghost::FeatureBank;
use crate::learner::Event;
use crate::learner::scatter::{per_class, plain, zone};
use rand::seq::index;
use tch::{Tensor, no_grad};

/// Tells of some of the ghosts of the `future`, and of as many of the seen classes, drawn for this alone.
pub(super) fn tell_ghosts(
    model: &GhostLearner,
    lesson: &mut Lesson<'_>,
    future: &FeatureBank,
) -> Result<(), LearnError> {
    let count = per_class(lesson.task.scenario().classes());
    let seeds = model.seeds.child("scatter", lesson.number());
    let mut points = Points::default();
    let mut add = |slot: Slot, ghosts: &Tensor| -> Result<(), LearnError> {
        points.slots.extend(std::iter::repeat_n(slot, ghosts.size()[0] as usize));
        points.values.extend(plain(ghosts)?);
        Ok(())
    };
    if let Imagination::Generator(generator) = &model.imagination {
        for slot in lesson.task.seen().iter() {
            add(slot, &no_grad(|| generator.draw(slot, count, seeds.number("class", slot.index()))))?;
        }
    }
    let mut zones = Vec::new();
    for (slot, ghosts) in future {
        let all = ghosts.size()[0] as usize;
        let mut stream = seeds.stream("ghosts", slot.index());
        let rows: Vec<i64> =
            index::sample(&mut stream, all, count.min(all)).into_iter().map(|row| row as i64).collect();
        add(*slot, &ghosts.index_select(0, &Tensor::from_slice(&rows).to_device(ghosts.device())))?;
        if model.network.width() == 2 {
            zones.push(zone(*slot, ghosts)?);
        }
    }
    lesson.observer.on_event(&Event::Imagined { task: lesson.task.number(), ghosts: &points, zones: &zones });
    Ok(())
}
