//! Accuracy after each task: a line a kind of run, a band where there are several seeds.

use crate::evaluation::statistics::Summary;
use crate::report::figure::scale::Scale;
use crate::report::figure::svg::{Anchor, Svg, wide};
use crate::report::figure::{Figure, Table, cell, percent};
use crate::report::runs::Kind;

pub(super) const SIZE: (f64, f64) = (380.0, 250.0);
/// Left, right, top, bottom.
pub(super) const MARGINS: (f64, f64, f64, f64) = (38.0, 16.0, 26.0, 40.0);

/// Over all, seen and unseen classes: the metric, and what it is over.
const OVER: &[(&str, &str, &str)] = &[
    ("accuracy", "all", "all classes, past, present and future"),
    ("seen", "seen", "classes that have come"),
    ("unseen", "unseen", "classes that have not come"),
];

/// One figure each for all, seen and unseen classes.
pub(in crate::report) fn accuracies(kinds: &[Kind<'_>]) -> Vec<Figure> {
    OVER.iter().map(|(metric, name, over)| one(kinds, metric, name, over)).collect()
}

fn one(kinds: &[Kind<'_>], metric: &str, name: &str, over: &str) -> Figure {
    let tasks = kinds.iter().map(Kind::finished).max().unwrap_or(0);
    let mut svg = Svg::new(SIZE.0, SIZE.1);
    let (x, y) = frame(&mut svg, tasks, (0.0, 100.0), "%");
    let mut table = Table::new(&["run", "task", "classes seen", "accuracy %", "deviation"]);
    let mut said = Vec::new();
    let mut ends = Vec::new();
    for (hue, kind) in kinds.iter().enumerate() {
        let means: Vec<Option<Summary>> = (1..=kind.finished()).map(|task| kind.mean(metric, task)).collect();
        draw(&mut svg, hue, &means, |task| x.place(task), |value| y.place(100.0 * value));
        for (index, mean) in means.iter().enumerate() {
            let Some(mean) = mean else { continue };
            let task = index + 1;
            let seen = kind.first().run.seen(task).len();
            let tip = format!("{}, task {task}: {}", kind.name, spread(*mean));
            svg.dot(&format!("f{} real", hue % 10), (x.place(task as f64), y.place(100.0 * mean.mean)), 4.0, &tip);
            let (value, deviation) = (cell(Some(mean.mean)), cell(mean.deviation));
            table.rows.push(vec![kind.name.clone(), task.to_string(), seen.to_string(), value, deviation]);
        }
        if let Some((index, mean)) = means.iter().enumerate().rev().find_map(|(i, mean)| Some((i, (*mean)?))) {
            ends.push((hue, kind.name.as_str(), x.place((index + 1) as f64), y.place(100.0 * mean.mean)));
            let first = means.iter().flatten().next().copied().unwrap_or(mean);
            said.push(format!("{} goes from {} to {}", kind.name, percent(first.mean), percent(mean.mean)));
        }
    }
    name_lines(&mut svg, &ends);
    let alt = match said.is_empty() {
        true => format!("Nothing to draw over {over}."),
        false => format!("Accuracy over {over}, task by task: {}.", said.join("; ")),
    };
    let several = kinds.iter().any(|kind| kind.runs.len() > 1);
    Figure {
        name: format!("accuracy-{name}"),
        title: format!("Accuracy: {name} classes"),
        about: format!(
            "Right answers on test images of {over}, after each task; all classes compete.{}",
            if several { " Lines are means over seeds, bands one deviation to each side." } else { "" }
        ),
        alt,
        table,
        svg,
    }
}

/// A mean as people read it.
pub(in crate::report) fn spread(mean: Summary) -> String {
    match mean.deviation {
        Some(deviation) => format!("{:.1} ± {:.1} %", 100.0 * mean.mean, 100.0 * deviation),
        None => percent(mean.mean),
    }
}

/// The axis of values with its rules; `unit` stands at the top.
pub(super) fn values_axis(svg: &mut Svg, values: (f64, f64), unit: &str) -> Scale {
    let (left, right, top, bottom) = MARGINS;
    let y = Scale::new(values, (svg.height - bottom, top));
    let ticks = y.ticks(5);
    for tick in &ticks {
        let place = y.place(*tick);
        let class = if *tick == 0.0 { "axis" } else { "rule" };
        svg.line(class, (left, place), (svg.width - right, place));
        svg.text(
            "faint small",
            (left - 6.0, place + 4.0),
            Anchor::End,
            &crate::report::figure::scale::label(*tick, &ticks),
        );
    }
    // One that is wider than the numbers below it begins where the figure does.
    let (at, anchor) = if wide(unit, 11.0) > left - 6.0 { (0.0, Anchor::Start) } else { (left - 6.0, Anchor::End) };
    svg.text("faint small", (at, top - 12.0), anchor, unit);
    y
}

/// Axes for values task by task.
pub(super) fn frame(svg: &mut Svg, tasks: usize, values: (f64, f64), unit: &str) -> (Scale, Scale) {
    let y = values_axis(svg, values, unit);
    let (left, end, ground) = (MARGINS.0, svg.width - MARGINS.1, svg.height - MARGINS.3);
    let x = Scale::new((1.0, tasks.max(2) as f64), (left + 14.0, end - 14.0));
    for task in 1..=tasks {
        svg.text("faint small", (x.place(task as f64), ground + 16.0), Anchor::Middle, &task.to_string());
    }
    svg.text("faint small", ((left + end) / 2.0, ground + 32.0), Anchor::Middle, "task");
    (x, y)
}

/// The band and the line of one kind.
pub(super) fn draw(
    svg: &mut Svg,
    hue: usize,
    means: &[Option<Summary>],
    x: impl Fn(f64) -> f64,
    y: impl Fn(f64) -> f64,
) {
    let at = |sign: f64| {
        let edge = move |(index, mean): (usize, &Option<Summary>)| {
            let mean = (*mean)?;
            Some(((index + 1) as f64, mean.mean + sign * mean.deviation?))
        };
        means.iter().enumerate().filter_map(edge).map(|(task, value)| (x(task), y(value))).collect::<Vec<_>>()
    };
    let mut outline = at(1.0);
    outline.extend(at(-1.0).into_iter().rev());
    if outline.len() > 2 {
        svg.area(&format!("f{} band", hue % 10), &outline);
    }
    let line: Vec<Option<(f64, f64)>> =
        means.iter().enumerate().map(|(index, mean)| mean.map(|mean| (x((index + 1) as f64), y(mean.mean)))).collect();
    let dash = ["", " dashed", " dotted"][(hue / 10) % 3];
    svg.path(&format!("l s{}{dash}", hue % 10), &line);
}

/// Names at the ends of lines, apart from each other; `ends` are hue, name, x and y.
pub(super) fn name_lines(svg: &mut Svg, ends: &[(usize, &str, f64, f64)]) {
    const ROOM: f64 = 14.0;
    let mut ends = ends.to_vec();
    ends.sort_by(|a, b| a.3.total_cmp(&b.3));
    let mut last = f64::NEG_INFINITY;
    let ground = svg.height - MARGINS.3;
    for (hue, name, x, y) in ends {
        // Above its line, or below it where another name is above.
        let above = (y - 9.0).max(MARGINS.2 - 4.0);
        let place = if above >= last + ROOM { above } else { (y + 17.0).max(last + ROOM).min(ground + 10.0) };
        last = place;
        svg.text(&format!("f{} strong halo", hue % 10), (x + 6.0, place), Anchor::End, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::runs::testing::read_run;

    /// After task 1 all: 4 of 8 right, seen: 4 of 4, unseen: 0 of 4; after task 2 all: 0, 0, 1, ✗, 2, 2, ✗, ✗ = 5 of 8.
    #[test]
    fn what_is_plotted_is_what_the_record_says() {
        let runs = [read_run("base", 1, "", &[[0, 0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 2, 2, 2, 0]])];
        let figures = accuracies(&Kind::among(&runs));
        let values = |figure: &Figure| figure.table.rows.iter().map(|row| row[3].clone()).collect::<Vec<_>>();
        assert_eq!(values(&figures[0]), ["50.00", "62.50"]);
        assert_eq!(values(&figures[1]), ["100.00", "83.33"]);
        assert_eq!(values(&figures[2]), ["0.00", "0.00"]);
        let y = Scale::new((0.0, 100.0), (SIZE.1 - MARGINS.3, MARGINS.2));
        let place = crate::report::figure::svg::number(y.place(62.5));
        assert!(figures[0].svg.body.contains(&format!("cy=\"{place}\" r=\"4\" data-tip=\"base, task 2: 62.5 %\"")));
    }

    /// 50 % and 75 %: mean 62.5, deviation 17.7.
    #[test]
    fn seeds_make_a_mean_and_a_band() {
        let runs = [
            read_run("base-seed1", 1, "seed = 1", &[[0, 0, 1, 1, 0, 1, 0, 1], [0; 8]]),
            read_run("base-seed2", 2, "seed = 2", &[[0, 0, 1, 1, 2, 2, 0, 1], [0; 8]]),
        ];
        let figure = &accuracies(&Kind::among(&runs))[0];
        assert_eq!(figure.table.rows[0], ["base", "1", "2", "62.50", "17.68"]);
        assert!(figure.svg.body.contains("class=\"f0 band\""));
    }
}
