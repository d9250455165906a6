//! How well a model guesses at classes still to come. None of these has a meaning for a model that does not guess.

use crate::class::Slots;
use crate::evaluation::metrics::{Metric, metric_of_one_task};
use crate::evaluation::{Run, Trade, harmonic};

fn trade(run: &Run, task: usize) -> Option<Trade> {
    let seen = run.seen(task);
    run.tasks[task - 1].answers.trade(|slot| seen.contains(slot))
}

fn calibrated(run: &Run, task: usize, slots: Slots) -> Option<f64> {
    run.tasks[task - 1].answers.calibrated(run.classes)?.accuracy(slots)
}

fn uncalibrated(run: &Run, task: usize, slots: Slots) -> Option<f64> {
    run.tasks[task - 1].answers.uncalibrated(run.classes)?.accuracy(slots)
}

metric_of_one_task!(Guesses, "guesses", "share of all answers that name a class still to come", |run, task| {
    let answers = &run.tasks[task - 1].answers;
    answers.unseen.as_ref()?;
    let (unseen, count) = (run.unseen(task), answers.truth.len());
    let guesses = (0..count).filter(|&image| unseen.contains(answers.answer(image))).count();
    (count > 0).then(|| guesses as f64 / count as f64)
});
metric_of_one_task!(ZeroShot, "zero-shot", "right answers on unseen classes when only those compete", |run, task| {
    let answers = &run.tasks[task - 1].answers;
    let best = answers.unseen.as_ref()?;
    let unseen = run.unseen(task);
    let images: Vec<usize> = (0..answers.truth.len()).filter(|&image| unseen.contains(answers.truth[image])).collect();
    let right = images.iter().filter(|&&image| best.slots[image] == answers.truth[image]).count();
    (!images.is_empty()).then(|| right as f64 / images.len() as f64)
});
metric_of_one_task!(Ausuc, "ausuc", "area under the curve of seen against unseen accuracy", |run, task| {
    trade(run, task).map(|trade| trade.area())
});
metric_of_one_task!(
    BestHarmonic,
    "best harmonic",
    "best harmonic mean along that curve: a bound, not a result",
    |run, task| { trade(run, task).map(|trade| trade.best_harmonic()) }
);
metric_of_one_task!(
    CalibratedAccuracy,
    "calibrated",
    "accuracy over all classes, calibrated without test data",
    |run, task| { calibrated(run, task, run.all()) }
);
metric_of_one_task!(CalibratedSeen, "calibrated seen", "accuracy over seen classes, calibrated", |run, task| {
    calibrated(run, task, run.seen(task))
});
metric_of_one_task!(CalibratedUnseen, "calibrated unseen", "accuracy over unseen classes, calibrated", |run, task| {
    calibrated(run, task, run.unseen(task))
});
metric_of_one_task!(CalibratedHarmonic, "calibrated harmonic", "harmonic mean of the two, calibrated", |run, task| {
    let (seen, unseen) = (CalibratedSeen.value(run, task)?, CalibratedUnseen.value(run, task)?);
    Some(harmonic(seen, unseen))
});
metric_of_one_task!(
    UncalibratedAccuracy,
    "uncalibrated",
    "accuracy over all classes when scores compete as they are",
    |run, task| { uncalibrated(run, task, run.all()) }
);
metric_of_one_task!(
    UncalibratedSeen,
    "uncalibrated seen",
    "accuracy over seen classes when scores compete as they are",
    |run, task| { uncalibrated(run, task, run.seen(task)) }
);
metric_of_one_task!(
    UncalibratedUnseen,
    "uncalibrated unseen",
    "accuracy over unseen classes when scores compete as they are",
    |run, task| { uncalibrated(run, task, run.unseen(task)) }
);
