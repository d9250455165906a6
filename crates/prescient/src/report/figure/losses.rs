//! The terms of the loss over the epochs of a run: a panel a stage, a line a term.

use crate::experiment::record::Epoch;
use crate::report::figure::scale::{Scale, label, rounded};
use crate::report::figure::svg::{Anchor, Svg};
use crate::report::figure::{Figure, Table, file_name};
use crate::report::runs::ReadRun;
use std::collections::BTreeSet;

const WIDTH: f64 = 560.0;
const PANEL: f64 = 150.0;
const LEFT: f64 = 48.0;
const RIGHT: f64 = 84.0;

/// The losses of the run called `name`; none where nothing was minimized in epochs.
pub(in crate::report) fn losses(name: &str, run: &ReadRun) -> Option<Figure> {
    let mut stages: Vec<&str> = Vec::new();
    for epoch in run.record.epochs() {
        if !stages.contains(&epoch.stage.as_str()) {
            stages.push(&epoch.stage);
        }
    }
    if stages.is_empty() {
        return None;
    }
    let mut svg = Svg::new(WIDTH, stages.len() as f64 * PANEL + 14.0);
    let mut table = Table::new(&["task", "stage", "epoch", "learning rate", "term", "mean"]);
    for epoch in run.record.epochs() {
        for (term, value) in &epoch.terms {
            table.rows.push(vec![
                epoch.task.to_string(),
                epoch.stage.clone(),
                epoch.epoch.to_string(),
                epoch.lr.to_string(),
                term.clone(),
                value.to_string(),
            ]);
        }
    }
    let of_stage = |stage: &str| -> Vec<&Epoch> { run.record.epochs().filter(|epoch| epoch.stage == stage).collect() };
    // The start that was kept tells how long each of them was.
    let one = of_stage("train").iter().filter(|epoch| epoch.task == 1).count().max(1);
    for (index, stage) in stages.iter().enumerate() {
        let border = |before: &Epoch, after: &Epoch| match *stage {
            _ if before.task != after.task => Some(format!("task {}", after.task)),
            "restart" if before.epoch.is_multiple_of(one) => Some(format!("restart {}", before.epoch / one + 1)),
            _ => None,
        };
        panel(&mut svg, stage, &of_stage(stage), &border, index as f64 * PANEL);
    }
    Some(Figure {
        name: format!("{}-losses", file_name(name)),
        title: "Loss terms".to_owned(),
        about:
            "The mean of each term over the batches of an epoch, with its weight; their sum is what is minimized. Lines \
                stand between tasks, and between restarts where the first task trained several times: all of them are \
                under restart, the one that was kept is under train."
                .to_owned(),
        alt: format!("Lines of the loss terms over epochs in {} stages: {}.", stages.len(), stages.join(", ")),
        table,
        svg,
    })
}

/// What begins between two epochs, if anything does.
type Border<'a> = dyn Fn(&Epoch, &Epoch) -> Option<String> + 'a;

fn panel(svg: &mut Svg, stage: &str, epochs: &[&Epoch], border: &Border<'_>, top: f64) {
    let terms: BTreeSet<&str> = epochs.iter().flat_map(|epoch| epoch.terms.keys().map(String::as_str)).collect();
    let values = || epochs.iter().flat_map(|epoch| epoch.terms.values().copied()).filter(|value| value.is_finite());
    let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let (ground, ceiling) = (top + PANEL - 16.0, top + 30.0);
    let y = Scale::new(rounded(low, high.max(low + 1e-6), 3), (ground, ceiling));
    let x = Scale::new((0.0, epochs.len().saturating_sub(1).max(1) as f64), (LEFT + 8.0, WIDTH - RIGHT));
    let ticks = y.ticks(3);
    for tick in &ticks {
        let place = y.place(*tick);
        svg.line(if *tick == 0.0 { "axis" } else { "rule" }, (LEFT, place), (WIDTH - RIGHT + 4.0, place));
        svg.text("faint small", (LEFT - 6.0, place + 4.0), Anchor::End, &label(*tick, &ticks));
    }
    svg.text("strong", (LEFT, top + 16.0), Anchor::Start, stage);
    for (index, pair) in epochs.windows(2).enumerate() {
        let Some(begins) = border(pair[0], pair[1]) else { continue };
        let between = x.place(index as f64 + 0.5);
        svg.line("axis dotted", (between, ceiling), (between, ground));
        svg.text("faint small", (between + 3.0, ceiling - 3.0), Anchor::Start, &begins);
    }
    let mut ends: Vec<(usize, &str, f64, f64)> = Vec::new();
    for (hue, term) in terms.iter().enumerate() {
        let point = |(index, epoch): (usize, &&Epoch)| {
            let value = *epoch.terms.get(*term)?;
            value.is_finite().then(|| (x.place(index as f64), y.place(value)))
        };
        let points: Vec<Option<(f64, f64)>> = epochs.iter().enumerate().map(point).collect();
        svg.path(&format!("l thin s{}", hue % 10), &points);
        for (place, epoch) in points.iter().zip(epochs) {
            if let Some(place) = place {
                let tip =
                    format!("task {}, {stage}, epoch {}: {term} {:.4}", epoch.task, epoch.epoch, epoch.terms[*term]);
                svg.dot(&format!("f{} real", hue % 10), *place, 2.2, &tip);
            }
        }
        if let Some((x, y)) = points.iter().rev().find_map(|point| *point) {
            ends.push((hue, term, x, y));
        }
    }
    ends.sort_by(|a, b| a.3.total_cmp(&b.3));
    let mut last = ceiling - 20.0;
    for (hue, term, end, y) in ends {
        let place = (y + 4.0).max(last + 12.0);
        last = place;
        svg.text(&format!("small halo strong f{}", hue % 10), (end + 6.0, place), Anchor::Start, term);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::record::Line;
    use crate::report::runs::testing::read_run;

    /// Two starts of two epochs, of which the second was kept.
    #[test]
    fn restarts_have_borders_too() {
        let mut run = read_run("base", 1, "", &[[0; 8]]);
        let told = [
            ("restart", 1, 2.5),
            ("restart", 2, 2.0),
            ("restart", 3, 2.5),
            ("restart", 4, 1.5),
            ("train", 1, 2.5),
            ("train", 2, 1.5),
        ];
        for (stage, epoch, nca) in told {
            let terms = [("nca".to_owned(), nca)].into_iter().collect();
            run.record.lines.push(Line::Epoch(Epoch { task: 1, stage: stage.to_owned(), epoch, lr: 0.1, terms }));
        }
        let drawn = losses("base", &run).expect("epochs").svg.body;
        assert_eq!(drawn.matches("axis dotted").count(), 1);
        assert_eq!(drawn.matches("restart 2</text>").count(), 1);
    }

    #[test]
    fn every_term_of_every_epoch_is_in_the_table() {
        let mut run = read_run("base", 1, "", &[[0; 8]]);
        for (task, epoch, nca) in [(1, 1, 2.5), (1, 2, 0.5), (2, 1, 1.5)] {
            let terms = [("nca".to_owned(), nca), ("pod".to_owned(), 0.25)].into_iter().collect();
            run.record.lines.push(Line::Epoch(Epoch { task, stage: "train".to_owned(), epoch, lr: 0.1, terms }));
        }
        let figure = losses("base", &run).expect("epochs");
        assert_eq!(figure.table.rows[4], ["2", "train", "1", "0.1", "nca", "1.5"]);
        assert_eq!(figure.table.rows.len(), 6);
        assert_eq!(figure.svg.body.matches("task 2</text>").count(), 1, "one border between tasks");
        assert!(losses("base", &read_run("base", 1, "", &[[0; 8]])).is_none());
    }
}
