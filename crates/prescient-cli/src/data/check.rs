//! `prescient data check`.

use crate::data::{names, source};
use crate::output;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use prescient::catalogue::AttributeSource;
use prescient::data::DatasetOptions;
use prescient::data::check::{Checkup, Finding, Kind, check};
use prescient::error::{DataError, Result};
use std::path::PathBuf;

/// So many findings of a kind are shown unless all are asked for.
const SHOWN: usize = 20;

/// Read every file of a dataset, and say all that is wrong with it
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient data check awa2 data/awa2
  prescient data check folder photos --attributes animals.csv
  prescient data check features vectors --attributes animals.csv
  prescient data check folder photos --exclude train/cat/0001.jpg   as a recipe's `exclude` does
  prescient data check folder photos --fix                          lines to paste into a recipe

It opens every image, counts them class by class, and reports what is missing, damaged, there
twice or on both sides. It goes on to the end whatever it finds, and exits with 2 if something is
wrong. What may be intended is reported as worth a look.")]
pub(super) struct Check {
    /// Which dataset
    #[arg(value_parser = names())]
    dataset: String,

    /// Where it lies: a folder, a .zip, or a .safetensors of features; its own place below the data root unless given
    path: Option<PathBuf>,

    /// Where attributes come from, for `folder` and `features`; can be given several times
    #[arg(long, value_name = "FILE")]
    attributes: Vec<PathBuf>,

    /// An image that the recipe excludes, for `folder`, as in `train/cat/0001.jpg`; can be given several times
    #[arg(long, value_name = "PATH")]
    exclude: Vec<String>,

    /// Show every finding, and not just the first of each kind
    #[arg(long)]
    all: bool,

    /// Write the lines that leave out what is wrong, to be pasted into `[data]` of a recipe, and nothing else
    #[arg(long, conflicts_with_all = ["all", "format"])]
    fix: bool,

    /// How findings are written
    #[arg(long, value_enum, default_value = "text")]
    format: Form,
}

/// How findings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For the terminal
    Text,
    /// All of them, for programs
    Json,
}

impl Check {
    pub(super) fn run(self) -> Result<()> {
        let path = self.path.clone().unwrap_or_else(|| PathBuf::from(&self.dataset));
        let attributes = self.attributes.iter().map(AttributeSource::new).collect();
        let options = DatasetOptions { path: self.path, attributes, exclude: self.exclude, ..Default::default() };
        let dataset = source(&self.dataset, options);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} images  {eta:>4} left")
            .expect("a template of known keys");
        let bar = ProgressBar::new(0).with_style(style);
        let checkup = check(&dataset, &|_, of| {
            bar.set_length(of as u64);
            bar.inc(1);
        });
        bar.finish_and_clear();
        let most = if self.all { usize::MAX } else { SHOWN };
        match (self.fix, self.format) {
            (true, _) => output::print(&checkup.exclude().unwrap_or_default())?,
            (false, Form::Json) => output::print_json(&checkup)?,
            (false, Form::Text) => output::print_text(&text(&checkup, most))?,
        }
        match checkup.faults() {
            0 => Ok(()),
            faults => Err(DataError::Faults { path, faults, mended: self.fix.then(|| checkup.mended()) }.into()),
        }
    }
}

/// The counts, then what is wrong, then what is worth a look.
fn text(checkup: &Checkup, most: usize) -> String {
    let mut text = String::new();
    if !checkup.counts.is_empty() {
        let width = checkup.counts.iter().map(|(class, _)| class.chars().count()).max().unwrap_or(0).max(5);
        let mut row =
            |class: &str, train: &str, test: &str| text.push_str(&format!("{class:<width$} {train:>7} {test:>7}\n"));
        row("class", "train", "test");
        for (class, [train, test]) in &checkup.counts {
            row(class, &train.to_string(), &test.to_string());
        }
        let sum = |side: usize| checkup.counts.iter().map(|(_, sides)| sides[side]).sum::<usize>().to_string();
        row("all", &sum(0), &sum(1));
    }
    for (wrong, heading) in [(true, "wrong"), (false, "worth a look")] {
        let found: Vec<&Finding> = checkup.findings.iter().filter(|finding| finding.wrong == wrong).collect();
        if !found.is_empty() {
            text.push_str(&format!("\n{heading}: {}\n", found.len()));
            text.push_str(&listed(&found, most));
        }
    }
    if checkup.faults() == 0 {
        let what = if checkup.rows { "rows looked at" } else { "images opened" };
        text.push_str(&format!("\n{} {what}, nothing is wrong\n", checkup.opened));
    }
    text
}

/// Kind by kind; what is the same to do about several findings in a row is said once.
fn listed(findings: &[&Finding], most: usize) -> String {
    let mut text = String::new();
    for of_kind in findings.chunk_by(|a, b| a.kind == b.kind) {
        for (index, finding) in of_kind.iter().take(most).enumerate() {
            text.push_str(&format!("  {}\n", finding.what));
            let next = of_kind.get(index + 1).filter(|_| index + 1 < most);
            if let Some(mend) = &finding.mend
                && next.is_none_or(|next| next.mend != finding.mend)
            {
                text.push_str(&format!("      → {mend}\n"));
            }
        }
        if of_kind.len() > most {
            text.push_str(&format!(
                "  … and {} more {}; --all shows each\n",
                of_kind.len() - most,
                name(of_kind[0].kind)
            ));
        }
    }
    text
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Layout => "out of place",
        Kind::ClassInformation => "about the class information",
        Kind::Column => "columns that photos may not show",
        Kind::Count => "wrong counts",
        Kind::Size => "small images",
        Kind::Image => "images that cannot be used",
        Kind::Duplicate => "duplicates",
        Kind::Repeated => "repeated images",
        Kind::NearDuplicate => "near duplicates",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: Kind, what: &str, mend: Option<&str>) -> Finding {
        let (what, mend, wrong) = (what.to_owned(), mend.map(String::from), mend.is_some());
        Finding { kind, what, mend, wrong, exclude: Vec::new(), keeps_one: false }
    }

    #[test]
    fn what_is_wrong_comes_before_what_is_worth_a_look() {
        let checkup = Checkup {
            counts: vec![("ant".to_owned(), [4, 2]), ("bumblebee".to_owned(), [14, 2])],
            opened: 22,
            rows: false,
            findings: vec![
                finding(Kind::Image, "`a.jpg` is cut", Some("put a whole copy in its place")),
                finding(Kind::Image, "`b.jpg` is cut", Some("put a whole copy in its place")),
                finding(Kind::Image, "`c.jpg` is cut", Some("put a whole copy in its place")),
                finding(Kind::Duplicate, "`d.jpg` is `e.jpg`", Some("take one away")),
                finding(Kind::NearDuplicate, "`f.jpg` looks like `g.jpg`", None),
            ],
        };
        insta::assert_snapshot!(text(&checkup, 2), @r"
        class       train    test
        ant             4       2
        bumblebee      14       2
        all            18       4

        wrong: 4
          `a.jpg` is cut
          `b.jpg` is cut
              → put a whole copy in its place
          … and 1 more images that cannot be used; --all shows each
          `d.jpg` is `e.jpg`
              → take one away

        worth a look: 1
          `f.jpg` looks like `g.jpg`
        ");
    }
}
