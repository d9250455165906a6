//! `prescient status`.

use super::text::{bytes, columns, count, date, evidence, list, percent, why_not};
use super::{Form, name};
use crate::output;
use clap::Args;
use prescient::Project;
use prescient::error::Result;
use prescient::project::{ClassStatus, HeldOut, Status};
use std::path::PathBuf;

/// Show what a project has learned, what it guesses, and how good it believes it is
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient status shop
  prescient status shop@3                as it was in version 3
  prescient status shop --format json")]
pub(crate) struct StatusOf {
    /// The folder of the project
    project: PathBuf,

    /// Every class, and not just a summary
    #[arg(long)]
    all: bool,

    /// How it is written
    #[arg(long, value_enum, default_value = "text")]
    format: Form,
}

/// So many classes are shown unless all are asked for.
const SHOWN: usize = 60;

impl StatusOf {
    pub(crate) fn run(self) -> Result<()> {
        let status = Project::open(&self.project)?.status()?;
        match self.format {
            Form::Json => output::print_json(&status),
            Form::Text => {
                output::print_text(&text(&name(&self.project), &status, if self.all { usize::MAX } else { SHOWN }))
            }
        }
    }
}

fn text(project: &str, status: &Status, most: usize) -> String {
    let (learned, guessed): (Vec<&ClassStatus>, Vec<&ClassStatus>) =
        status.classes.iter().partition(|class| class.photos > 0);
    let photos: u64 = learned.iter().map(|class| class.photos).sum();
    let tested: u64 = status.classes.iter().map(|class| class.tested).sum();
    let mut text = format!("{project}, version {} of {}: {}\n\n", status.version, date(status.when), status.made);
    let mut line = |head: &str, said: String| text.push_str(&format!("{head:<12}{said}\n"));
    line("learned", format!("{} from {}", count(learned.len() as u64, "class"), count(photos, "photo")));
    let guesses = status.worth.as_ref().is_some_and(|worth| worth.guesses);
    line("guesses at", said_of_guesses(status, &guessed, guesses));
    line("known by", known_by(status));
    status.warnings.iter().for_each(|warning| line("look at", warning.clone()));
    good(status).into_iter().zip(["good", "", ""]).for_each(|(said, head)| line(head, said));
    if status.arrived_guessed.of > 0 {
        line("", format!("guesses were right for {} photos that came later", evidence(&status.arrived_guessed)));
    }
    if let Some(worth) = &status.worth {
        line(
            "worth",
            match worth.kappa {
                Some(kappa) => format!("a description is worth {kappa:.1} photos{}", sources(worth)),
                None => worth.why_not.clone().unwrap_or_default(),
            },
        );
        for misleading in worth.misleading.iter().take(5) {
            line("misleads", format!("the description of {} leads to {}", misleading.class, misleading.like));
        }
    }
    line(
        "keeps",
        format!(
            "{} on disk, {} of it features of {} photos; no photo is kept",
            bytes(status.disk.bytes),
            bytes(status.disk.features),
            photos + tested
        ),
    );
    line("network", format!("{} at {} pixels", status.extractor, status.size));
    text.push('\n');
    text.push_str(&classes(&status.classes, most));
    text.push_str("\nversions\n");
    let history: Vec<Vec<String>> = status
        .history
        .iter()
        .map(|made| vec![format!("  {}", made.version), date(made.when), made.made.clone()])
        .collect();
    text + &columns(&history)
}

/// How good it is, and on what evidence.
fn good(status: &Status) -> Vec<String> {
    let said = |found: &HeldOut, what: &str| {
        let classes = count(found.classes.len() as u64, "class");
        format!("{} on {} {what} photos of {classes}", evidence(&found.all), found.all.of)
    };
    let mut lines: Vec<String> = status.tested.iter().map(|found| said(found, "test")).collect();
    if let Some(found) = &status.held_out {
        lines.push(said(found, "held-out"));
        lines
            .push("(a twin that has not learned from those; what answers has, and is no worse if anything)".to_owned());
    }
    if lines.is_empty() {
        lines
            .push("not known: no photo is held out yet; one in five is, from the fifth photo of a class on".to_owned());
    }
    lines
}

fn said_of_guesses(status: &Status, guessed: &[&ClassStatus], guesses: bool) -> String {
    let names: Vec<String> = guessed.iter().map(|class| class.name.clone()).collect();
    match (names.is_empty(), guesses) {
        (true, _) => "none: every class has photos".to_owned(),
        (false, true) => format!("{} without a photo: {}", count(names.len() as u64, "class"), list(&names, 6)),
        (false, false) => format!(
            "none of {} without a photo: {}",
            count(names.len() as u64, "class"),
            why_not(status.worth.as_ref())
        ),
    }
}

/// What the catalogue says of classes.
fn known_by(status: &Status) -> String {
    match &status.columns[..] {
        [] => "their names alone".to_owned(),
        columns => list(columns, 8),
    }
}

fn sources(worth: &prescient::evaluation::Worth) -> String {
    match &worth.sources[..] {
        [] | [_] => String::new(),
        several => {
            let each: Vec<String> =
                several.iter().map(|source| format!("{} {:.1}", source.source, source.kappa)).collect();
            format!(" ({})", each.join(", "))
        }
    }
}

fn classes(classes: &[ClassStatus], most: usize) -> String {
    let header = ["class", "photos", "held out", "right", ""].map(String::from).to_vec();
    let row = |class: &ClassStatus| {
        let known = match (class.photos, class.described) {
            (0, _) => "not yet photographed".to_owned(),
            (_, false) => "known by its photos alone".to_owned(),
            (_, true) => {
                class.misleads_to.as_ref().map_or_else(String::new, |like| format!("its description leads to {like}"))
            }
        };
        let right = class.right_tested.or(class.right).and_then(|right| right.share());
        vec![class.name.clone(), class.photos.to_string(), class.held_out.to_string(), percent(right), known]
    };
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(classes.iter().take(most).map(row)).collect();
    let more = classes.len().saturating_sub(most);
    let more = if more > 0 { format!("and {more} more classes; `--all` shows them\n") } else { String::new() };
    columns(&rows) + &more
}
