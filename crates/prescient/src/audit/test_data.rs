//! Whether anything but an evaluation, at the end of its task, saw a test image: nothing is chosen on test data.

use crate::audit::Check;
use crate::audit::evidence::Evidence;
use crate::protocol::Usage;

/// The stage's name.
const EVALUATE: &str = "evaluate";

pub(super) fn check(evidence: &Evidence) -> Check {
    let mut against = Vec::new();
    for task in &evidence.tasks {
        let (number, stages) = (task.number, &task.summary.stages);
        let once = stages.iter().filter(|stage| *stage == EVALUATE).count() == 1;
        if stages.last().is_none_or(|last| last != EVALUATE) || !once {
            against.push(format!("task {number}: expected one evaluation, at the end, found {}", stages.join(", ")));
        }
        for image in task.used(Usage::Test).filter(|image| image.stages != [EVALUATE]) {
            against.push(format!("task {number} read the test image `{}` in {}", image.name, image.stages.join(", ")));
        }
        let learned = task.images.iter().filter(|image| image.usage != Usage::Test);
        for image in learned.filter(|image| image.stages.iter().any(|stage| stage == EVALUATE)) {
            against.push(format!("task {number} read `{}` to evaluate, and it is no test image", image.name));
        }
    }
    let says = "test images were read by evaluations alone, each the last stage of its task: nothing is chosen on them";
    Check::new("test data", says.to_owned(), "test images were read out of their stage", against)
}
