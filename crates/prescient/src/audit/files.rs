//! Whether what lies in the folder is what the record says.

use crate::audit::Check;
use crate::audit::evidence::{Evidence, TaskEvidence};
use crate::class::Slot;
use crate::disk::short;
use crate::experiment::images::count;
use crate::protocol::{Reading, Usage};
use std::collections::BTreeMap;

pub(super) fn check(evidence: &Evidence) -> Check {
    let mut against = Vec::new();
    if evidence.recipe_text != evidence.record.start.recipe {
        against.push("`recipe.toml` is not the recipe of the record".to_owned());
    }
    if evidence.tasks.iter().map(|task| task.record_text.as_str()).collect::<String>() != evidence.record_text {
        against.push("`record.jsonl` is not what its tasks recorded".to_owned());
    }
    if let Some(line) = evidence.changed_line {
        against
            .push(format!("`record.jsonl`, line {line}: the digests of a task are not those of the lines before it"));
    }
    for task in &evidence.tasks {
        against.extend(of_task(evidence, task));
    }
    let told = |path: &&std::path::PathBuf| !path.ends_with("recipe.toml") && !path.ends_with("images.jsonl");
    against.extend(
        evidence.faults.iter().filter(told).map(|path| format!("`{}` is not as it was written", path.display())),
    );
    against.extend(changed(evidence));
    let says = format!(
        "every file is as it was recorded: the recipe, and the model, images and memory of {} tasks",
        evidence.tasks.len()
    );
    Check::new("files", says, "files are not as they were recorded", against)
}

fn of_task(evidence: &Evidence, task: &TaskEvidence) -> Vec<String> {
    let mut against = Vec::new();
    let name = format!("`tasks/{:02}", task.number);
    if task.digest != task.summary.digest {
        let (expected, found) = (short(&task.summary.digest), short(&task.digest));
        against.push(format!("{name}/images.jsonl`: expected the digest {expected}…, found {found}…"));
    }
    let summary = &task.summary;
    let numbers =
        [(Usage::Learn, summary.learned), (Usage::Keep, summary.kept), (Usage::Test, summary.tested)].into_iter();
    for (usage, expected) in numbers.filter(|(usage, expected)| count(&task.images, *usage) != *expected) {
        let found = count(&task.images, usage);
        against.push(format!("{name}/images.jsonl`: expected {expected} images of use {usage:?}, found {found}"));
    }
    if task.memory != evidence.memory_after(task.number) {
        against.push(format!("{name}/memory.json` is not the memory of the record"));
    }
    let wrong = task.images.iter().filter(|image| evidence.class(image.slot) != image.class);
    against
        .extend(wrong.map(|image| format!("`{}` is said to be `{}`, which is not its slot", image.name, image.class)));
    against
}

/// Images that have other pixels in one task than in another.
fn changed(evidence: &Evidence) -> Vec<String> {
    let mut first: BTreeMap<(bool, Slot, &str), &Reading> = BTreeMap::new();
    let mut against = Vec::new();
    for task in &evidence.tasks {
        for image in &task.images {
            let before = first.entry((image.usage == Usage::Test, image.slot, &image.name)).or_insert(image);
            if before.hash != image.hash {
                against.push(format!("`{}` has other pixels in task {} than before", image.name, task.number));
            }
        }
    }
    against
}
