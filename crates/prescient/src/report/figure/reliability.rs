//! What probabilities promise against what comes true, after a task: on the diagonal they can be believed.

use crate::evaluation::{Bin, Reliability};
use crate::report::figure::accuracy::{MARGINS, values_axis};
use crate::report::figure::scale::Scale;
use crate::report::figure::svg::{Anchor, Svg};
use crate::report::figure::{Figure, Table, cell, file_name, percent};
use crate::report::runs::ReadRun;

const SIZE: (f64, f64) = (380.0, 330.0);

/// What is stated with a probability.
const STATEMENTS: [&str; 2] = ["the answer is right", "not yet photographed"];

/// After task `task`, from 1, of the run called `name`; none where its record has no probabilities.
pub(in crate::report) fn reliability(name: &str, run: &ReadRun, task: usize) -> Option<Figure> {
    let answers = &run.run.tasks[task - 1].answers;
    let seen = run.run.seen(task);
    let stated = [Some(answers.confidences()?), answers.novelties(|slot| seen.contains(slot))];
    let mut svg = Svg::new(SIZE.0, SIZE.1);
    let y = values_axis(&mut svg, (0.0, 100.0), "% true");
    let (left, end, ground) = (MARGINS.0, svg.width - MARGINS.1, svg.height - MARGINS.3);
    let x = Scale::new((0.0, 100.0), (left, end));
    for tick in [0.0, 25.0, 50.0, 75.0, 100.0] {
        svg.text("faint small", (x.place(tick), ground + 16.0), Anchor::Middle, &format!("{tick}"));
    }
    svg.text("faint small", ((left + end) / 2.0, ground + 32.0), Anchor::Middle, "% promised");
    svg.line("axis", (x.place(0.0), y.place(0.0)), (x.place(100.0), y.place(100.0)));
    let mut table = Table::new(&["statement", "test images", "promised %", "true %"]);
    let mut said = Vec::new();
    for (hue, (what, statements)) in STATEMENTS.iter().zip(stated).enumerate() {
        let Some(found) = statements.map(|statements| Reliability::equal_width(&statements)) else { continue };
        let Some(error) = found.error() else { continue };
        said.push(format!("“{what}” is off by {} on average", percent(error)));
        let place = |bin: &Bin| (x.place(100.0 * bin.promised), y.place(100.0 * bin.kept));
        svg.path(&format!("l s{hue}"), &found.bins.iter().map(|bin| Some(place(bin))).collect::<Vec<_>>());
        let all: usize = found.bins.iter().map(|bin| bin.count).sum();
        for bin in &found.bins {
            let Bin { count, promised, kept } = *bin;
            let tip = format!("{what}: {count} times, {} promised, {} true", percent(promised), percent(kept));
            // As large as their share, and never too small to point at.
            let radius = 2.5 + 7.0 * (count as f64 / all as f64).sqrt();
            svg.dot(&format!("f{hue} real"), place(bin), radius, &tip);
            let numbers = [promised, kept].map(|value| cell(Some(value)));
            table.rows.push([(*what).to_owned(), count.to_string()].into_iter().chain(numbers).collect());
        }
        svg.text(
            &format!("f{hue} strong halo"),
            (left + 8.0, MARGINS.2 + 16.0 + 17.0 * hue as f64),
            Anchor::Start,
            what,
        );
    }
    Some(Figure {
        name: format!("{}-task-{task}-reliability", file_name(name)),
        title: format!("Probabilities after task {task}"),
        about: "Test images by the probability of a statement, in 15 bins of equal width: how probable it was said to be, and how \
                often it is true. Larger dots are more images; the line is where both agree."
            .to_owned(),
        alt: format!("Promised against true probabilities after task {task}: {}.", said.join("; ")),
        table,
        svg,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::Probabilities;
    use crate::report::runs::testing::read_run;

    /// Six of eight answers are right. Four of 0.95, three of them right, are off by 0.2; four of 0.4 likewise by 0.35.
    #[test]
    fn a_dot_is_what_was_promised_and_what_came_true() {
        let mut run = read_run("a", 1, "", &[[0, 0, 1, 0, 2, 2, 3, 0]]);
        assert!(reliability("a", &run, 1).is_none());
        let answer = vec![0.95, 0.95, 0.95, 0.95, 0.4, 0.4, 0.4, 0.4];
        run.run.tasks[0].answers.probabilities = Some(Probabilities { answer, unseen: Vec::new() });
        let figure = reliability("a", &run, 1).expect("a figure");
        let rows: Vec<String> = figure.table.rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows, ["the answer is right 4 40.00 75.00", "the answer is right 4 95.00 75.00"]);
        assert!(figure.alt.ends_with("“the answer is right” is off by 27.5 % on average."), "{}", figure.alt);
    }
}
