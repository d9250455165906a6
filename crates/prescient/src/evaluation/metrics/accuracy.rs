//! Top-1 accuracy after one task: over all classes, and over parts of them. All classes compete each time.

use crate::evaluation::metrics::{Metric, metric_of_one_task};
use crate::evaluation::{Run, harmonic};

metric_of_one_task!(All, "accuracy", "right answers over test images of all classes, future ones too", |run, task| {
    run.tasks[task - 1].confusion.accuracy(run.all())
});
metric_of_one_task!(Seen, "seen", "right answers over test images of the classes seen so far", |run, task| {
    run.tasks[task - 1].confusion.accuracy(run.seen(task))
});
metric_of_one_task!(Unseen, "unseen", "right answers over test images of classes still to come", |run, task| {
    run.tasks[task - 1].confusion.accuracy(run.unseen(task))
});
metric_of_one_task!(Past, "past", "right answers over test images of the earlier tasks' classes", |run, task| {
    run.tasks[task - 1].confusion.accuracy(run.past(task))
});
metric_of_one_task!(Present, "present", "right answers over test images of the newest classes", |run, task| {
    run.tasks[task - 1].confusion.accuracy(run.tasks[task - 1].present)
});
metric_of_one_task!(ClassMean, "class mean", "mean over all classes of each one's accuracy", |run, task| {
    run.tasks[task - 1].confusion.class_mean(run.all())
});
metric_of_one_task!(SeenClassMean, "seen class mean", "mean over seen classes of each one's accuracy", |run, task| {
    run.tasks[task - 1].confusion.class_mean(run.seen(task))
});
metric_of_one_task!(
    UnseenClassMean,
    "unseen class mean",
    "mean over unseen classes of each one's accuracy",
    |run, task| { run.tasks[task - 1].confusion.class_mean(run.unseen(task)) }
);
metric_of_one_task!(Harmonic, "harmonic", "harmonic mean of seen and unseen accuracy", |run, task| {
    let (seen, unseen) = (Seen.value(run, task)?, Unseen.value(run, task)?);
    Some(harmonic(seen, unseen))
});
