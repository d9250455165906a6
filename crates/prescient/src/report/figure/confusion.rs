//! Which class was answered for which, after a task, with borders between past, present and future.

use crate::class::Slot;
use crate::evaluation::Confusion;
use crate::report::figure::svg::{Anchor, Svg, number, wide};
use crate::report::figure::{Figure, Table, file_name, percent};
use crate::report::runs::{ReadRun, Time};
use std::fmt::Write;

/// The side of the square, in pixels: larger where there are many classes, so that their names can be read.
fn side(classes: usize) -> f64 {
    (11.0 * classes as f64).clamp(400.0, 620.0)
}

/// The answers after task `task`, from 1, of the run called `name`.
pub(in crate::report) fn confusion(name: &str, run: &ReadRun, task: usize) -> Figure {
    let counts = &run.run.tasks[task - 1].confusion;
    let classes = &run.record.start.classes[..run.run.classes];
    let side = side(classes.len());
    let cell = side / classes.len() as f64;
    let size = (0.82 * cell).clamp(5.5, 11.0);
    let names: Vec<String> = classes.iter().map(|class| short(class)).collect();
    let margin = names.iter().map(|name| wide(name, size)).fold(28.0, f64::max) + 10.0;
    let (left, top) = (margin + 16.0, 26.0);
    let mut svg = Svg::new(left + side + 8.0, top + side + margin + 20.0);
    cells(&mut svg, counts, cell, (left, top));
    for (index, name) in names.iter().enumerate() {
        let middle = (index as f64 + 0.5) * cell;
        svg.turned((left - 6.0, top + middle + 0.35 * size), Anchor::End, 0.0, size, name);
        svg.turned((left + middle + 0.35 * size, top + side + 6.0), Anchor::End, -90.0, size, name);
    }
    borders(&mut svg, run, task, cell, (left, top));
    svg.turned((12.0, top + side / 2.0), Anchor::Middle, -90.0, 11.0, "shown");
    svg.turned((left + side / 2.0, svg.height - 4.0), Anchor::Middle, 0.0, 11.0, "answered");
    let mut table = Table { head: vec!["shown \\ answered".to_owned()], rows: Vec::new() };
    table.head.extend(classes.iter().cloned());
    for (class, row) in classes.iter().zip(counts.dense()) {
        let cells = row.iter().take(classes.len()).map(u32::to_string);
        table.rows.push(std::iter::once(class.clone()).chain(cells).collect());
    }
    Figure {
        name: format!("{}-task-{task}-confusion", file_name(name)),
        title: format!("Confusion after task {task}"),
        about:
            "A row is the class that an image shows, a column the class that was answered; the stronger its colour, the larger the \
                share of the row. Lines stand between past, present and future classes."
                .to_owned(),
        alt: alt(run, task),
        table,
        svg,
    }
}

/// Only what is not zero is drawn; the page reads the number from its data.
fn cells(svg: &mut Svg, counts: &Confusion, cell: f64, (left, top): (f64, f64)) {
    svg.open(&format!("class=\"cell\" transform=\"translate({} {})\"", number(left), number(top)));
    for truth in (0..counts.classes()).map(|class| Slot(class as u32)) {
        let all = counts.images(truth);
        // Answers that are classes without images have no column.
        for (answer, count) in counts.answers(truth) {
            let share = f64::from(count) / f64::from(all);
            let (truth, answer) = (truth.index(), answer.index());
            let _ = write!(
                svg.body,
                "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill-opacity=\"{:.2}\" data-cell=\"{truth},{answer}\"/>",
                answer as f64 * cell,
                truth as f64 * cell,
                cell,
                cell,
                0.08 + 0.92 * share
            );
        }
    }
    svg.close();
    let side = number(cell * counts.classes() as f64);
    svg.body.push_str(&format!(
        "<rect class=\"axis\" x=\"{}\" y=\"{}\" width=\"{side}\" height=\"{side}\"/>\n",
        number(left),
        number(top)
    ));
}

fn borders(svg: &mut Svg, run: &ReadRun, task: usize, cell: f64, (left, top): (f64, f64)) {
    let side = cell * run.run.classes as f64;
    for (time, slots) in run.times(task).into_iter().filter(|(_, slots)| !slots.is_empty()) {
        let (start, end) = (slots.range().start as f64 * cell, slots.range().end as f64 * cell);
        if start > 0.0 {
            svg.line("border", (left + start, top - 6.0), (left + start, top + side));
            svg.line("border", (left - 6.0, top + start), (left + side, top + start));
        }
        if wide(time.name(), 11.0) < end - start + 8.0 {
            svg.text("small strong", (left + (start + end) / 2.0, top - 8.0), Anchor::Middle, time.name());
        }
    }
}

fn alt(run: &ReadRun, task: usize) -> String {
    let parts: Vec<String> = run
        .times(task)
        .into_iter()
        .filter_map(|(time, slots)| {
            let share = run.run.tasks[task - 1].confusion.accuracy(slots)?;
            let kind = if time == Time::Future { "future (not yet come)" } else { time.name() };
            Some(format!("{} of the images of {kind} classes are answered right", percent(share)))
        })
        .collect();
    format!("Confusion matrix after task {task}: {}.", parts.join(", "))
}

/// A name that leaves room for the drawing.
pub(super) fn short(name: &str) -> String {
    const MOST: usize = 24;
    match name.chars().count() > MOST {
        true => name.chars().take(MOST - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::runs::testing::read_run;

    #[test]
    fn cells_are_the_records_counts() {
        let run = read_run("base", 1, "", &[[0, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 2, 2, 2, 0]]);
        let figure = confusion("base", &run, 2);
        assert_eq!(figure.table.rows[1], ["bee", "1", "1", "0", "0"]);
        assert_eq!(figure.table.rows[3], ["dog", "1", "0", "1", "0"]);
        assert!(figure.svg.body.contains("fill-opacity=\"0.54\" data-cell=\"1,0\""), "half of its row");
        assert_eq!(figure.svg.body.matches("data-cell").count(), 6);
        // Two past classes, one present, one future: two lines between rows and two between columns.
        assert_eq!(figure.svg.body.matches("class=\"border\"").count(), 4);
        assert!(figure.alt.contains("75.0 % of the images of past classes"), "{}", figure.alt);
    }
}
