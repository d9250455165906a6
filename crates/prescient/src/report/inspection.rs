//! Ghosts beside real features, as a table for the terminal.

use crate::evaluation::{Inspection, Likeness};
use crate::report::grid::{Format, Grid};
use crate::report::text::percent;
use crate::report::worth::wrapped;

/// A row a class, the seen ones first, then the means of both kinds and what they say.
pub fn inspection(inspection: &Inspection) -> String {
    let columns = ["class", "", "turned", "nearest", "spread", "mmd", "agree"];
    let mut grid = Grid { header: columns.map(String::from).to_vec(), rows: Vec::new(), words: 2 };
    let row = |name: &str, kind: &str, likeness: &Likeness| {
        vec![
            name.to_owned(),
            kind.to_owned(),
            format!("{:.0}°", likeness.turned),
            format!("{:.0}°", likeness.nearest),
            format!("{:.2}", likeness.spread),
            format!("{:.3}", likeness.mmd),
            percent(Some(likeness.agree)),
        ]
    };
    let kind = |seen: bool| if seen { "seen" } else { "unseen" };
    let of = |seen: bool| inspection.classes.iter().filter(move |likeness| likeness.seen == seen);
    for likeness in of(true).chain(of(false)) {
        grid.rows.push(row(&likeness.class, kind(likeness.seen), likeness));
    }
    for seen in [true, false] {
        if let Some(mean) = mean(of(seen)) {
            grid.rows.push(row("mean", kind(seen), &mean));
        }
    }
    let chance = 100.0 / inspection.classes.len().max(1) as f64;
    let verdict = match mean(of(false)) {
        Some(unseen) if unseen.turned < unseen.nearest => format!(
            "Ghosts of unseen classes lie nearer to their own class than the nearest other class does; {:.0} % of them \
             would be taken for their own class (chance: {chance:.0} %).",
            100.0 * unseen.agree
        ),
        Some(unseen) => format!(
            "Ghosts of unseen classes miss their class by more than the way to the nearest other class; {:.0} % of them \
             would be taken for their own class (chance: {chance:.0} %). Trust guesses accordingly.",
            100.0 * unseen.agree
        ),
        None => "No unseen class has test images, so only seen ones could be compared.".to_owned(),
    };
    format!("after task {}\n\n{}\n{}", inspection.task, grid.render(Format::Text), wrapped(&verdict))
}

fn mean<'a>(likenesses: impl Iterator<Item = &'a Likeness>) -> Option<Likeness> {
    let all: Vec<&Likeness> = likenesses.collect();
    let first = *all.first()?;
    let mean = |of: fn(&Likeness) -> f64| all.iter().map(|likeness| of(likeness)).sum::<f64>() / all.len() as f64;
    Some(Likeness {
        turned: mean(|likeness| likeness.turned),
        nearest: mean(|likeness| likeness.nearest),
        spread: mean(|likeness| likeness.spread),
        mmd: mean(|likeness| likeness.mmd),
        agree: mean(|likeness| likeness.agree),
        ..first.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seen_and_unseen_classes() {
        let likeness = |class: &str, seen, turned, agree| Likeness {
            class: class.to_owned(),
            seen,
            turned,
            nearest: 40.0,
            spread: 0.9,
            mmd: 0.25,
            agree,
        };
        let classes =
            vec![likeness("cow", false, 50.0, 0.2), likeness("ant", true, 5.0, 0.9), likeness("bee", true, 15.0, 0.7)];
        insta::assert_snapshot!(inspection(&Inspection { task: 1, classes }));
    }
}
