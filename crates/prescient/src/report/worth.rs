//! What descriptions are worth: how many photos, what was expected of ghosts and what came of it, and whose description misleads.
//! For the terminal and for the page.

use crate::class::Slots;
use crate::evaluation::{Confusion, Judged, Run, Worth};
use crate::experiment::Record;
use crate::report::text::table;

/// Misleading descriptions that are named; the rest are counted.
const NAMED: usize = 8;

/// How to read the table.
pub(super) const LEGEND: &str = "κ: a description is worth so many photos of its class. left-out error: how far the description \
                                 of a class misses it when its photos are left out; at 100 % or more the mean of all classes \
                                 would be as good. all, seen: points of accuracy that answering with classes without photos \
                                 adds, over all classes and over seen ones: as photos of seen classes let expect, and as the \
                                 test photos show.";

const COLUMNS: [&str; 9] =
    ["task", "described by", "κ", "left-out error", "answers", "all, expected", "found", "seen, expected", "found"];

/// What there is to say of a run: a table and some sentences.
#[derive(Debug, PartialEq)]
pub(super) struct Said {
    /// The head and a row a task, with more below it where there are several sources; none where there is nothing to show.
    pub(super) rows: Vec<Vec<String>>,
    /// Why guesses are left out, and whose description misleads, a sentence each.
    pub(super) sentences: Vec<String>,
}

/// What a record says; none where the run is none of the closed form.
pub(super) fn said(record: &Record) -> Option<Said> {
    let worths: Vec<&Worth> = record.worths().collect();
    let last = *worths.last()?;
    let run = record.run();
    let mut rows = Vec::new();
    for worth in worths.iter().filter(|worth| worth.kappa.is_some()) {
        rows.extend(of_task(worth, &run));
    }
    if !rows.is_empty() {
        rows.insert(0, COLUMNS.map(String::from).to_vec());
    }
    let reason = |worth: &&Worth| Some((worth.why_not.clone()?, worth.task));
    let mut sentences = reasons("the base model answers", worths.iter().filter_map(reason));
    sentences.extend(misleading(last));
    Some(Said { rows, sentences })
}

/// As a part of the text for the terminal.
pub(super) fn text(record: &Record) -> Option<String> {
    Some(said(record)?.text("what descriptions are worth", LEGEND))
}

impl Said {
    /// As a part of the text for the terminal.
    pub(super) fn text(&self, title: &str, legend: &str) -> String {
        let mut out = format!("{title}\n");
        if !self.rows.is_empty() {
            out.push_str(&table(&self.rows));
            out.push_str(&wrapped(legend));
        }
        self.sentences.iter().for_each(|sentence| out.push_str(&wrapped(sentence)));
        out
    }
}

fn of_task(worth: &Worth, run: &Run) -> Vec<Vec<String>> {
    let photos = |kappa: Option<f64>| kappa.map_or_else(|| "–".to_owned(), |kappa| format!("{kappa:.1}"));
    let error = |explained: f64| format!("{:.0} %", 100.0 * (1.0 - explained));
    let (described, missed) = match &worth.sources[..] {
        [one] => (one.source.clone(), error(one.explained)),
        _ => ("all together".to_owned(), "–".to_owned()),
    };
    let answers = match (worth.guesses, &worth.why_not) {
        (true, _) => "ghosts, too",
        (false, Some(_)) => "base model",
        (false, None) => "all have photos",
    };
    let judged = run.tasks.get(worth.task - 1).filter(|_| worth.guesses);
    let (gained, kept) = judged.map_or((None, None), |judged| found(judged, run.all(), run.seen(worth.task)));
    let told = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), points);
    let gain = worth.gain.map(|(mean, error)| format!("{} ± {:.1}", points(mean), 100.0 * error));
    let mut rows = vec![vec![
        worth.task.to_string(),
        described,
        photos(worth.kappa),
        missed,
        answers.to_owned(),
        gain.unwrap_or_else(|| "–".to_owned()),
        told(gained),
        told(worth.seen_drop.map(|drop| -drop)),
        told(kept),
    ]];
    if worth.sources.len() > 1 {
        rows.extend(worth.sources.iter().map(|source| {
            let mut row =
                vec![String::new(), source.source.clone(), photos(Some(source.kappa)), error(source.explained)];
            row.resize(COLUMNS.len(), String::new());
            row
        }));
    }
    rows
}

/// Points of accuracy with a sign; none of it where it rounds to nothing.
pub(super) fn points(share: f64) -> String {
    let text = format!("{:+.1}", 100.0 * share);
    if text.ends_with("0.0") && text.len() == 4 { "0.0".to_owned() } else { text }
}

/// What guessing adds over all classes and over seen ones on test images, against the same model with seen classes alone.
pub(super) fn found(judged: &Judged, all: Slots, seen: Slots) -> (Option<f64>, Option<f64>) {
    let without = without_guesses(judged, all);
    let gain = |slots: Slots| Some(judged.confusion.accuracy(slots)? - without.accuracy(slots)?);
    (gain(all), gain(seen))
}

/// What the same model answers where only seen classes compete.
pub(super) fn without_guesses(judged: &Judged, all: Slots) -> Confusion {
    let mut without = judged.answers.clone();
    without.unseen = None;
    without.confusion(all.len())
}

fn misleading(last: &Worth) -> Option<String> {
    let more = last.misleading.len().saturating_sub(NAMED);
    let named: Vec<String> =
        last.misleading.iter().take(NAMED).map(|one| format!("{} (described like {})", one.class, one.like)).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("Descriptions that mislead: {}{more}.", named.join(", ")))
}

/// `After task 3 the base model answers: …`, one sentence a reason, with the tasks that it holds for.
pub(super) fn reasons(what: &str, given: impl Iterator<Item = (String, usize)>) -> Vec<String> {
    let mut known: Vec<(String, Vec<usize>)> = Vec::new();
    for (reason, task) in given {
        match known.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, tasks)) => tasks.push(task),
            None => known.push((reason, vec![task])),
        }
    }
    known.into_iter().map(|(reason, tasks)| format!("After {} {what}: {reason}.", listed(&tasks))).collect()
}

/// `task 3`, `tasks 1 and 3` or `every task`.
pub(super) fn listed(tasks: &[usize]) -> String {
    let names: Vec<String> = tasks.iter().map(usize::to_string).collect();
    match names.split_last() {
        Some((last, [])) => format!("task {last}"),
        Some((last, first)) => format!("tasks {} and {last}", first.join(", ")),
        None => "no task".to_owned(),
    }
}

/// Lines of at most 80 characters.
pub(super) fn wrapped(text: &str) -> String {
    let (mut out, mut wide) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        match wide {
            0 => {}
            _ if wide + 1 + length > 80 => {
                out.push('\n');
                wide = 0;
            }
            _ => {
                out.push(' ');
                wide += 1;
            }
        }
        out.push_str(word);
        wide += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
pub(super) mod testing {
    use crate::class::Slot;
    use crate::evaluation::{Best, Misleading, SourceWorth, Worth};
    use crate::experiment::Record;
    use crate::experiment::record::Line;
    use crate::report::text::testing::record;

    /// Three tasks of the closed form: ghosts answer after the first, the base model after the second. After the first,
    /// seen classes alone get 4 of 8 images right; guesses win one more and lose one of class 1.
    pub(in crate::report) fn closed_record() -> Record {
        let mut record = record(&[[0, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 2, 2, 2, 0], [0, 2, 1, 3, 2, 2, 3, 3]]);
        if let Line::Evaluation(first) = &mut record.lines[0] {
            let slots = [2, 2, 2, 2, 2, 2, 3, 2].map(Slot).to_vec();
            let scores = [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0].to_vec();
            first.answers.unseen = Some(Best { slots, scores });
            first.confusion = first.answers.confusion(4);
        }
        let source = |source: &str, kappa, explained| SourceWorth { source: source.to_owned(), kappa, explained };
        let like = |class: &str, like: &str| Misleading { class: class.to_owned(), like: like.to_owned(), miss: 1.5 };
        let sources = vec![source("attributes", 3.9, 0.38), source("names", 0.4, 0.05)];
        let first = Worth {
            task: 1,
            guesses: true,
            kappa: Some(4.2),
            gain: Some((0.05, 0.011)),
            seen_drop: Some(0.02),
            sources,
            ..Default::default()
        };
        let why_not = Some("by what photos of seen classes show, guessing would gain no more than chance".to_owned());
        let second = Worth { task: 2, guesses: false, why_not, ..first.clone() };
        let misleading = vec![like("ant", "bee"), like("cat", "dog")];
        let third = Worth {
            task: 3,
            kappa: Some(4.0),
            sources: vec![source("attributes", 4.0, 0.41)],
            misleading,
            ..Default::default()
        };
        record.lines.extend([first, second, third].map(Line::Worth));
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_descriptions_are_worth_by_task_and_by_source() {
        insta::assert_snapshot!(text(&testing::closed_record()).expect("a closed form"));
    }

    /// Of 8 images two are won and one is lost: +12.5 points. Of the 4 of seen classes one is lost.
    #[test]
    fn what_was_found_is_counted_on_test_images() {
        let run = testing::closed_record().run();
        assert_eq!(found(&run.tasks[0], run.all(), run.seen(1)), (Some(0.125), Some(-0.25)));
    }

    #[test]
    fn nothing_known_of_classes_is_one_sentence() {
        let mut record = testing::closed_record();
        record.lines.truncate(3);
        let why_not = Some("nothing is known of classes but their names: this is the base model".to_owned());
        let worth = |task| Line::Worth(Worth { task, why_not: why_not.clone(), ..Default::default() });
        record.lines.extend((1..=3).map(worth));
        let said = said(&record).expect("a closed form");
        assert!(said.rows.is_empty());
        assert_eq!(
            said.sentences,
            [
                "After tasks 1, 2 and 3 the base model answers: nothing is known of classes but their names: this is the base model."
            ]
        );
    }

    use crate::experiment::record::Line;
}
