//! `prescient reproduce`.

mod pace;
mod plan;
mod wanted;
mod work;

use crate::device::DeviceName;
use crate::output;
use clap::{Args, ValueEnum};
use prescient::error::{ReproduceError, Result, RunError};
use prescient::experiment::{PRESETS, Preset};
use prescient::report::Format;
use prescient::report::paper::{PaperTable, TABLES, Wanted as Rows};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use wanted::{State, Wanted};
use work::Work;

/// Run the rows of the paper's tables and show our numbers beside the paper's
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient reproduce mnist                             digits: three tasks and six
  prescient reproduce table1 --device cuda --jobs 3     AwA2 and aP&Y, three runs at a time
  prescient reproduce table1 --preset paper             the paper's settings alone
  prescient reproduce all --dataset animals50           the same rows on other photos
  prescient reproduce all --dataset animals12 --seeds 1 --set train.epochs=2 --out runs/smoke
  prescient reproduce table1 --no-run                   runs nothing: tables of what is there
  prescient reproduce all --plan --device cuda          runs nothing: commands for a scheduler

Each row and seed is a run folder below --out, `RECIPE-seedN`. What is finished is not run again,
what was interrupted goes on, and a folder with a run of another recipe is refused. A row that
fails, or whose data is not there, does not stop the others. The tables are written beside the
runs: table1.md, table1.csv, table1.tex, …; `logs` has what each run said.

Several runs at a time are spread over the GPUs of the machine, and gain even on one, which a run
seldom fills; on a CPU they share its cores. For several machines --plan writes what is left to do
as shell commands, plan.sh, and as plan.slurm for sbatch. Exit codes: 0 every row is there, 2 a run
failed, 3 nothing failed but some rows are not there, for want of data or because of --no-run.
See docs/guide/reproduce.md.")]
pub(super) struct Reproduce {
    /// Which tables
    #[arg(required = true, value_enum)]
    what: Vec<What>,

    /// The seeds of each row
    #[arg(long, value_delimiter = ',', default_value = "1,2,3", value_name = "SEEDS")]
    seeds: Vec<u32>,

    /// The photos of tables 1 to 4; can be given several times [default: awa2 and apy, the paper's]
    #[arg(long = "dataset", value_name = "NAME", value_enum)]
    datasets: Vec<Name>,

    /// Whose settings: the paper's printed ones, ours, or both, side by side; can be given several times
    #[arg(long = "preset", value_name = "PRESET", value_enum, default_value = "both")]
    presets: Vec<WhosePreset>,

    /// Where to compute
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceName,

    /// The folder for runs and tables
    #[arg(long, value_name = "DIR", default_value = "runs/reproduce")]
    out: PathBuf,

    /// Set a key of every recipe; can be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,

    /// How many runs at a time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: u32,

    /// Run nothing: make the tables from the runs that are there
    #[arg(long)]
    no_run: bool,

    /// Run nothing: write a command for each run that is not finished, for any scheduler
    #[arg(long, conflicts_with = "no_run")]
    plan: bool,
}

/// What to reproduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Continual accuracy on AwA2 and aP&Y, PODNet and UCIR
    Table1,
    /// Final accuracy of the same runs
    Table2,
    /// An initial task as large as in zero-shot learning
    Table3,
    /// Ghosts against real features, and oracles
    Table4,
    /// MNIST with 2-d features
    Mnist,
    /// All of these
    All,
}

/// The photos of tables 1 to 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Animals with Attributes 2: the paper's
    Awa2,
    /// Attribute Pascal and Yahoo: the paper's
    Apy,
    /// Twelve animals of Tiny-ImageNet
    Animals12,
    /// Fifty animals of Tiny-ImageNet, the shape of AwA2
    Animals50,
    /// 43 of AwA2's animals, other photos, with AwA2's attributes
    Awa43,
}

/// Whose settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WhosePreset {
    /// The paper's printed settings
    Paper,
    /// Ours
    Tuned,
    /// Both
    Both,
}

impl What {
    fn takes(self, table: &PaperTable) -> bool {
        self == What::All || self.to_possible_value().is_some_and(|value| value.get_name() == table.name)
    }
}

impl Reproduce {
    pub(super) fn run(self) -> Result<()> {
        let tables: Vec<&PaperTable> =
            TABLES.iter().filter(|table| self.what.iter().any(|what| what.takes(table))).collect();
        let rows = self.rows();
        let wanted = self.wanted(&tables, &rows)?;
        fs::create_dir_all(&self.out).map_err(RunError::io(&self.out))?;
        let _lock = lock(&self.out)?;

        let mut work = Work::new(self.device, &self.sets, self.jobs as usize, &self.out);
        for run in &wanted {
            match run.state() {
                Ok(State::Finished) => work.skip(),
                Ok(state) if !self.no_run => work.add(run, state),
                Ok(_) => work.leave(),
                Err(error) => work.fails(run, &error),
            }
        }
        work.check_data();
        if self.plan {
            return self.write_plan(&work);
        }
        work.carry_out()?;

        self.print_tables(&tables, &rows, &wanted, &work)?;
        self.verdict(wanted.len(), &work)
    }

    /// Writes what is left to do. Nothing is run.
    fn write_plan(&self, work: &Work<'_>) -> Result<()> {
        let commands: Vec<String> = work.planned();
        let logs = self.out.join("logs");
        fs::create_dir_all(&logs).map_err(RunError::io(&logs))?;
        write_whole(&self.out.join(plan::COMMANDS), &(commands.join("\n") + "\n"))?;
        write_whole(&self.out.join(plan::ARRAY), &plan::array(&self.out, commands.len()))?;
        let [commands_at, array_at] = [plan::COMMANDS, plan::ARRAY].map(|name| self.out.join(name));
        let (count, done) = (commands.len(), work.finished());
        output::print_text(&format!(
            "{count} runs to do, {done} finished\nwritten to {}, a command a line, and {}: sbatch {}\n",
            commands_at.display(),
            array_at.display(),
            array_at.display()
        ))
    }

    /// Which rows are asked for.
    fn rows(&self) -> Rows {
        let takes = |preset: &Preset| {
            self.presets.iter().any(|whose| match whose {
                WhosePreset::Both => true,
                WhosePreset::Paper => *preset == Preset::Paper,
                WhosePreset::Tuned => *preset == Preset::Tuned,
            })
        };
        let named = |name: &Name| name.to_possible_value().expect("no dataset is hidden").get_name().to_owned();
        let datasets: Vec<String> = self.datasets.iter().map(named).collect();
        let presets = PRESETS.into_iter().filter(takes).collect();
        Rows { datasets: if datasets.is_empty() { Rows::default().datasets } else { datasets }, presets }
    }

    /// Each run of the tables once, with its recipe as it will be followed.
    fn wanted(&self, tables: &[&PaperTable], rows: &Rows) -> Result<Vec<Wanted>> {
        let mut recipes: Vec<String> = Vec::new();
        for section in tables.iter().flat_map(|table| table.sections(rows)) {
            recipes.extend(section.rows.into_iter().map(|row| row.recipe));
        }
        let mut named = BTreeSet::new();
        recipes.retain(|recipe| named.insert(recipe.clone()));
        let seeds: BTreeSet<u32> = self.seeds.iter().copied().collect();
        // Seed by seed: the first seed of every row is there before the second of any.
        let runs = seeds.iter().flat_map(|seed| recipes.iter().map(|recipe| (recipe.clone(), *seed)));
        runs.map(|(recipe, seed)| Wanted::new(&recipe, seed, &self.sets, &self.out)).collect()
    }

    /// Prints the tables and writes them beside the runs.
    fn print_tables(&self, tables: &[&PaperTable], rows: &Rows, wanted: &[Wanted], work: &Work<'_>) -> Result<()> {
        let outcomes = wanted::outcomes(wanted.iter().filter(|run| !work.failed(run)))?;
        let mut notes = Vec::new();
        if !self.sets.is_empty() {
            notes.push(format!("Not the recipes as they stand: {}.", self.sets.join(", ")));
        }
        let mut text = String::new();
        for table in tables {
            let filled = table.filled(rows, &outcomes, &notes);
            text.push_str(&filled.render(Format::Text));
            text.push('\n');
            for (format, ending) in [(Format::Markdown, "md"), (Format::Csv, "csv"), (Format::Latex, "tex")] {
                write_whole(&self.out.join(format!("{}.{ending}", table.name)), &filled.render(format))?;
            }
        }
        output::print_text(&format!("{text}written to {}\n", self.out.display()))
    }

    /// Says what is missing from the tables.
    fn verdict(&self, of: usize, work: &Work<'_>) -> Result<()> {
        let missing: Vec<String> = work.missing().map(String::from).collect();
        match work.failures() {
            0 if work.left() > 0 => Err(ReproduceError::NotRun { left: work.left(), of }.into()),
            0 if missing.is_empty() => Ok(()),
            0 => Err(ReproduceError::NoData { missing }.into()),
            failed => Err(ReproduceError::Failed { failed, of, missing }.into()),
        }
    }
}

/// Keeps others out of the folder until it is dropped: two that run the same row would write the same folder.
fn lock(out: &Path) -> Result<File> {
    let path = out.join(".lock");
    let file = File::create(&path).map_err(RunError::io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(ReproduceError::Busy { path: out.to_owned() }.into()),
        Err(fs::TryLockError::Error(source)) => Err(RunError::io(&path)(source).into()),
    }
}

/// Writes a file under another name first, so that it is whole or not there.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    let made = path.with_extension("tmp");
    fs::write(&made, text).map_err(RunError::io(&made))?;
    Ok(fs::rename(&made, path).map_err(RunError::io(path))?)
}
