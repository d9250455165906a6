//! How long each stage of each task took, and what the planes of the SVM cost of it.

use crate::report::figure::scale::{Scale, label, rounded};
use crate::report::figure::svg::{Anchor, Svg, wide};
use crate::report::figure::{Figure, Table, file_name};
use crate::report::runs::ReadRun;

const WIDTH: f64 = 560.0;
const LEFT: f64 = 52.0;
const ROW: f64 = 30.0;
/// The stage that fits the planes.
const SVM: &str = "svm";

/// The times of the run called `name`; none where none were noted.
pub(in crate::report) fn times(name: &str, run: &ReadRun) -> Option<Figure> {
    let tasks: Vec<(usize, Vec<(String, f64)>)> = run
        .spent
        .iter()
        .enumerate()
        .filter_map(|(index, spent)| {
            let stages = &spent.as_ref()?.stages;
            Some((index + 1, merged(stages.iter().map(|stage| (stage.stage.as_str(), stage.seconds)))))
        })
        .collect();
    let whole: f64 = tasks.iter().flat_map(|(_, stages)| stages).map(|(_, seconds)| seconds).sum();
    if tasks.is_empty() || whole <= 0.0 {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for (stage, _) in tasks.iter().flat_map(|(_, stages)| stages) {
        if !names.contains(&stage.as_str()) {
            names.push(stage);
        }
    }
    let max_norm = tasks.iter().map(|(_, stages)| stages.iter().map(|(_, s)| s).sum::<f64>()).fold(0.0, f64::max);
    let top = 24.0 + legend_height(&names);
    let mut svg = Svg::new(WIDTH, top + tasks.len() as f64 * ROW + 40.0);
    legend(&mut svg, &names);
    let x = Scale::new((0.0, rounded(0.0, max_norm, 4).1), (LEFT, WIDTH - 20.0));
    let ground = svg.height - 34.0;
    let ticks = x.ticks(4);
    for tick in &ticks {
        svg.line("rule", (x.place(*tick), top), (x.place(*tick), ground));
        svg.text("faint small", (x.place(*tick), ground + 15.0), Anchor::Middle, &label(*tick, &ticks));
    }
    svg.text("faint small", (WIDTH / 2.0, ground + 30.0), Anchor::Middle, "seconds");
    let mut table = Table::new(&["task", "stage", "seconds"]);
    for (row, (task, stages)) in tasks.iter().enumerate() {
        let y = top + row as f64 * ROW;
        svg.text("small", (LEFT - 8.0, y + 19.0), Anchor::End, &format!("task {task}"));
        let mut start = 0.0;
        for (stage, seconds) in stages {
            let hue = names.iter().position(|name| name == stage).unwrap_or(0);
            let (from, to) = (x.place(start), x.place(start + seconds));
            let tip = format!("task {task}, {stage}: {seconds:.1} s");
            svg.bar(&format!("f{}", colour(stage, hue)), (from, y + 5.0), (to - from, ROW - 10.0), &tip);
            table.rows.push(vec![task.to_string(), stage.clone(), format!("{seconds:.3}")]);
            start += seconds;
        }
    }
    let svm: f64 =
        tasks.iter().flat_map(|(_, stages)| stages).filter(|(stage, _)| stage == SVM).map(|(_, seconds)| seconds).sum();
    let (title, cost) = match names.contains(&SVM) {
        true => (
            "Time, and what the SVM costs",
            format!("The planes of the SVM took {svm:.1} s of {whole:.1} s, {:.1} %.", 100.0 * svm / whole),
        ),
        false => ("Time by stage", format!("{whole:.1} s in all.")),
    };
    Some(Figure {
        name: format!("{}-times", file_name(name)),
        title: title.to_owned(),
        about: format!("{cost} Times are those of the machine that ran it; they are no part of the record."),
        alt: format!("Stacked bars of seconds by stage, task by task. {cost}"),
        table,
        svg,
    })
}

/// The stages of one name added up, in the order in which they first come.
fn merged<'a>(stages: impl Iterator<Item = (&'a str, f64)>) -> Vec<(String, f64)> {
    let mut merged: Vec<(String, f64)> = Vec::new();
    for (stage, seconds) in stages {
        match merged.iter_mut().find(|(known, _)| known == stage) {
            Some((_, sum)) => *sum += seconds,
            None => merged.push((stage.to_owned(), seconds)),
        }
    }
    merged
}

/// The stages of a task, each with a colour that is the same in all figures.
const COLOURS: [(&str, usize); 10] = [
    ("prepare", 0),
    ("imprint", 6),
    ("refresh", 8),
    (SVM, 2),
    ("train", 1),
    ("finetune", 7),
    ("remember", 9),
    ("generator", 3),
    ("complete", 4),
    ("evaluate", 5),
];

/// A stage of another version has the colour of its place.
fn colour(stage: &str, hue: usize) -> usize {
    COLOURS.iter().find(|(name, _)| *name == stage).map_or(hue % 10, |(_, colour)| *colour)
}

fn places(names: &[&str]) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (LEFT, 14.0);
    names
        .iter()
        .map(|name| {
            let room = wide(name, 11.0) + 30.0;
            if x + room > WIDTH {
                (x, y) = (LEFT, y + 17.0);
            }
            let place = (x, y);
            x += room;
            place
        })
        .collect()
}

fn legend_height(names: &[&str]) -> f64 {
    places(names).last().map_or(0.0, |(_, y)| *y)
}

fn legend(svg: &mut Svg, names: &[&str]) {
    for (hue, (name, (x, y))) in names.iter().zip(places(names)).enumerate() {
        svg.bar(&format!("f{}", colour(name, hue)), (x, y - 9.0), (10.0, 10.0), name);
        svg.text("small", (x + 15.0, y), Anchor::Start, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Spent, StageSeconds};
    use crate::report::runs::testing::read_run;

    #[test]
    fn stages_differ_in_colour() {
        let colours: std::collections::BTreeSet<usize> = COLOURS.iter().map(|(stage, _)| colour(stage, 0)).collect();
        assert_eq!(colours.len(), COLOURS.len());
    }

    /// 8 + 2 s with the SVM twice for 1 s in all: a tenth.
    #[test]
    fn what_the_svm_costs_by_hand() {
        let mut run = read_run("ghost", 1, "", &[[0; 8]]);
        let stage = |stage: &str, seconds| StageSeconds { stage: stage.to_owned(), seconds };
        let stages = vec![stage("svm", 0.4), stage("train", 8.0), stage("svm", 0.6), stage("evaluate", 1.0)];
        run.spent = vec![Some(Spent { seconds: 10.0, stages, peak_ram_bytes: None, peak_vram_bytes: None })];
        let figure = times("ghost", &run).expect("times");
        assert!(figure.about.starts_with("The planes of the SVM took 1.0 s of 10.0 s, 10.0 %."), "{}", figure.about);
        let rows: Vec<String> = figure.table.rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows, ["1 svm 1.000", "1 train 8.000", "1 evaluate 1.000"]);
        assert_eq!(figure.title, "Time, and what the SVM costs");
        assert!(times("ghost", &read_run("ghost", 1, "", &[[0; 8]])).is_none());
    }

    #[test]
    fn without_planes_nothing_is_said_of_them() {
        let mut run = read_run("closed", 1, "", &[[0; 8]]);
        let stages = vec![StageSeconds { stage: "features".to_owned(), seconds: 2.0 }];
        run.spent = vec![Some(Spent { seconds: 2.0, stages, peak_ram_bytes: None, peak_vram_bytes: None })];
        let figure = times("closed", &run).expect("times");
        assert_eq!(figure.title, "Time by stage");
        assert!(figure.about.starts_with("2.0 s in all. Times are"), "{}", figure.about);
    }
}
