//! The command `prescient`: one file a verb.

mod audit;
mod cache;
mod classes;
mod compare;
mod data;
mod demo;
mod device;
mod drawings;
mod export;
pub mod fetch;
mod help;
mod inspect;
mod interrupt;
mod list;
mod output;
mod predict;
mod processes;
mod progress;
mod project;
mod report;
mod reproduce;
mod run;
mod serve;
mod weights;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use prescient::error::Result;
use std::io::IsTerminal;
use std::process::ExitCode;
use tracing::Level;

/// Prescient continual learning: teach an image classifier its classes task by task, with a tiny memory of old images,
/// and let it guess at classes whose images have not arrived yet.
#[derive(Debug, Parser)]
#[command(
    name = "prescient",
    version,
    arg_required_else_help = true,
    after_help = "Start with `prescient demo`. Then `prescient list` shows what there is to run, and\n\
                  `prescient run RECIPE.toml` runs it. Exit codes: 0 done, 1 an audit that fails,\n\
                  2 something to mend, 3 rows of a table that are not there, 130 stopped by Ctrl-C."
)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,

    /// Say more of what happens, on stderr (twice for even more)
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Train the base model and the Ghost model on drawn images and show them side by side: three minutes at most
    Demo(demo::Demo),
    /// Run a recipe, or go on with a run that was stopped
    Run(run::Run),
    /// Make a project: a folder that is taught from photos as they arrive, and answers
    New(project::new::New),
    /// Teach a project from photos, or tell it more about its classes
    Learn(project::learn::Learn),
    /// Classify photos with a project or a run
    Predict(predict::Predict),
    /// Answer over HTTP, with a page to drop photos on
    Serve(serve::Serve),
    /// Write a model for other programs: ONNX, TorchScript or safetensors, in a folder that explains itself
    Export(export::Export),
    /// Show what a project has learned, what it guesses, and how good it believes it is
    Status(project::status::StatusOf),
    /// Say which classes of a project to photograph next, and what photos of each are worth
    Plan(project::plan::Plan),
    /// Compare two versions of a project: which classes got better or worse
    Diff(project::diff::Diff),
    /// Bring an earlier version of a project back
    Rollback(project::rollback::Rollback),
    /// Forget classes of a project, as if it had never had them
    Forget(project::forget::Forget),
    /// Give a class of a project another name
    Rename(project::rename::Rename),
    /// Show what runs found, from their folders alone: as tables, as figures, or as a page
    Report(report::Report),
    /// Compare models over seeds: paired differences, intervals, and a verdict
    Compare(compare::Compare),
    /// Run the rows of the paper's tables and show our numbers beside the paper's
    Reproduce(reproduce::Reproduce),
    /// Prove from a run's folder alone that it kept the rules, or judge a split made elsewhere
    Audit(audit::Audit),
    /// Compare what a run imagines of classes with what their images look like
    Inspect(inspect::Inspect),
    /// Fetch data, check it, and look at it before learning from it
    Data(data::Data),
    /// List, fetch and check pretrained weights
    #[command(subcommand)]
    Weights(weights::Weights),
    /// Show, check or clear the cache of features
    Cache(cache::Cache),
    /// Show what is known of classes: which are similar, which cannot be told apart
    Classes(classes::Classes),
    /// Name the datasets, recipes, metrics and recipe keys there are
    List(list::List),
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    torch_shim::tune_process();
    let matches = with_negative_numbers(help::fitted(Arguments::command())).get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let level = [Level::WARN, Level::INFO, Level::DEBUG][usize::from(arguments.verbose.min(2))];
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .without_time()
        .init();
    let done = match arguments.verb {
        Verb::Demo(verb) => verb.run(),
        Verb::Run(verb) => verb.run(),
        Verb::New(verb) => verb.run(),
        Verb::Learn(verb) => verb.run(),
        Verb::Predict(verb) => verb.run(),
        Verb::Serve(verb) => verb.run(),
        Verb::Export(verb) => verb.run(),
        Verb::Status(verb) => verb.run(),
        Verb::Plan(verb) => verb.run(),
        Verb::Diff(verb) => verb.run(),
        Verb::Rollback(verb) => verb.run(),
        Verb::Forget(verb) => verb.run(),
        Verb::Rename(verb) => verb.run(),
        Verb::Report(verb) => verb.run(),
        Verb::Compare(verb) => verb.run(),
        Verb::Reproduce(verb) => verb.run(),
        Verb::Audit(verb) => verb.run(),
        Verb::Inspect(verb) => verb.run(),
        Verb::Data(verb) => verb.run(),
        Verb::Weights(verb) => verb.run(),
        Verb::Cache(verb) => verb.run(),
        Verb::Classes(verb) => verb.run(),
        Verb::List(verb) => verb.run(),
    };
    finish(done)
}

/// The command whose options take `-1` for a number: what is allowed is then told, and not how to write a path that begins so.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    });
    command.mut_subcommands(with_negative_numbers)
}

fn finish(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::tell(&error.message());
            ExitCode::from(error.exit_code())
        }
    }
}
