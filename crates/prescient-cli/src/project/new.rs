//! `prescient new`.

use super::text::count;
use crate::device::DeviceName;
use crate::output;
use clap::{Args, ValueEnum};
use prescient::Project;
use prescient::error::Result;
use prescient::extractor::{EfficientNetLite0, ExtractorKind, MobileNetV2, PUBLISHED, ResNet18, ResNet50};
use prescient::project::{ClassTable, HOLD_OUT, Settings};
use std::path::PathBuf;

/// Make a project: a folder that is taught from photos as they arrive, and answers
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient new shop --classes classes.csv
  prescient learn shop photos/month_01            then teach it
  prescient new quick --classes classes.csv --size 96

The table has a row for each class: its name alone, a column `description`, attributes as numbers, or both. Cells may be
empty. Classes that have no photo yet are guessed at from what the table says of them.")]
pub(crate) struct New {
    /// The folder to make
    project: PathBuf,

    /// The table of classes: a CSV with a column `class`
    #[arg(long, value_name = "CSV")]
    classes: PathBuf,

    /// The pretrained network that turns photos into features; it stays as it is
    #[arg(long, value_enum, default_value = "mobilenet-v2")]
    extractor: Extractor,

    /// The side of the square that it sees of a photo, in pixels: smaller is quicker and less exact
    #[arg(long, value_name = "PIXELS", default_value_t = 224, value_parser = clap::value_parser!(u32).range(32..=512))]
    size: u32,

    /// Measure a twin that every N-th photo of a class is held out from; 0: measure nothing
    #[arg(long, value_name = "N", default_value_t = HOLD_OUT, value_parser = clap::value_parser!(u32).range(0..=1000))]
    hold_out: u32,

    /// Answer with classes that have photos alone, and never guess
    #[arg(long)]
    no_guesses: bool,

    /// Where to compute
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceName,
}

/// Networks whose weights `prescient weights get` fetches.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Extractor {
    /// Small and quick, features of 1,280 numbers
    #[value(name = "mobilenet-v2")]
    MobileNetV2,
    /// As small, and a little better
    #[value(name = "efficientnet-lite0")]
    EfficientNetLite0,
    /// Features of 512 numbers
    #[value(name = "resnet18")]
    ResNet18,
    /// Larger and slower, features of 2,048 numbers
    #[value(name = "resnet50")]
    ResNet50,
}

impl New {
    pub(crate) fn run(self) -> Result<()> {
        let weights = Some(PUBLISHED.to_owned());
        let extractor = match self.extractor {
            Extractor::MobileNetV2 => ExtractorKind::MobileNetV2(MobileNetV2 { weights, ..Default::default() }),
            Extractor::EfficientNetLite0 => {
                ExtractorKind::EfficientNetLite0(EfficientNetLite0 { weights, ..Default::default() })
            }
            Extractor::ResNet18 => ExtractorKind::ResNet18(ResNet18 { weights, ..Default::default() }),
            Extractor::ResNet50 => ExtractorKind::ResNet50(ResNet50 { weights, ..Default::default() }),
        };
        let settings = Settings {
            size: self.size,
            hold_out: self.hold_out,
            guesses: !self.no_guesses,
            ..Settings::new(extractor)
        };
        let table = ClassTable::read(&self.classes)?;
        let project = Project::create(&self.project, &table, settings, self.device.open()?)?;
        let (path, classes) = (self.project.display(), project.version().classes.len() as u64);
        let (classes, about) = (count(classes, "class"), table.about());
        table.warnings().iter().for_each(|warning| output::tell(&format!("warning: {warning}")));
        output::print_text(&format!(
            "`{path}` knows {classes} by {about}, and no photo yet\nteach it: prescient learn {path} PHOTOS, with photos in PHOTOS/CLASS/*.jpg\n"
        ))
    }
}
