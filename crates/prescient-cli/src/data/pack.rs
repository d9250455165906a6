//! `prescient data pack`.

use crate::data::{names, source};
use crate::output;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use prescient::catalogue::{AttributeSource, Scale};
use prescient::data::datasets::pack;
use prescient::data::{DatasetOptions, Fit, Subset};
use prescient::error::{DataError, Result, RunError, While};
use std::path::PathBuf;

/// Decode and resize the images of a dataset once, into one file that loads at memory speed
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient data pack awa2 data/awa2 --out awa2.pack --size 256
  prescient data pack folder photos --attributes animals.csv --out photos.pack --size 64

The pack is a dataset: `data = { kind = \"pack\", path = \"awa2.pack\" }`. Names, classes, sides
and attributes are those of the dataset it was made from; its images are mapped into memory and
need no decoding. The shorter side is reduced to the size given, then the middle square is cut out
unless `--whole` keeps the rest. Images that are smaller stay as they are.")]
pub(super) struct Pack {
    /// Which dataset
    #[arg(value_parser = names())]
    dataset: String,

    /// Where it lies: a folder or a .zip; its own place below the data root unless given
    path: Option<PathBuf>,

    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// The shorter side, in pixels
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(8..=4096))]
    size: u32,

    /// Keep the aspect of each image instead of cutting out its middle square
    #[arg(long)]
    whole: bool,

    /// Where attributes come from, for `folder`; can be given several times
    #[arg(long, value_name = "FILE")]
    attributes: Vec<PathBuf>,

    /// How the attributes of each source are scaled; as in a recipe unless given
    #[arg(long, value_enum)]
    scale: Option<ScaleName>,

    /// An image to leave out, for `folder`, as in `train/cat/0001.jpg`; can be given several times
    #[arg(long, value_name = "PATH")]
    exclude: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScaleName {
    None,
    UnitL2,
    Range,
}

impl Pack {
    pub(super) fn run(self) -> Result<()> {
        if self.out.exists() {
            let (expected, found) = ("a name that is free".to_owned(), "a file".to_owned());
            let hint = "choose another name with `--out`, or take the file away".to_owned();
            return Err(DataError::Malformed { path: self.out, line: None, expected, found, hint }.into());
        }
        let options = DatasetOptions {
            path: self.path,
            attributes: self.attributes.iter().map(AttributeSource::new).collect(),
            scale: self.scale.map(|scale| match scale {
                ScaleName::None => Scale::None,
                ScaleName::UnitL2 => Scale::UnitL2,
                ScaleName::Range => Scale::Range,
            }),
            exclude: self.exclude,
            ..Default::default()
        };
        let source = source(&self.dataset, options);
        let dataset = source.open().when(|| format!("open the dataset `{}`", source.name()))?;
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} images  {eta:>4} left")
            .expect("a template of known keys");
        let bar = ProgressBar::new(0).with_style(style);
        let fit = Fit { size: self.size, whole: self.whole };
        let packed = pack(dataset.as_ref(), &self.out, fit, &|done, of| {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        });
        bar.finish_and_clear();
        packed.when(|| format!("pack the dataset `{}`", source.name()))?;
        let [train, test] = [Subset::Train, Subset::Test].map(|subset| dataset.samples(subset).len());
        let bytes = std::fs::metadata(&self.out).map_err(RunError::io(&self.out))?.len();
        let out = self.out.display();
        output::print(&format!(
            "{train} training and {test} test images packed to {out}, {:.1} MB; in a recipe:\n\n\
             [data]\nkind = \"pack\"\npath = \"{out}\"\n",
            bytes as f64 / 1e6
        ))
    }
}
