//! Few photos: accuracy against the photos of each new class, with ghosts and without, over runs that differ in `data.shots`.

use crate::experiment::Recipe;
use crate::report::figure::accuracy::{MARGINS, values_axis};
use crate::report::figure::scale::{Scale, rounded};
use crate::report::figure::svg::{Anchor, Svg};
use crate::report::figure::{Figure, Table, cell, percent};
use crate::report::runs::ReadRun;
use std::collections::BTreeMap;

const SIZE: (f64, f64) = (520.0, 300.0);

/// Photos of each class that arrives after the first task; the largest number stands for all that there are.
type Photos = usize;
const ALL: Photos = usize::MAX;

/// Runs that differ in the seed, the order of classes and the photos alone.
struct Line {
    recipe: String,
    name: String,
    guesses: bool,
    /// The accuracy over all classes after the last task, of each run.
    runs: BTreeMap<Photos, Vec<f64>>,
}

/// The figure; none where the finished runs all have as many photos.
pub(in crate::report) fn few(runs: &[ReadRun]) -> Option<Figure> {
    let lines = lines(runs);
    let mut counts: Vec<Photos> = lines.iter().flat_map(|line| line.runs.keys().copied()).collect();
    counts.sort_unstable();
    counts.dedup();
    (counts.len() > 1).then(|| draw(&lines, &counts))
}

fn lines(runs: &[ReadRun]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for run in runs.iter().filter(|run| run.finished() == run.record.start.tasks.len()) {
        let (Ok(mut recipe), Some(accuracy)) =
            (run.record.start.recipe.parse::<Recipe>(), run.value("accuracy", run.finished()))
        else {
            continue;
        };
        let photos = recipe.data.shots.take().unwrap_or(ALL);
        (recipe.seed, recipe.scenario.order) = Default::default();
        let recipe = recipe.to_toml();
        let place = lines.iter().position(|line| line.recipe == recipe).unwrap_or_else(|| {
            let guesses = run.guesses() || run.record.worths().any(|worth| worth.kappa.is_some());
            let name = if guesses { "with ghosts" } else { "photos alone" }.to_owned();
            lines.push(Line { recipe, name, guesses, runs: BTreeMap::new() });
            lines.len() - 1
        });
        lines[place].runs.entry(photos).or_default().push(accuracy);
        // Several of a sort: as their folders are called.
        let alike = lines.iter().filter(|line| line.guesses == lines[place].guesses).count();
        if alike > 1 && lines[place].runs.values().map(Vec::len).sum::<usize>() == 1 {
            lines[place].name = format!("{}: {}", lines[place].name, run.folder);
        }
    }
    lines
}

fn called(photos: Photos) -> String {
    if photos == ALL { "all".to_owned() } else { photos.to_string() }
}

/// Where a count stands: by its logarithm, and all that there are a step behind the most.
fn places(counts: &[Photos]) -> Vec<f64> {
    let most = counts.iter().rev().find(|count| **count != ALL).copied().unwrap_or(1) as f64;
    counts.iter().map(|&count| if count == ALL { (2.2 * most).ln() } else { (count as f64).ln() }).collect()
}

/// Mean, least and most.
fn summed(values: &[f64]) -> (f64, f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (
        mean,
        values.iter().copied().fold(f64::INFINITY, f64::min),
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    )
}

fn draw(lines: &[Line], counts: &[Photos]) -> Figure {
    let all = || lines.iter().flat_map(|line| line.runs.values().flatten().map(|value| 100.0 * value));
    let (low, high) = rounded(all().fold(100.0, f64::min), all().fold(0.0, f64::max), 5);
    let mut svg = Svg::new(SIZE.0, SIZE.1);
    let y = values_axis(&mut svg, (low, high.max(low + 1.0)), "%");
    let (left, end, ground) = (MARGINS.0, svg.width - MARGINS.1, svg.height - MARGINS.3);
    let along = places(counts);
    let x = Scale::new((along[0], along[along.len() - 1]), (left + 14.0, end - 14.0));
    for (count, place) in counts.iter().zip(&along) {
        svg.text("faint small", (x.place(*place), ground + 16.0), Anchor::Middle, &called(*count));
    }
    svg.text("faint small", ((left + end) / 2.0, ground + 32.0), Anchor::Middle, "photos of each new class");
    let mut table = Table::new(&["model", "photos", "runs", "accuracy %", "lowest", "highest"]);
    let mut said = Vec::new();
    for (hue, line) in lines.iter().enumerate() {
        let at = |photos: Photos| {
            let place = counts.iter().position(|count| *count == photos).expect("a count of some line");
            x.place(along[place])
        };
        let points: Vec<(Photos, (f64, f64, f64))> =
            line.runs.iter().map(|(photos, values)| (*photos, summed(values))).collect();
        let edge = |of: fn(&(f64, f64, f64)) -> f64| {
            points.iter().map(move |(photos, point)| (at(*photos), y.place(100.0 * of(point)))).collect::<Vec<_>>()
        };
        if points.len() > 1 && line.runs.values().any(|values| values.len() > 1) {
            let outline: Vec<(f64, f64)> =
                edge(|point| point.2).into_iter().chain(edge(|point| point.1).into_iter().rev()).collect();
            svg.area(&format!("f{} band", hue % 10), &outline);
        }
        let means: Vec<Option<(f64, f64)>> = edge(|point| point.0).into_iter().map(Some).collect();
        svg.path(&format!("l s{}", hue % 10), &means);
        for (photos, (mean, least, most)) in &points {
            let runs = line.runs[photos].len();
            let spread = if runs > 1 {
                format!(", {} to {} in {runs} runs", percent(*least), percent(*most))
            } else {
                String::new()
            };
            let tip =
                format!("{}, photos of each new class: {}: {}{spread}", line.name, called(*photos), percent(*mean));
            svg.dot(&format!("f{} real", hue % 10), (at(*photos), y.place(100.0 * mean)), 4.0, &tip);
            let numbers = [*mean, *least, *most].map(|value| cell(Some(value)));
            let head = [line.name.clone(), called(*photos), runs.to_string()];
            table.rows.push(head.into_iter().chain(numbers).collect());
        }
        if let [(first, from), .., (last, to)] = points[..] {
            said.push(format!(
                "{} goes from {} ({}) to {} ({})",
                line.name,
                percent(from.0),
                called(first),
                percent(to.0),
                called(last)
            ));
        }
        // Accuracy rises with photos: the corner below is free.
        let row = ground - 14.0 - 17.0 * (lines.len() - 1 - hue) as f64;
        svg.text(&format!("f{} strong halo", hue % 10), (end - 8.0, row), Anchor::End, &line.name);
    }
    let several = lines.iter().any(|line| line.runs.values().any(|values| values.len() > 1));
    Figure {
        name: "few-photos".to_owned(),
        title: "Accuracy by photos of each new class".to_owned(),
        about: format!(
            "Right answers on test images of all classes after the last task, by the photos that each class brought which \
             arrived after the first task. The scale does not begin at 0.{}",
            if several { " Lines are means over runs, bands go from the lowest to the highest." } else { "" }
        ),
        alt: format!("Accuracy over all classes by photos of each new class: {}.", said.join("; ")),
        table,
        svg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::runs::testing::read_run;

    /// 8 of 8, 6 of 8 and 4 of 8 right after the last task.
    const RIGHT: [[u32; 8]; 3] = [[0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 1, 2, 2, 0, 0], [0, 0, 1, 1, 0, 0, 0, 0]];

    fn run(folder: &str, seed: u32, data: &str, last: [u32; 8]) -> ReadRun {
        let recipe = format!("seed = {seed}\n[data]\nkind = \"features\"\npath = \"x\"\n{data}");
        read_run(folder, seed, &recipe, &[[0; 8], [0; 8], last])
    }

    fn numbers(figure: &Figure) -> Vec<String> {
        figure.table.rows.iter().map(|row| row.join(" ")).collect()
    }

    #[test]
    fn a_line_is_all_runs_that_differ_in_seed_and_photos_alone() {
        let mut runs = vec![
            run("a", 1, "shots = 10", RIGHT[1]),
            run("b", 1, "shots = 2", RIGHT[1]),
            run("c", 2, "shots = 2", RIGHT[2]),
            run("d", 1, "", RIGHT[0]),
        ];
        let figure = few(&runs).expect("a figure");
        assert_eq!(
            numbers(&figure),
            [
                "photos alone 2 2 62.50 50.00 75.00",
                "photos alone 10 1 75.00 75.00 75.00",
                "photos alone all 1 100.00 100.00 100.00"
            ]
        );
        assert!(figure.alt.ends_with("photos alone goes from 62.5 % (2) to 100.0 % (all)."), "{}", figure.alt);
        runs.push(run("other", 1, "shots = 2\nscale = \"none\"", RIGHT[0]));
        let figure = few(&runs).expect("a figure");
        assert_eq!(numbers(&figure)[3], "photos alone: other 2 1 100.00 100.00 100.00");
    }

    #[test]
    fn ghosts_are_a_line_of_their_own() {
        let mut ghosts = run("ghosts", 1, "attributes = [\"a.csv\"]\nshots = 1", RIGHT[1]);
        ghosts.record.lines.extend(crate::report::worth::testing::closed_record().lines.split_off(3));
        let figure = few(&[ghosts, run("base", 1, "", RIGHT[2])]).expect("a figure");
        assert_eq!(numbers(&figure), ["with ghosts 1 1 75.00 75.00 75.00", "photos alone all 1 50.00 50.00 50.00"]);
    }

    /// One count of photos, a run that is not over, and a recipe that cannot be read give none.
    #[test]
    fn there_is_no_figure_without_two_counts() {
        assert!(few(&[run("a", 1, "shots = 2", RIGHT[0]), run("b", 2, "shots = 2", RIGHT[1])]).is_none());
        let mut begun = run("b", 1, "", RIGHT[0]);
        begun.run.tasks.pop();
        assert!(few(&[run("a", 1, "shots = 2", RIGHT[0]), begun]).is_none());
        assert!(few(&[run("a", 1, "shots = 2", RIGHT[0]), read_run("c", 1, "?", &[[0; 8]; 3])]).is_none());
    }

    /// As logarithms: 1 to 10 is as far as 10 to 100.
    #[test]
    fn counts_stand_by_their_logarithm_and_all_behind_them() {
        let places = places(&[1, 10, 100, ALL]);
        assert!((places[1] - places[0] - (places[2] - places[1])).abs() < 1e-12 && places[3] > places[2]);
    }
}
