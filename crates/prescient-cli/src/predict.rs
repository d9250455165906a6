//! `prescient predict`.

mod photos;
mod shown;
mod sort;

use crate::device::DeviceName;
use crate::output;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use photos::{Asked, Photos};
use prescient::error::{DataError, Result};
use prescient::{Predictor, Project};
use shown::{Answer, Form};
use sort::Sorter;
use std::path::PathBuf;

/// Classify photos with a trained model
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient predict shop photo.jpg
  prescient predict shop@3 photo.jpg                         as version 3 of the project was
  prescient predict shop inbox/ --sort sorted/ --abstain-below 90
  prescient predict runs/mine-seed1 new-photos/ --top 1 --format csv > answers.csv
  find . -name '*.jpg' | prescient predict shop - --format jsonl
  prescient predict runs/mine-seed1 photo.jpg --task 2       as the model was after task 2

All classes compete. `seen` means that the model has learned from photos of the class; `not yet photographed`
that it only knows the class's description, and guesses. A photo that cannot be read is named on stderr, the
others are answered, and the exit code is 2.")]
pub(super) struct Predict {
    /// The folder of a project or of a run, or of one of its tasks
    #[arg(value_name = "PROJECT|RUN")]
    run: PathBuf,

    /// Photos, folders of photos, or `-`: one photo, or the paths of photos one a line, from standard input
    #[arg(required = true, value_name = "IMAGE|DIR|-")]
    photos: Vec<PathBuf>,

    /// Show so many classes for each photo, the most probable first
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,

    /// Say `not sure` where the most probable class is less probable than this
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    abstain_below: Option<f64>,

    /// Copy each photo into `DIR/CLASS/`; those it is not sure of into `DIR/not sure/`
    #[arg(long, value_name = "DIR")]
    sort: Option<PathBuf>,

    /// Answer as after this task of a run; the last finished one unless given
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    task: Option<u32>,

    /// How answers are written
    #[arg(long, value_enum, default_value = "table")]
    format: Form,

    /// Where to compute
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceName,
}

/// Photos read and answered together.
const AT_A_TIME: usize = 128;

fn percent(text: &str) -> std::result::Result<f64, String> {
    let value: f64 = text.trim_end_matches('%').parse().map_err(|_| "expected a number".to_owned())?;
    match (0.0..=100.0).contains(&value) {
        true => Ok(value),
        false => Err("expected 0 to 100".to_owned()),
    }
}

impl Predict {
    pub(super) fn run(self) -> Result<()> {
        let device = self.device.open()?;
        let predictor = Predictor::load_on(&self.run, self.task.map(|task| task as usize), device)?;
        let (photos, cropper) = (Photos::find(&self.photos)?, predictor.cropper()?);
        let bar = match photos.len() > AT_A_TIME {
            true => ProgressBar::new(photos.len() as u64).with_style(
                ProgressStyle::with_template("{bar:30} {pos}/{len} photos  {eta:>4} left").expect("known keys"),
            ),
            false => ProgressBar::hidden(),
        };
        self.promise();
        let mut shown = self.format.start();
        let mut sorter = self.sort.as_deref().map(Sorter::new).transpose()?;
        let mut failed = Vec::new();
        let parts = photos.chunks(AT_A_TIME).map(|part| part.read(cropper));
        // A GPU answers while the next photos are read; on a processor both would only wait for each other.
        ahead(device.is_cuda(), parts, |asked| {
            bar.inc(asked.len() as u64);
            let answers = self.answer(&predictor, asked, &mut failed, sorter.as_mut())?;
            output::print(&shown.add(answers))
        })?;
        bar.finish_and_clear();
        output::print_text(&shown.finish())?;
        if let Some(sorter) = sorter {
            output::tell(&sorter.said());
        }
        for error in &failed {
            output::tell(&format!("warning: {error}"));
        }
        match failed.len() {
            0 => Ok(()),
            count => Err(DataError::NotAnswered { count, of: photos.len() }.into()),
        }
    }

    fn answer(
        &self,
        predictor: &Predictor,
        asked: Vec<Asked>,
        failed: &mut Vec<DataError>,
        mut sorter: Option<&mut Sorter>,
    ) -> Result<Vec<Answer>> {
        let (mut places, mut crops) = (Vec::new(), Vec::new());
        for Asked { name, path, crop } in asked {
            match crop {
                Ok(crop) => {
                    places.push((name, path));
                    crops.push(crop);
                }
                Err(error) => failed.push(error),
            }
        }
        let how = (self.top as usize, self.abstain_below.map(|sure| sure as f32 / 100.0));
        let mut answers = Vec::new();
        for ((name, path), prediction) in places.iter().zip(predictor.predict_crops(&crops)?) {
            let answer = Answer::new(name, &prediction, predictor, how);
            if let (Some(sorter), Some(path)) = (sorter.as_deref_mut(), path) {
                sorter.copy(path, answer.class())?;
            }
            answers.push(answer);
        }
        Ok(answers)
    }

    /// What held-out photos of a project showed of abstaining.
    fn promise(&self) {
        let Some(sure) = self.abstain_below else { return };
        let Ok(project) = Project::open(&self.run) else { return };
        let version = project.version();
        let found = version.tested.as_ref().map(|found| (found, "test photos"));
        let found =
            found.or(version.held_out.as_ref().map(|found| (found, "held-out photos of classes that it has learned")));
        let Some((cut, of, what)) = found.and_then(|(found, what)| Some((found.at(sure / 100.0)?, found.all.of, what)))
        else {
            output::tell(&format!(
                "note: no photo is held out, so nothing is known of how often it is right from {sure} % on"
            ));
            return;
        };
        let (answered, right) = (cut.answered.of, cut.answered.share().unwrap_or(0.0));
        output::tell(&format!(
            "note: from {:.0} % on it answered {answered} of {of} {what}, {:.1} % of them right",
            100.0 * cut.confidence,
            100.0 * right
        ));
    }
}

/// Hands what comes to `take`, one after the other; where `threaded`, the next one is made meanwhile.
fn ahead<T: Send>(
    threaded: bool,
    items: impl Iterator<Item = T> + Send,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    if !threaded {
        return items.into_iter().try_for_each(take);
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::sync_channel(2);
        scope.spawn(move || {
            for item in items {
                // Nobody takes any more: there was an error.
                if sender.send(item).is_err() {
                    break;
                }
            }
        });
        receiver.into_iter().try_for_each(&mut take)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_items_come_in_order_threaded_or_not() {
        for threaded in [false, true] {
            let mut taken = Vec::new();
            ahead(threaded, 0..100, |item| {
                taken.push(item);
                Ok(())
            })
            .expect("nothing fails");
            assert_eq!(taken, (0..100).collect::<Vec<_>>());
            let failing = ahead(threaded, 0..100, |_| Err(DataError::NoImages.into()));
            assert!(failing.is_err());
        }
    }
}
