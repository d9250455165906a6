//! Whether every test image is answered for, and the answers give the accuracies that a report shows.

use crate::audit::Check;
use crate::audit::evidence::Evidence;
use crate::class::Slot;
use crate::evaluation::{Answers, metrics};
use crate::protocol::Usage;
use std::collections::BTreeMap;

pub(super) fn check(evidence: &Evidence) -> Check {
    let mut against = Vec::new();
    let mut shown = Vec::new();
    let run = evidence.record.run();
    let first: Vec<_> = evidence.tasks.first().map(|task| tested(task.used(Usage::Test))).unwrap_or_default();
    for task in &evidence.tasks {
        let (number, answers) = (task.number, &task.evaluation.answers);
        let images = task.used(Usage::Test).map(|image| image.slot);
        if counted(images) != counted(answers.truth.iter().copied()) {
            against.push(format!("task {number}: the answers are not for the test images that were read"));
        }
        if tested(task.used(Usage::Test)) != first {
            against.push(format!("task {number} was tested on other images than task 1"));
        }
        let reported = metrics::find("accuracy").and_then(|metric| metric.value(&run, number));
        let found = accuracy(answers);
        if reported.is_none_or(|reported| (reported - found).abs() > 1e-9) {
            against.push(format!("task {number}: the answers give {:.2} %, the report another number", 100.0 * found));
        }
        shown.push(format!("{:.1}", 100.0 * found));
    }
    let says = format!(
        "every test image is answered for after each task, and the answers give the accuracies {} %",
        shown.join(", ")
    );
    Check::new("answers", says, "the answers do not give what is reported", against)
}

/// Counted anew: the better of the best seen and the best unseen class must be the truth.
fn accuracy(answers: &Answers) -> f64 {
    let offset = answers.own_offset.unwrap_or(0.0);
    let right = (0..answers.truth.len()).filter(|&image| {
        let unseen = answers.unseen.as_ref().filter(|best| best.scores[image] > answers.seen.scores[image] - offset);
        unseen.unwrap_or(&answers.seen).slots[image] == answers.truth[image]
    });
    right.count() as f64 / answers.truth.len().max(1) as f64
}

fn counted(slots: impl Iterator<Item = Slot>) -> BTreeMap<Slot, usize> {
    slots.fold(BTreeMap::new(), |mut counts, slot| {
        *counts.entry(slot).or_default() += 1;
        counts
    })
}

/// The test images, whatever the order.
fn tested<'a>(images: impl Iterator<Item = &'a crate::protocol::Reading>) -> Vec<(&'a str, &'a str)> {
    let mut images: Vec<_> = images.map(|image| (image.name.as_str(), image.hash.as_str())).collect();
    images.sort_unstable();
    images
}
