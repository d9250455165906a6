//! `prescient predict`.

mod photos;
mod shown;

use crate::device::DeviceName;
use crate::output;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use photos::Photos;
use prescient::error::{DataError, Result, printable};
use prescient::{Image, Predictor};
use shown::{Answer, Form};
use std::path::PathBuf;

/// Classify photos with a trained model
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient predict runs/mine-seed1 photo.jpg
  prescient predict runs/mine-seed1 new-photos/ --top 1 --format csv > answers.csv
  find . -name '*.jpg' | prescient predict runs/mine-seed1 - --format jsonl
  prescient predict runs/mine-seed1 photo.jpg --task 2       as the model was after task 2

All classes compete. `seen` means that the model has learned from photos of the class; `not yet photographed`
that it only knows the class's description, and guesses (a run with ghosts). A photo that cannot be read is
named on stderr, the others are answered, and the exit code is 2.")]
pub(super) struct Predict {
    /// The folder of a run, or of one of its tasks
    run: PathBuf,

    /// Photos, folders of photos, or `-`: one photo, or the paths of photos one a line, from standard input
    #[arg(required = true, value_name = "IMAGE|DIR|-")]
    photos: Vec<PathBuf>,

    /// Show so many classes for each photo, the most probable first
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,

    /// Answer as after this task; the last finished one unless given
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    task: Option<u32>,

    /// How answers are written
    #[arg(long, value_enum, default_value = "table")]
    format: Form,

    /// Where to compute
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceName,
}

/// Photos answered together.
const AT_A_TIME: usize = 256;
/// As many bytes of photos wait to be answered, give or take those that are decoded together: photos of phones are large.
const WAITING: usize = 64 << 20;

impl Predict {
    pub(super) fn run(self) -> Result<()> {
        let device = self.device.open()?;
        let predictor = Predictor::load_on(&self.run, self.task.map(|task| task as usize), device)?;
        let photos = Photos::find(&self.photos)?;
        let bar = match photos.len() > AT_A_TIME {
            true => ProgressBar::new(photos.len() as u64).with_style(
                ProgressStyle::with_template("{bar:30} {pos}/{len} photos  {eta:>4} left").expect("known keys"),
            ),
            false => ProgressBar::hidden(),
        };
        let mut shown = self.format.start();
        let mut failed = Vec::new();
        let (mut names, mut images) = (Vec::new(), Vec::new());
        let mut parts = photos.chunks(rayon::current_num_threads()).peekable();
        while let Some(part) = parts.next() {
            for (name, image) in part.read(predictor.about().input.channels) {
                match image {
                    Ok(image) => {
                        names.push(name);
                        images.push(image);
                    }
                    Err(error) => failed.push(error),
                }
            }
            bar.inc(part.len() as u64);
            let waiting: usize = images.iter().map(|image: &Image| image.pixels.len()).sum();
            if waiting < WAITING && images.len() < AT_A_TIME && parts.peek().is_some() {
                continue;
            }
            let predictions = predictor.predict(&std::mem::take(&mut images))?;
            let names = std::mem::take(&mut names);
            let answers = names
                .iter()
                .zip(&predictions)
                .map(|(name, prediction)| Answer::new(name, prediction, &predictor, self.top as usize));
            output::print(&shown.add(answers.collect()))?;
        }
        bar.finish_and_clear();
        output::print(&shown.finish())?;
        for error in &failed {
            eprintln!("warning: {}", printable(&error.to_string()));
        }
        match failed.len() {
            0 => Ok(()),
            count => Err(DataError::NotAnswered { count, of: photos.len() }.into()),
        }
    }
}
