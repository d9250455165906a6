//! What one kind of run has over another, task by task: the paper's Ghost minus base.

use crate::evaluation::statistics::Summary;
use crate::report::figure::accuracy::{SIZE, draw, frame, name_lines};
use crate::report::figure::scale::rounded;
use crate::report::figure::svg::Svg;
use crate::report::figure::{Figure, Table};
use crate::report::runs::Kind;

const OVER: &[(&str, &str)] = &[("accuracy", "all"), ("seen", "seen"), ("unseen", "unseen")];

/// Each kind minus the base: the first that does not guess, or else the first. None where there is nothing to compare.
pub(in crate::report) fn differences(kinds: &[Kind<'_>]) -> Vec<Figure> {
    let Some(base) = kinds.iter().position(|kind| !kind.first().guesses()).or((kinds.len() > 1).then_some(0)) else {
        return Vec::new();
    };
    let others = kinds.iter().enumerate().filter(|(place, other)| *place != base && comparable(&kinds[base], other));
    others.map(|(_, other)| one(&kinds[base], other)).collect()
}

/// Whether the classes came in the same tasks.
fn comparable(base: &Kind<'_>, other: &Kind<'_>) -> bool {
    let tasks = |kind: &Kind<'_>| kind.first().record.start.tasks.clone();
    tasks(base) == tasks(other)
}

/// Paired by seed where both have the seed; else the difference of the means.
fn paired(base: &Kind<'_>, other: &Kind<'_>, metric: &str, task: usize) -> Option<Summary> {
    let pairs: Vec<f64> = other
        .runs
        .iter()
        .filter_map(|run| {
            let twin = base.runs.iter().find(|twin| twin.record.start.seed == run.record.start.seed)?;
            Some(run.value(metric, task)? - twin.value(metric, task)?)
        })
        .collect();
    Summary::of(&pairs).or_else(|| {
        let value = other.mean(metric, task)?.mean - base.mean(metric, task)?.mean;
        Some(Summary { count: 1, mean: value, deviation: None })
    })
}

fn one(base: &Kind<'_>, other: &Kind<'_>) -> Figure {
    let tasks = base.finished().min(other.finished());
    let lines: Vec<(&str, Vec<Option<Summary>>)> = OVER
        .iter()
        .map(|(metric, name)| (*name, (1..=tasks).map(|task| paired(base, other, metric, task)).collect()))
        .collect();
    let all = || lines.iter().flat_map(|(_, means)| means.iter().flatten());
    let low = all().map(|mean| 100.0 * (mean.mean - mean.deviation.unwrap_or(0.0))).fold(0.0, f64::min);
    let high = all().map(|mean| 100.0 * (mean.mean + mean.deviation.unwrap_or(0.0))).fold(0.0, f64::max);
    let mut svg = Svg::new(SIZE.0, SIZE.1);
    let (x, y) = frame(&mut svg, tasks, rounded(low, high.max(low + 1.0), 5), "points");
    let mut table = Table::new(&["task", "classes", "difference in points", "deviation"]);
    let (mut ends, mut said) = (Vec::new(), Vec::new());
    for (hue, (name, means)) in lines.iter().enumerate() {
        draw(&mut svg, hue, means, |task| x.place(task), |value| y.place(100.0 * value));
        for (index, mean) in means.iter().enumerate() {
            let Some(mean) = mean else { continue };
            let points = format!("{:+.1}", 100.0 * mean.mean);
            let spread = mean.deviation.map(|deviation| format!("{:.2}", 100.0 * deviation)).unwrap_or_default();
            let tip = format!("{name} classes, task {}: {points} points", index + 1);
            let place = (x.place((index + 1) as f64), y.place(100.0 * mean.mean));
            svg.dot(&format!("f{hue} real"), place, 4.0, &tip);
            let value = format!("{:+.2}", 100.0 * mean.mean);
            table.rows.push(vec![(index + 1).to_string(), (*name).to_owned(), value, spread]);
        }
        if let Some((index, mean)) = means.iter().enumerate().rev().find_map(|(i, mean)| Some((i, (*mean)?))) {
            ends.push((hue, *name, x.place((index + 1) as f64), y.place(100.0 * mean.mean)));
            said.push(format!("over {name} classes {:+.1} points after task {}", 100.0 * mean.mean, index + 1));
        }
    }
    name_lines(&mut svg, &ends);
    Figure {
        name: format!(
            "difference-{}-{}",
            crate::report::figure::file_name(&other.name),
            crate::report::figure::file_name(&base.name)
        ),
        title: format!("{} − {}", other.name, base.name),
        about:
            "Difference of accuracies after each task; above zero the first is better. Runs of one seed are paired; \
                bands are one deviation over seeds to each side."
                .to_owned(),
        alt: format!("{} minus {}: {}.", other.name, base.name, said.join("; ")),
        table,
        svg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::runs::testing::read_run;

    /// After task 1: base 4 of 8, the other 6 of 8; unseen 0 of 4 against 2 of 4; seen the same.
    #[test]
    fn differences_by_hand() {
        let runs = [
            read_run("base", 1, "seed = 1", &[[0, 0, 1, 1, 0, 1, 0, 1]]),
            read_run("other", 1, "seed = 1\n[train]\nepochs = 2", &[[0, 0, 1, 1, 2, 1, 3, 1]]),
        ];
        let figures = differences(&Kind::among(&runs));
        assert_eq!(figures.len(), 1);
        assert_eq!(figures[0].title, "other − base");
        let rows: Vec<_> = figures[0].table.rows.iter().map(|row| (row[1].as_str(), row[2].as_str())).collect();
        assert_eq!(rows, [("all", "+25.00"), ("seen", "+0.00"), ("unseen", "+50.00")]);
    }

    #[test]
    fn one_kind_alone_has_no_difference() {
        let runs = [read_run("base", 1, "", &[[0; 8]])];
        assert!(differences(&Kind::among(&runs)).is_empty());
    }
}
