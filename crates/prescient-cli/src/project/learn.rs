//! `prescient learn`.

use super::text::{count, evidence, list, why_not};
use super::{Change, name, watch};
use crate::output;
use crate::progress::Progress;
use clap::Args;
use prescient::Project;
use prescient::error::{CONVERT, Result};
use prescient::project::{ClassTable, Learned, Lesson};
use std::path::PathBuf;

/// Teach a project from photos, or tell it more about its classes
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient learn shop photos/month_01
  prescient learn shop photos/month_02 --classes classes.csv     with classes that were added or described anew
  prescient learn shop --classes classes.csv                     the catalogue alone
  prescient learn shop inbox --watch                             what arrives, until Ctrl-C
  prescient learn shop test-photos --hold-out 1                  only to measure by: none is learned from

Photos lie in a folder for each class, `PHOTOS/CLASS/*.jpg`, in a folder or a .zip. What was learned before counts once; a photo
that comes again in another class leaves the first. A folder that is no class yet becomes one, unless its name looks like a
typing error. Every N-th photo of a class is held out from a twin of the model, and the twin is
measured by it; what answers learns from all. Each call makes one version, or none where it fails.")]
pub(crate) struct Learn {
    #[command(flatten)]
    change: Change,

    /// A folder or a .zip with a folder of photos for each class
    #[arg(value_name = "PHOTOS", required_unless_present = "classes")]
    photos: Option<PathBuf>,

    /// A new table of classes, in place of the one before
    #[arg(long, value_name = "CSV")]
    classes: Option<PathBuf>,

    /// Measure by every N-th photo of a class; 0: by none, 1: by all, and learn from none. As the project has it unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    hold_out: Option<u32>,

    /// Leave out photos that cannot be read, and name them
    #[arg(long)]
    skip_damaged: bool,

    /// Take folders that are no class yet as new classes, whatever their names look like
    #[arg(long)]
    add_classes: bool,

    /// Learn what arrives in PHOTOS, until Ctrl-C
    #[arg(long, requires = "photos")]
    watch: bool,
}

impl Learn {
    pub(crate) fn run(self) -> Result<()> {
        let mut project = self.change.open()?;
        let classes = self.classes.as_deref().map(ClassTable::read).transpose()?;
        let dressed = |mut lesson: Lesson| {
            lesson.classes.clone_from(&classes);
            lesson.hold_out = self.hold_out;
            lesson.skip_damaged = self.skip_damaged;
            lesson.add_classes = self.add_classes;
            lesson
        };
        let Some(photos) = &self.photos else {
            let what = self.classes.as_deref().map(name).unwrap_or_default();
            return learn(&mut project, &dressed(Lesson::new(what)));
        };
        if self.watch {
            return watch::watch(&mut project, photos, &dressed);
        }
        learn(&mut project, &dressed(Lesson::from_folder(photos)?))
    }
}

/// Learns, and says what has changed.
pub(super) fn learn(project: &mut Project, lesson: &Lesson) -> Result<()> {
    let mut progress = Progress::new();
    let learned = project.learn(lesson, &mut progress);
    progress.finish();
    let learned = learned?;
    for path in lesson.others.iter().take(5) {
        output::tell(&format!("note: `{}` is no photo", path.display()));
    }
    if lesson.others.len() > 5 {
        output::tell(&format!("note: {} more files are no photos", lesson.others.len() - 5));
    }
    for folder in &lesson.empty {
        output::tell(&format!("warning: `{}` has no photos", folder.display()));
    }
    if let Some(first) = lesson.unread.first() {
        let left = count(lesson.unread.len() as u64, "photo");
        output::tell(&format!("warning: left out: {left} such as `{}`; {CONVERT}", first.display()));
    }
    lesson.classes.iter().flat_map(|table| table.warnings()).for_each(|it| output::tell(&format!("warning: {it}")));
    learned.damaged.iter().for_each(|line| output::tell(&format!("warning: left out: {line}")));
    output::print_text(&said(project, lesson, &learned))
}

fn said(project: &Project, lesson: &Lesson, learned: &Learned) -> String {
    let Some(number) = learned.version else {
        let known = count(learned.known as u64, "photo");
        return format!("nothing new: {known} known already; version {} stays\n", project.version().number);
    };
    let version = project.version();
    let mut text = format!("version {number}: {}", count(learned.new as u64, "new photo"));
    let parts =
        [(learned.held_out, "held out"), (learned.tested, "only to measure by"), (learned.known, "known already")];
    for (number, what) in parts {
        if number > 0 {
            text.push_str(&format!(", {number} {what}"));
        }
    }
    text.push('\n');
    let mut line = |names: &[String], what: &str| {
        if !names.is_empty() {
            text.push_str(&format!("  {what}: {}\n", list(names, 12)));
        }
    };
    line(&learned.first_photos, "first photos of");
    line(&learned.added, "new in the catalogue, known by their photos alone");
    line(&learned.dropped, "no longer in the table");
    let about: Vec<String> = lesson.classes.iter().map(ClassTable::about).collect();
    line(&about, "the table describes classes by");
    let taken: Vec<String> =
        learned.taken_as.iter().map(|(folder, class)| format!("`{folder}` as `{class}`")).collect();
    line(&taken, "folders taken");
    let moved: Vec<String> =
        learned.moved.iter().map(|((from, to), count)| format!("{count} from {from} to {to}")).collect();
    line(&moved, "corrected");
    if let Some(arrived) = learned.arrived {
        for (tally, what) in [(arrived.seen, "classes it knew"), (arrived.guessed, "classes it had never seen")] {
            if tally.of > 0 {
                text.push_str(&format!(
                    "  before, it named {} of {} of these photos right of {what}\n",
                    tally.right, tally.of
                ));
            }
        }
    }
    if let Some(held_out) = &version.held_out {
        text.push_str(&format!("  held-out photos: {} of a twin without them\n", evidence(&held_out.all)));
    }
    if let Some(tested) = &version.tested {
        text.push_str(&format!("  test photos: {}\n", evidence(&tested.all)));
    }
    let guessed = version.classes.len() - version.seen();
    if guessed > 0 {
        let worth = version.worth.as_ref();
        text.push_str(&match worth.is_some_and(|worth| worth.guesses) {
            true => format!("  guesses at {} without photos\n", count(guessed as u64, "class")),
            false => format!("  does not guess yet: {}\n", why_not(worth)),
        });
    }
    let known = count(version.seen() as u64, "class");
    text + &format!("  {known} with {}, {guessed} without\n", count(version.photos(), "photo"))
}
