//! What guesses of the Ghost model may cost: what its offset promised on held-out images, and what test images show.
//! For the terminal and for the page.

use crate::evaluation::{Promise, Run};
use crate::experiment::Record;
use crate::report::worth::{Said, found, listed, points, reasons, without_guesses};

/// How to read the table.
pub(super) const LEGEND: &str = "Held-out images are training images of seen classes that trained nothing: the offset is chosen \
                                 on them. seen: accuracy over seen classes where they alone compete, and with guesses at classes \
                                 still to come; on held-out images, then on test images. all: points that guesses add over all \
                                 classes, as expected and as the test images show.";

const COLUMNS: [&str; 9] = [
    "task",
    "chosen for",
    "held out",
    "seen, held out",
    "with guesses",
    "seen, test",
    "with guesses",
    "all, expected",
    "found",
];

/// What a record says; none where no guess was made or weighed.
pub(super) fn said(record: &Record) -> Option<Said> {
    let run = record.run();
    let promises: Vec<&Promise> = record.promises().collect();
    let mut rows: Vec<Vec<String>> = promises.iter().map(|promise| of_task(promise, &run)).collect();
    if !rows.is_empty() {
        rows.insert(0, COLUMNS.map(String::from).to_vec());
    }
    let reason = |promise: &&Promise| Some((promise.why_not.clone()?, promise.task));
    let mut sentences = reasons("only seen classes answer", promises.iter().filter_map(reason));
    // Where the offset of the closed form is weighed, its own table says so.
    if record.worths().next().is_none() {
        sentences.extend(swamped(&run));
    }
    (!rows.is_empty() || !sentences.is_empty()).then_some(Said { rows, sentences })
}

/// As a part of the text for the terminal.
pub(super) fn text(record: &Record) -> Option<String> {
    Some(said(record)?.text("what guesses cost", LEGEND))
}

fn of_task(promise: &Promise, run: &Run) -> Vec<String> {
    let percent = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), |share| format!("{:.1}", 100.0 * share));
    let held_out = |share: f64| percent((promise.images > 0).then_some(share));
    let guesses = promise.why_not.is_none();
    let judged = run.tasks.get(promise.task - 1);
    let seen = run.seen(promise.task);
    let alone = judged.and_then(|judged| without_guesses(judged, run.all()).accuracy(seen));
    let with = judged.filter(|_| guesses).and_then(|judged| judged.confusion.accuracy(seen));
    let gained = judged.filter(|_| guesses).and_then(|judged| found(judged, run.all(), seen).0);
    vec![
        promise.task.to_string(),
        promise.target.clone(),
        promise.images.to_string(),
        held_out(promise.seen_alone),
        if guesses { held_out(promise.seen) } else { "no guesses".to_owned() },
        percent(alone),
        percent(with),
        promise.gain.map_or_else(|| "–".to_owned(), |(gain, error)| format!("{} ± {:.1}", points(gain), 100.0 * error)),
        gained.map_or_else(|| "–".to_owned(), points),
    ]
}

/// What to say where guesses took more from seen classes than they gave to all: by more than twice the error of so many
/// test images.
fn swamped(run: &Run) -> Option<String> {
    let worse = |task: &usize| {
        let judged = &run.tasks[task - 1];
        let (all, _) = found(judged, run.all(), run.seen(*task));
        let images = judged.answers.truth.len() as f64;
        all.is_some_and(|all| all < -2.0 * (0.25 / images.max(1.0)).sqrt())
    };
    let tasks: Vec<usize> = (1..=run.tasks.len()).filter(worse).collect();
    let &first = tasks.first()?;
    let (with, without) = (&run.tasks[first - 1].confusion, without_guesses(&run.tasks[first - 1], run.all()));
    let (with, without) = (with.accuracy(run.all())?, without.accuracy(run.all())?);
    Some(format!(
        "Guesses swamp seen classes after {}: after task {first} the accuracy over all classes is {:.1} % with them and {:.1} % \
         without. `calibrate.target = \"accuracy\"` leaves guesses out where they do not pay.",
        listed(&tasks),
        100.0 * with,
        100.0 * without,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Slot;
    use crate::evaluation::Best;
    use crate::experiment::record::Line;
    use crate::report::worth::testing::closed_record;

    /// The closed form's record with other lines: the same answers, where one guess in three is wrong.
    fn ghost_record() -> Record {
        let mut record = closed_record();
        record.lines.truncate(3);
        let first = Promise {
            task: 1,
            target: "accuracy".to_owned(),
            images: 20,
            offset: Some(0.05),
            seen_alone: 0.95,
            seen: 0.9,
            gain: Some((0.05, 0.02)),
            why_not: None,
        };
        let why_not = Some("guesses would gain no more than chance".to_owned());
        let second = Promise { task: 2, offset: None, seen: 0.95, gain: Some((0.0, 0.01)), why_not, ..first.clone() };
        record.lines.extend([first, second].map(Line::Promise));
        record
    }

    #[test]
    fn the_promise_stands_beside_what_happened() {
        insta::assert_snapshot!(text(&ghost_record()).expect("a promise"));
    }

    /// All 8 test images go to a wrong future class: 4 were right without guesses. That is 50 points, where the error of eight
    /// images is 18.
    #[test]
    fn a_report_says_where_guesses_swamp_seen_classes() {
        let mut record = ghost_record();
        record.lines.truncate(3);
        assert_eq!(said(&record), None, "guesses gain here");
        if let Line::Evaluation(first) = &mut record.lines[0] {
            first.answers.unseen = Some(Best { slots: vec![Slot(2); 8], scores: vec![9.0; 8] });
            first.answers.truth = vec![Slot(0), Slot(0), Slot(1), Slot(1), Slot(3), Slot(3), Slot(3), Slot(3)];
            first.confusion = first.answers.confusion(4);
        }
        let said = said(&record).expect("it is said");
        assert!(said.sentences[0].starts_with("Guesses swamp seen classes after task 1"), "{:?}", said.sentences);
    }
}
