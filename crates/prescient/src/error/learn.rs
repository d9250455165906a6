//! Learning that cannot go on.

use crate::error::{DataError, ProcessError, RunError, WeightsError};

/// Learning that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The data failed.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Pretrained weights are not there, or cannot be used.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// Other processes failed.
    #[error(transparent)]
    Processes(#[from] ProcessError),
    /// No such device here.
    #[error("there is no CUDA device: {reason}")]
    NoCuda {
        /// Why not.
        reason: String,
    },
    /// A generator, and nothing to imagine from.
    #[error("the classes have no attributes, so nothing can be imagined of them")]
    NoAttributes,
    /// More ghosts than memory holds.
    #[error(
        "{per_class} ghosts of each of {classes} future classes take {:.1} GiB, and this machine has {:.1} GiB of memory",
        gib(*bytes),
        gib(*memory)
    )]
    TooManyGhosts {
        /// Future classes after the first task.
        classes: usize,
        /// Ghosts of each.
        per_class: usize,
        /// What they take.
        bytes: u64,
        /// What there is.
        memory: u64,
    },
    /// A term of the loss is no number.
    #[error("`{term}` is {value} in task {task}, epoch {epoch}, batch {batch}")]
    NotFinite {
        /// The term's name.
        term: String,
        /// NaN or an infinity.
        value: f64,
        /// From 1.
        task: usize,
        /// From 1.
        epoch: usize,
        /// From 1.
        batch: usize,
    },
    /// A model that answers with no numbers.
    #[error("after task {task} the scores of test images are no numbers: the training has diverged")]
    Diverged {
        /// From 1.
        task: usize,
    },
    /// A model of feature rows is asked about images.
    #[error("this model was trained on feature rows, not on images")]
    NoImages,
    /// An image that the model cannot take.
    #[error("expected {expected}, found {found}")]
    Channels {
        /// What the model takes.
        expected: String,
        /// What it was given.
        found: String,
    },
    /// The cache of features failed.
    #[error(transparent)]
    Cache(RunError),
    /// A task half learned cannot be kept, or not be gone on with.
    #[error(transparent)]
    Checkpoint(RunError),
    /// Somebody wants the run to stop.
    #[error("interrupted in task {task}")]
    Interrupted {
        /// From 1.
        task: usize,
    },
    /// A network that sees no numbers in a photo.
    #[error("the extractor's features are no finite numbers")]
    FeaturesNotFinite,
    /// Nothing to learn from.
    #[error("no class has a photo yet")]
    NoPhotos,
    /// libtorch failed.
    #[error("libtorch failed: {0}")]
    Torch(String),
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

impl From<tch::TchError> for LearnError {
    fn from(error: tch::TchError) -> Self {
        Self::Torch(error.to_string())
    }
}

impl LearnError {
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Data(error) => return error.hint(),
            Self::Weights(error) => return error.hint(),
            Self::Processes(error) => return error.hint(),
            Self::NoCuda { .. } => {
                "use `--device cpu`, or put a CUDA build of libtorch 2.11.0 on the library path".into()
            }
            Self::NoAttributes => "give the dataset a table: `attributes = [\"attributes.csv\"]`; or leave out \
                                   `ghosts.generator`"
                .into(),
            Self::TooManyGhosts { .. } => {
                "draw fewer, `--set ghosts.per_class=20`, describe fewer classes, or leave ghosts out: \
                                           `--set ghosts.generator.kind=none`"
                    .into()
            }
            Self::NotFinite { .. } | Self::Diverged { .. } => {
                "a smaller learning rate often helps: `--set train.lr=0.01`".into()
            }
            Self::Cache(error) | Self::Checkpoint(error) => return error.hint(),
            Self::FeaturesNotFinite => {
                "the weights may be damaged, or of another network: `prescient weights check`".into()
            }
            Self::NoPhotos => "a task must bring photos of at least one class".into(),
            Self::NoImages => "a model for photos is trained on photos: `data.kind = \"folder\"`".into(),
            Self::Channels { .. } => "decode them with `Image::read(path, predictor.about().input.channels)`".into(),
            Self::Torch(_) | Self::Interrupted { .. } => return None,
        })
    }
}
