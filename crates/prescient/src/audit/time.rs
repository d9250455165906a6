//! Whether every class was learned from in its time: not before, and afterwards from memory alone.

use crate::audit::Check;
use crate::audit::evidence::Evidence;
use crate::protocol::Usage;
use std::collections::BTreeSet;

pub(super) fn check(evidence: &Evidence) -> Check {
    let mut against = Vec::new();
    for task in &evidence.tasks {
        let present = evidence.record.present(task.number).range();
        let memory = evidence.memory_after(task.number - 1);
        let kept: BTreeSet<(usize, &str)> =
            memory.iter().flat_map(|(slot, names)| names.iter().map(|name| (slot.index(), name.as_str()))).collect();
        for image in task.used(Usage::Learn) {
            let (slot, name, number) = (image.slot.index(), &image.name, task.number);
            if slot >= present.end {
                against.push(format!("task {number} read `{name}`: its class had not arrived yet"));
            } else if slot < present.start && !kept.contains(&(slot, name)) {
                against.push(format!("task {number} read `{name}`: its class had passed, and it was not in memory"));
            }
        }
    }
    let start = &evidence.record.start;
    if start.oracle != evidence.recipe.oracle(start.classes.len()) {
        against.push("the record and its recipe differ on whether the run is an oracle".to_owned());
    }
    let says = "no class was learned from before its time, and of past classes only the memory".to_owned();
    let check = Check::new("time", says, "images were read out of their time", against);
    match &start.oracle {
        Some(oracle) => {
            Check { holds: false, says: format!("an oracle: it read the future on purpose ({oracle})"), ..check }
        }
        None => check,
    }
}
