//! `prescient diff`.

use super::text::{columns, count, percent};
use super::{Form, name};
use crate::output;
use clap::Args;
use prescient::Project;
use prescient::error::Result;
use prescient::project::{ClassDifference, Difference, diff};
use std::path::PathBuf;

/// Compare two versions of a project: which classes got better or worse
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient diff shop@3 shop@4
  prescient diff shop@3 shop                        against the version that answers
  prescient diff shop@3 shop --fail-if-drop 2       exits with 1 if it got worse by more than 2 points

Both versions name the same photos: all that are there to measure by. Held-out photos, which
versions learn from, are asked of their twins, which do not. A drop counts over all photos; on a
class only where it is more than chance.")]
pub(crate) struct Diff {
    /// The earlier version, as in `shop@3`
    before: PathBuf,

    /// The later one
    after: PathBuf,

    /// Exit with 1 if the later version is worse by more than so many points, over all photos or on a class
    #[arg(long, value_name = "POINTS", value_parser = points_allowed)]
    fail_if_drop: Option<f64>,

    /// Every class, and not just those that changed
    #[arg(long)]
    all: bool,

    /// How it is written
    #[arg(long, value_enum, default_value = "text")]
    format: Form,
}

impl Diff {
    pub(crate) fn run(self) -> Result<()> {
        let found = diff(&Project::open(&self.before)?, &Project::open(&self.after)?)?;
        match self.format {
            Form::Json => output::print_json(&found),
            Form::Text => output::print_text(&text([&name(&self.before), &name(&self.after)], &found, self.all)),
        }?;
        Ok(self.fail_if_drop.map_or(Ok(()), |allowed| found.gate(allowed))?)
    }
}

/// NaN would let everything pass.
fn points_allowed(text: &str) -> std::result::Result<f64, String> {
    let points = text.parse().ok().filter(|points: &f64| *points >= 0.0);
    points.ok_or_else(|| "expected a number of points, at least 0".to_owned())
}

fn points(gain: Option<f64>) -> String {
    gain.map_or_else(|| "–".to_owned(), |gain| format!("{gain:+.1}"))
}

fn text([before, after]: [&str; 2], found: &Difference, all: bool) -> String {
    let [was, is] = found.all.map(|tally| percent(tally.share()));
    let photos = count(found.all[0].of, "photo");
    let mut text =
        format!("{before} → {after} on the same {photos}, asked of models that have not learned from them\n");
    text.push_str(&format!(
        "{was} → {is} ({} points); right before alone {}, after alone {} (chance {:.3})\n\n",
        points(found.gain()),
        found.alone[0],
        found.alone[1],
        found.chance
    ));
    let header = ["class", "photos", "right before", "right after", "points", ""].map(String::from).to_vec();
    let changed = |class: &&ClassDifference| {
        all || class.photos[0] != class.photos[1] || class.right[0] != class.right[1] || class.was.is_some()
    };
    let row = |class: &ClassDifference| {
        let photos = |photos: Option<u64>| photos.map_or_else(|| "–".to_owned(), |photos| photos.to_string());
        let said = match (class.photos, &class.was) {
            ([None, _], _) => "new".to_owned(),
            ([_, None], _) => "gone".to_owned(),
            (_, Some(was)) => format!("was {was}"),
            ([Some(0), Some(1..)], _) => "first photos".to_owned(),
            _ if class.sure => (if class.gain() > Some(0.0) { "better" } else { "worse" }).to_owned(),
            _ => String::new(),
        };
        vec![
            class.name.clone(),
            format!("{} → {}", photos(class.photos[0]), photos(class.photos[1])),
            percent(class.right[0].share()),
            percent(class.right[1].share()),
            points(class.gain()),
            said,
        ]
    };
    let mut shown: Vec<&ClassDifference> = found.classes.iter().filter(changed).collect();
    shown.sort_by(|a, b| a.gain().unwrap_or(0.0).total_cmp(&b.gain().unwrap_or(0.0)));
    match shown.is_empty() {
        true => text + "no class changed\n",
        false => text + &columns(&std::iter::once(header).chain(shown.into_iter().map(row)).collect::<Vec<_>>()),
    }
}
