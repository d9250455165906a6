//! `prescient plan`.

use super::text::{columns, count};
use super::{Form, name};
use crate::output;
use clap::Args;
use prescient::Project;
use prescient::error::{ProjectError, Result};
use prescient::project::{Plan as Found, Planned};
use std::path::PathBuf;

/// Say which classes of a project to photograph next, and what photos of each are worth
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient plan shop
  prescient plan shop --top 20
  prescient plan shop --format json

A gain is how much the accuracy over all classes is expected to rise with so many more photos of the class. It is played through
with the errors that descriptions and photos were seen to make: a class is worth photographing if it is uncertain, if others are
near, or if its description misleads.")]
pub(crate) struct Plan {
    /// The folder of the project
    project: PathBuf,

    /// Show so many classes
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// How it is written
    #[arg(long, value_enum, default_value = "text")]
    format: Form,
}

/// The numbers of photos that are shown, of those that there are gains for.
const SHOWN: [usize; 4] = [1, 5, 10, 40];

impl Plan {
    pub(crate) fn run(self) -> Result<()> {
        let project = Project::open(&self.project)?;
        let plan = project.plan()?.ok_or_else(|| ProjectError::NoPlan { path: self.project.clone() })?;
        match self.format {
            Form::Json => output::print_json(&plan),
            Form::Text => output::print_text(&text(&name(&self.project), &plan, self.top)),
        }
    }
}

fn text(project: &str, plan: &Found, top: usize) -> String {
    let shown: Vec<usize> =
        plan.more.iter().enumerate().filter(|(_, more)| SHOWN.contains(more)).map(|(at, _)| at).collect();
    let mut header = vec!["class".to_owned(), "photos".to_owned(), "right".to_owned()];
    header.extend(shown.iter().map(|at| format!("+{}", plan.more[*at])));
    header.extend(["suggested", "why"].map(String::from));
    let row = |class: &Planned| {
        let mut cells = vec![class.class.clone(), class.photos.to_string(), format!("{:.0} %", class.right)];
        cells.extend(shown.iter().map(|at| format!("{:+.2}", class.gains[*at])));
        cells.extend([
            match class.suggested {
                0 => "–".to_owned(),
                suggested => count(suggested as u64, "photo"),
            },
            class.why.join("; "),
        ]);
        cells
    };
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(plan.classes.iter().take(top).map(row)).collect();
    format!(
        "{project}, version {}: points of accuracy over all classes that so many more photos of a class are worth\n\n{}",
        plan.version,
        columns(&rows)
    )
}
