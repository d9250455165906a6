//! Whether the memory is as small as the recipe says, and made of what was learned from.

use crate::audit::Check;
use crate::audit::evidence::{Evidence, TaskEvidence};
use crate::class::Slot;
use crate::protocol::{Reading, Usage};
use std::collections::BTreeMap;

pub(super) fn check(evidence: &Evidence) -> Check {
    let most = evidence.recipe.memory.per_class;
    let mut against = Vec::new();
    // Where each image was learned from, in the task of its class.
    let mut learned: BTreeMap<(Slot, &str), &Reading> = BTreeMap::new();
    let (mut images, mut bytes) = (Vec::new(), Vec::new());
    for task in &evidence.tasks {
        let present = evidence.record.present(task.number);
        let new = task.used(Usage::Learn).filter(|image| present.contains(image.slot));
        learned.extend(new.map(|image| ((image.slot, image.name.as_str()), image)));
        for (slot, kept) in by_class(task) {
            if kept.len() > most {
                let class = evidence.class(slot);
                against.push(format!("task {}: {} images of `{class}` are kept", task.number, kept.len()));
            }
            for image in kept {
                let same = learned.get(&(slot, image.name.as_str())).is_some_and(|before| before.hash == image.hash);
                if !same {
                    let (name, task) = (&image.name, task.number);
                    against.push(format!("task {task}: `{name}` is kept, and was not learned from when it came"));
                }
            }
        }
        against.extend(unlisted(evidence, task));
        let kept = || task.used(Usage::Keep);
        images.push(kept().count().to_string());
        bytes.push(kept().map(|image| image.bytes).sum::<u64>().to_string());
    }
    let says = format!(
        "at most {most} images of each class are kept, each one learned from: {} images, {} bytes after each task",
        images.join(", "),
        bytes.join(", ")
    );
    Check::new("memory", says, &format!("the memory is not what it may be: {most} images of each class"), against)
}

fn by_class(task: &TaskEvidence) -> BTreeMap<Slot, Vec<&Reading>> {
    let mut classes: BTreeMap<Slot, Vec<&Reading>> = BTreeMap::new();
    for image in task.used(Usage::Keep) {
        classes.entry(image.slot).or_default().push(image);
    }
    classes
}

/// What the record says is in memory, and the list of images does not; or the other way round.
fn unlisted(evidence: &Evidence, task: &TaskEvidence) -> Option<String> {
    let mut said: Vec<(Slot, String)> = evidence
        .memory_after(task.number)
        .into_iter()
        .flat_map(|(slot, names)| names.into_iter().map(move |name| (slot, name)))
        .collect();
    said.sort();
    let mut listed: Vec<(Slot, String)> =
        task.used(Usage::Keep).map(|image| (image.slot, image.name.clone())).collect();
    listed.sort();
    (said != listed).then(|| format!("task {}: the images kept are not those that the record names", task.number))
}
