//! `prescient data get`.

use crate::fetch::{Fetched, MNIST, MNIST_MIRRORS, apy_by_hand, awa2_by_hand, fetch};
use crate::output;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use prescient::data::root;
use prescient::error::{Result, While};
use std::path::{Path, PathBuf};

/// Fetch a dataset, or say where to get it by hand
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient data get mnist                          to `mnist` below the data root
  prescient data get mnist --out digits             elsewhere
  prescient data get mnist --from https://my.mirror/mnist

A fetch that was cut off goes on where it stopped. Every file is checked against its SHA-256.")]
pub(super) struct Get {
    /// Which dataset
    dataset: Name,

    /// The folder to write to; the dataset's own below the data root unless given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Ask this mirror and no other; can be given several times
    #[arg(long, value_name = "URL")]
    from: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Name {
    Mnist,
    Awa2,
    Apy,
}

impl Get {
    pub(super) fn run(self) -> Result<()> {
        let out = |name: &str| self.out.clone().unwrap_or_else(|| root().join(name));
        match self.dataset {
            Name::Mnist => mnist(&out("mnist"), self.from).when(|| "fetch `mnist`".to_owned()),
            Name::Awa2 => Err(awa2_by_hand(&out("awa2")).into()),
            Name::Apy => Err(apy_by_hand(&out("apy")).into()),
        }
    }
}

fn mnist(out: &Path, from: Vec<String>) -> Result<()> {
    let mirrors = if from.is_empty() { MNIST_MIRRORS.map(String::from).to_vec() } else { from };
    let style = ProgressStyle::with_template("{msg:>28} {bar:16} {bytes}/{total_bytes}  {eta:>4} left")
        .expect("a template of known keys");
    let bar = ProgressBar::new(MNIST.iter().map(|remote| remote.bytes).sum()).with_style(style);
    let (mut before, mut came) = (0, 0);
    for remote in &MNIST {
        bar.set_message(remote.name);
        let fetched = fetch(remote, &mirrors, out, &mut |bytes| bar.set_position(before + bytes))?;
        came += usize::from(fetched == Fetched::Now);
        before += remote.bytes;
    }
    bar.finish_and_clear();
    let text = match came {
        0 => format!("all four files of MNIST are in {} already, whole\n", out.display()),
        came => format!("{came} of four files of MNIST fetched to {}; all are whole\n", out.display()),
    };
    output::print_text(&text)
}
