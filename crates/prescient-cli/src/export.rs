//! `prescient export`.

use crate::output;
use clap::{Args, ValueEnum};
use prescient::Predictor;
use prescient::error::{Result, While};
use prescient::export::{Background, Format, export};
use std::path::PathBuf;
use tch::Device;

/// Write a model for other programs, in a folder that explains itself
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient export shop --to onnx --out shop-onnx
  prescient export runs/mine-seed1 --to onnx --out mine-onnx
  prescient export runs/mine-seed1 --to torchscript --out mine-pt --task 2
  cd mine-onnx && pip install onnxruntime numpy pillow && python predict.py photo.jpg

The model takes photos that are cut and scaled already, as bytes, and answers with a probability
and a score for each class, those not yet photographed included. Extractor and classifier are one
graph. The folder has the labels, what photos go through before, an example in Python, and a model
card with ten lines to begin with. It appears when it is whole.")]
pub(super) struct Export {
    /// A project, or a version of it as in `shop@3`; or the folder of a run, or of one of its tasks
    model: PathBuf,

    /// What to write
    #[arg(long, value_enum)]
    to: To,

    /// The folder to write; must not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Export the model as after this task; the last finished one unless given
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    task: Option<u32>,

    /// Replace an earlier export
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum To {
    /// One graph, for onnxruntime and others
    Onnx,
    /// A module for `torch.jit.load`
    Torchscript,
    /// Weights with PyTorch's names, and what is done with them as JSON
    Safetensors,
}

impl Export {
    pub(super) fn run(self) -> Result<()> {
        let format = match self.to {
            To::Onnx => Format::Onnx,
            To::Torchscript => Format::TorchScript,
            To::Safetensors => Format::Safetensors,
        };
        let predictor = Predictor::load_on(&self.model, self.task.map(|task| task as usize), Device::Cpu)?;
        let background = Background::of(&self.model, predictor.about().task)?;
        let files = export(&predictor, &background, format, &self.out, self.force)
            .when(|| format!("export `{}`", self.model.display()))?;
        let wide = files.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let rows = files.iter().map(|(name, bytes)| format!("  {name:<wide$}  {:>9}\n", size(*bytes)));
        output::print_text(&format!("{}\n{}", self.out.display(), rows.collect::<String>()))?;
        output::tell(&format!("how to use it: {}", self.out.join("README.md").display()));
        Ok(())
    }
}

/// A length as people read it.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
