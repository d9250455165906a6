//! `prescient run`.

use crate::device::DeviceName;
use crate::output;
use crate::processes::{self, Helper};
use crate::progress::Progress;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use prescient::data::Source;
use prescient::data::check::{Kind, QuickCheck, check_photos};
use prescient::engine::Processes;
use prescient::error::{DataError, Result};
use prescient::experiment::{
    Again, Experiment, PhotoDigests, Recipe, Record, RunFolder, names_learner, overridden, recipes,
};
use prescient::extractor::ExtractorKind;
use prescient::report;
use std::path::{Path, PathBuf};

/// The exit code of a run that was stopped.
const INTERRUPTED: u8 = 130;

/// Run a recipe, or go on with a run that was stopped
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient run demo-ghost                            a recipe that comes along, by name
  prescient run mine.toml --seed 2 --out runs/mine-2  your own
  prescient run demo-base --set train.epochs=3        any key, for this run alone
  prescient run --resume runs/mine-2                  after an interruption
  prescient run mine.toml --processes 2               in two processes on this machine
  torchrun --no-python --nproc-per-node 8 prescient run mine.toml     with torchrun or srun

A run is a folder: its recipe, its record, and the model after each task. It appears with its first finished task.
Ctrl-C stops a run so that `--resume DIR` goes on after its last finished epoch.")]
pub(super) struct Run {
    /// A recipe: a TOML file, or the name of one that comes along (see `prescient list`)
    #[arg(required_unless_present = "resume")]
    recipe: Option<String>,

    /// Set a key of the recipe for this run; can be given several times. With `--resume` only `data.path`, for data that moved
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,

    /// The seed; the recipe's own unless given
    #[arg(long, conflicts_with = "resume")]
    seed: Option<u32>,

    /// Where to compute
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceName,

    /// The folder to write; `runs/RECIPE-seedN` unless given
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,

    /// Go on with the run in this folder after its last finished task
    #[arg(long, value_name = "DIR", conflicts_with = "recipe")]
    resume: Option<PathBuf>,

    /// Skip the check of all photos: whole, on one side only, unchanged since the run began
    #[arg(long)]
    no_check: bool,

    /// Stop after this task; `--resume` goes on from there
    #[arg(long, value_name = "TASK", value_parser = clap::value_parser!(u32).range(1..))]
    stop_after: Option<u32>,

    /// Work in so many processes on this machine, with one result; `torchrun` and `srun` start them on several
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    processes: Option<u32>,
}

impl Run {
    pub(super) fn run(self) -> Result<()> {
        match processes::to_start(self.processes)? {
            Some(count) => processes::launch(count),
            None => {
                let processes = processes::join()?;
                let done = if processes.leads() { self.lead(&processes) } else { self.help(&processes) };
                processes::part(&processes, done)
            }
        }
    }

    /// As the process that writes, or the only one.
    fn lead(&self, processes: &Processes) -> Result<()> {
        let device = self.device.open()?;
        let mut progress = Progress::new();
        let (done, out) = match &self.resume {
            Some(folder) => {
                let bar = checking();
                let checked = |_: usize, of: usize| count(&bar, of);
                let check: Option<&(dyn Fn(usize, usize) + Sync)> = if self.no_check { None } else { Some(&checked) };
                let again = Again { sets: &self.sets, stop_after: self.stop_after(), check };
                // It may have been found under the name that it had while it was unfinished.
                let out = RunFolder::to_go_on(folder).map_or_else(|_| folder.clone(), |run| run.path().to_owned());
                (Experiment::resume_among(processes, folder, again, device, &mut progress), out)
            }
            None => {
                let (recipe, path) = self.recipe()?;
                let out = self.out.clone().unwrap_or_else(|| default_out(&path, recipe.seed));
                let source = recipe.data.source.clone();
                self.say_what_is_trained(&recipe)?;
                let mut experiment = Experiment::new(recipe, device)?.among(processes.clone())?;
                say_what_is_not_trained(experiment.recipe());
                if !self.no_check {
                    let uses_columns = experiment.uses_class_information();
                    experiment = experiment.with_photos(check(&source, uses_columns)?);
                }
                (experiment.run(&out, self.stop_after(), &mut progress), out)
            }
        };
        progress.finish();
        say_how_to_go_on(&done, &out);
        show(&done?, &out)
    }

    /// As one of the others: the first one writes, shows and checks.
    fn help(&self, processes: &Processes) -> Result<()> {
        let device = self.device.open()?;
        let mut helper = Helper::new();
        match &self.resume {
            Some(_) => Experiment::help_resume(processes, &self.sets, device, self.stop_after(), &mut helper),
            None => {
                let (recipe, _) = self.recipe()?;
                Experiment::new(recipe, device)?.among(processes.clone())?.help(self.stop_after(), &mut helper)
            }
        }
    }

    /// Training a network from scratch takes hours, and whoever has photos and no wish in this matter hardly means it.
    fn say_what_is_trained(&self, recipe: &Recipe) -> Result<()> {
        let name = self.name();
        let comes_along = recipes::built_in().iter().any(|known| known.name == name);
        let own_photos = ["folder", "pack"].contains(&recipe.data.name());
        if !comes_along && own_photos && !names_learner(&recipes::find(name)?.0, &self.sets) {
            output::tell(&format!(
                "note: no `learner` is given, so `{}` is trained from scratch, {} epochs a task; `learner = {{ kind = \
                 \"closed-form\" }}` takes a pretrained network instead and one pass over the photos",
                recipe.model.extractor.name(),
                recipe.train.epochs
            ));
        }
        Ok(())
    }

    fn name(&self) -> &str {
        self.recipe.as_deref().expect("clap asks for a recipe unless --resume is given")
    }

    fn stop_after(&self) -> Option<usize> {
        self.stop_after.map(|task| task as usize)
    }

    /// The recipe as it is to be run, and the file it came from.
    fn recipe(&self) -> Result<(Recipe, PathBuf)> {
        let (text, path) = recipes::find(self.name())?;
        let mut recipe = overridden(&text, &path, &self.sets)?;
        recipe.seed = self.seed.unwrap_or(recipe.seed);
        Ok((recipe, path))
    }
}

/// Nobody means random weights that are never trained: a new kind of network does not have the weights of the one before.
fn say_what_is_not_trained(recipe: &Recipe) {
    let extractor = &recipe.model.extractor;
    if recipe.learner.is_closed_form() && !extractor.is_pretrained() && !matches!(extractor, ExtractorKind::Identity(_))
    {
        output::tell(&format!(
            "note: `{}` has random weights, and the closed form trains none; `prescient weights list` shows pretrained networks",
            extractor.name()
        ));
    }
}

fn checking() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} photos checked  {eta:>4} left")
        .expect("a template of known keys");
    ProgressBar::new(0).with_style(style)
}

/// One more of `of` is checked; with the last one the bar goes.
fn count(bar: &ProgressBar, of: usize) {
    bar.set_length(of as u64);
    bar.inc(1);
    if bar.position() == of as u64 {
        bar.finish_and_clear();
    }
}

/// A bad photo is told now, with all others, and not when a task is half done.
fn check(source: &Source, uses_columns: bool) -> Result<PhotoDigests> {
    let bar = checking();
    let QuickCheck { checkup, digests } = check_photos(source, &|_, of| count(&bar, of));
    bar.finish_and_clear();
    match DataError::try_from(checkup) {
        Ok(error) => Err(error.into()),
        Err(checkup) => {
            let told = checkup.findings.iter().filter(|finding| uses_columns || finding.kind != Kind::Column);
            told.for_each(|finding| output::tell(&format!("note: {}", finding.what)));
            Ok(PhotoDigests::new(digests))
        }
    }
}

/// What can be done about a run that was stopped.
pub(super) fn say_how_to_go_on<T>(done: &Result<T>, out: &Path) {
    if done.as_ref().is_err_and(|error| error.exit_code() == INTERRUPTED) {
        output::tell(&match RunFolder::can_go_on(out) {
            true => format!("go on with: prescient run --resume {}", out.display()),
            false => "no epoch was finished yet, so nothing is kept".to_owned(),
        });
    }
}

fn default_out(recipe: &Path, seed: u32) -> PathBuf {
    let name = recipe.file_stem().unwrap_or_default().to_string_lossy();
    Path::new("runs").join(format!("{name}-seed{seed}"))
}

/// The run's table, and where the run is.
pub(super) fn show(record: &Record, out: &Path) -> Result<()> {
    let mut text = format!("{}\nwritten to {}\n", report::text(record), out.display());
    if record.evaluations().count() < record.start.tasks.len() {
        text.push_str(&format!("go on with: prescient run --resume {}\n", out.display()));
    }
    output::print_text(&text)
}
