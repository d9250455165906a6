//! How many images of each class are answered right after a task, as bars.

use crate::class::Slots;
use crate::report::figure::confusion::short;
use crate::report::figure::scale::Scale;
use crate::report::figure::svg::{Anchor, Svg, wide};
use crate::report::figure::{Figure, Table, cell, file_name, percent};
use crate::report::runs::{ReadRun, Time};

const WIDTH: f64 = 440.0;
const ROW: f64 = 17.0;

/// The classes after task `task`, from 1, of the run called `name`.
pub(in crate::report) fn classes(name: &str, run: &ReadRun, task: usize) -> Figure {
    let names = &run.record.start.classes[..run.run.classes];
    let confusion = &run.run.tasks[task - 1].confusion;
    let times: Vec<(Time, Slots)> = run.times(task).into_iter().filter(|(_, slots)| !slots.is_empty()).collect();
    let margin = names.iter().map(|name| wide(&short(name), 11.0)).fold(40.0, f64::max) + 12.0;
    let height = names.len() as f64 * ROW + times.len() as f64 * 24.0 + 26.0;
    let mut svg = Svg::new(WIDTH, height);
    let x = Scale::new((0.0, 100.0), (margin, WIDTH - 46.0));
    for tick in [0.0, 50.0, 100.0] {
        svg.line(if tick == 0.0 { "axis" } else { "rule" }, (x.place(tick), 4.0), (x.place(tick), height - 18.0));
        svg.text("faint small", (x.place(tick), height - 4.0), Anchor::Middle, &format!("{tick} %"));
    }
    let mut table = Table::new(&["class", "when", "images", "right", "accuracy %"]);
    let mut y = 4.0;
    for (time, slots) in times {
        svg.text("small strong halo", (margin - 8.0, y + 15.0), Anchor::End, time.name());
        y += 24.0;
        for slot in slots.iter() {
            let class = &names[slot.index()];
            let (right, all) = (confusion.of(slot, slot), confusion.images(slot));
            let share = confusion.accuracy(Slots::new(slot.index(), slot.index() + 1));
            svg.text("small", (margin - 8.0, y + 11.5), Anchor::End, &short(class));
            if let Some(share) = share {
                let end = x.place(100.0 * share);
                let tip = format!("{class} ({}): {right} of {all} right, {}", time.name(), percent(share));
                svg.bar(hue(time), (margin, y + 2.0), (end - margin, ROW - 5.0), &tip);
                svg.text("small faint", (end + 5.0, y + 11.5), Anchor::Start, &format!("{:.0}", 100.0 * share));
            }
            let (all, right) = (all.to_string(), right.to_string());
            table.rows.push(vec![class.clone(), time.name().to_owned(), all, right, cell(share)]);
            y += ROW;
        }
    }
    Figure {
        name: format!("{}-task-{task}-classes", file_name(name)),
        title: format!("Classes after task {task}"),
        about: format!(
            "Right answers on the test images of each class, all classes competing, in order of arrival.{}",
            if confusion.is_square() {
                ""
            } else {
                " Who is taken for whom is not drawn: there are more than 1,000 classes."
            }
        ),
        alt: alt(run, task),
        table,
        svg,
    }
}

fn hue(time: Time) -> &'static str {
    match time {
        Time::Past => "f0",
        Time::Present => "f1",
        Time::Future => "f4",
    }
}

fn alt(run: &ReadRun, task: usize) -> String {
    let confusion = &run.run.tasks[task - 1].confusion;
    let means = run.times(task).into_iter().filter_map(|(time, slots)| {
        Some(format!("{} classes on average {}", time.name(), percent(confusion.class_mean(slots)?)))
    });
    format!("Bars of right answers class by class after task {task}: {}.", means.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::runs::testing::read_run;

    #[test]
    fn bars_are_the_records_shares() {
        let run = read_run("base", 1, "", &[[0, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 2, 2, 2, 0]]);
        let figure = classes("base", &run, 2);
        let rows: Vec<String> = figure.table.rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(
            rows,
            ["ant past 2 2 100.00", "bee past 2 1 50.00", "cat present 2 2 100.00", "dog future 2 0 0.00"]
        );
        assert!(figure.svg.body.contains("data-tip=\"bee (past): 1 of 2 right, 50.0 %\""));
    }
}
