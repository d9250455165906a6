//! `prescient data show`.

use crate::data::{names, source};
use clap::Args;
use prescient::catalogue::AttributeSource;
use prescient::data::sheet::contact_sheet;
use prescient::data::{Channels, DatasetOptions, Image, Subset};
use prescient::error::{DataError, Result, While};
use std::path::PathBuf;

/// Write a contact sheet of each class as PNG
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient data show synthetic --out sheets
  prescient data show folder --path photos.zip --attributes attributes.csv --out sheets")]
pub(super) struct Show {
    /// Which dataset
    #[arg(value_parser = names())]
    dataset: String,

    /// The folder to write the sheets to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Where the dataset lies
    #[arg(long)]
    path: Option<PathBuf>,

    /// Where attributes come from, for `folder`
    #[arg(long, value_name = "FILE")]
    attributes: Vec<PathBuf>,

    /// Images a class
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=1000))]
    count: u32,
}

impl Show {
    pub(super) fn run(self) -> Result<()> {
        let attributes = self.attributes.into_iter().map(AttributeSource::new).collect();
        let per_class = Some(self.count as usize);
        let options = DatasetOptions { path: self.path, attributes, per_class, ..Default::default() };
        let source = source(&self.dataset, options);
        let dataset = source.open().when(|| format!("open the dataset `{}`", source.name()))?;
        if dataset.channels() == Channels::Features {
            return Err(DataError::NoImages.into());
        }
        std::fs::create_dir_all(&self.out).map_err(DataError::io(&self.out))?;
        for (index, name) in dataset.catalogue().names().iter().enumerate() {
            let samples = dataset.samples(Subset::Train).iter().filter(|sample| sample.class.index() == index);
            let images = samples.take(self.count as usize).map(|sample| dataset.image(sample));
            let images: Vec<Image> = images.collect::<std::result::Result<_, _>>()?;
            let path = self.out.join(file_name(index, name));
            contact_sheet(&images, 8, zoom(&images)).write_png(&path)?;
        }
        let count = dataset.catalogue().len();
        crate::output::print_text(&format!("{count} contact sheets written to {}\n", self.out.display()))
    }
}

/// Small images are enlarged until a person can see them.
fn zoom(images: &[Image]) -> u32 {
    let side = images.iter().map(|image| image.width.max(image.height)).max().unwrap_or(1).max(1);
    (128 / side).clamp(1, 4)
}

/// A class name as a file name: what a file system might not take becomes `_`.
fn file_name(index: usize, class: &str) -> String {
    let plain: String = class.chars().map(|c| if c.is_alphanumeric() || "-+.".contains(c) { c } else { '_' }).collect();
    format!("{index:02}-{plain}.png")
}
