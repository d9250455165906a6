//! What can go wrong through no fault of ours, said so that a user can mend it.
//!
//! Lower case, no full stop, literals in backticks, what was expected and what was found. What only a bug can cause is
//! an assertion instead. [`Error::hint`] says what to do next.

mod audit;

pub use audit::AuditError;

use std::io;
use std::path::{Path, PathBuf};

/// The result of anything a user can make fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that stops a command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was being done when something went wrong.
    #[error("cannot {doing}")]
    While {
        /// As in "read the recipe `a.toml`".
        doing: String,
        /// What went wrong.
        source: Box<Error>,
    },
    /// See [`ScenarioError`].
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// See [`DataError`].
    #[error(transparent)]
    Data(#[from] DataError),
    /// See [`RecipeError`].
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// See [`LearnError`].
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// See [`RunError`].
    #[error(transparent)]
    Run(#[from] RunError),
    /// See [`AuditError`].
    #[error(transparent)]
    Audit(#[from] AuditError),
}

/// Says what was being done when an error came up.
pub trait While<T> {
    /// `doing` completes the sentence "cannot …".
    fn when(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> While<T> for std::result::Result<T, E> {
    fn when(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::While { doing: doing(), source: Box::new(error.into()) })
    }
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::While { source, .. } => source.hint(),
            Error::Scenario(error) => error.hint(),
            Error::Data(error) => error.hint(),
            Error::Recipe(error) => error.hint(),
            Error::Learn(error) => error.hint(),
            Error::Run(error) => error.hint(),
            Error::Audit(error) => error.hint(),
        }
    }

    /// What the process ends with: 1 where an audit did its work and the answer is no, 2 where something is to be mended.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::While { source, .. } => source.exit_code(),
            Error::Audit(AuditError::Fails { .. } | AuditError::Leaks { .. }) => 1,
            _ => 2,
        }
    }

    /// The error as people read it: what failed, why, and a hint.
    pub fn message(&self) -> String {
        let mut text = format!("error: {self}\n");
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let line = error.to_string();
            // `transparent` wrappers repeat their source.
            if !text.trim_end().ends_with(&line) {
                text.push_str(&format!("  {}\n", line.replace('\n', "\n  ")));
            }
            cause = error.source();
        }
        if let Some(hint) = self.hint() {
            text.push_str(&format!("\nhint: {hint}\n"));
        }
        text
    }
}

/// A scenario that cannot be dealt out.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A split that cannot be read.
    #[error("the split `{text}` cannot be read: {reason}")]
    Split {
        /// As written.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A split for another number of classes.
    #[error("the split `{split}` deals out {sum} classes, but the dataset has {classes}")]
    SplitSum {
        /// As written.
        split: String,
        /// What it adds up to.
        sum: usize,
        /// What it should.
        classes: usize,
    },
    /// An order that the dataset does not know.
    #[error("the dataset has no order called `{order}`")]
    OrderUnknown {
        /// Its name.
        order: &'static str,
    },
    /// An order file that cannot be opened.
    #[error("`{path}`: {source}")]
    OrderFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A line of an order file that is wrong.
    #[error("`{path}`, line {line}: {reason}")]
    OrderLine {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// An order file that leaves classes out.
    #[error("`{path}`: expected {expected} classes, found {found}; `{missing}` is missing")]
    OrderIncomplete {
        /// The file.
        path: PathBuf,
        /// The dataset's number of classes.
        expected: usize,
        /// The file's.
        found: usize,
        /// One class that is left out.
        missing: String,
    },
}

impl ScenarioError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Split { .. } => "`25+5x5` is 25 classes, then 5 tasks of 5; `6+2+2` is three tasks".into(),
            Self::SplitSum { classes, .. } => format!(
                "the parts of a split must add up to {classes}, for example `{}+{}`",
                classes - classes / 2,
                (classes / 2).max(1)
            ),
            Self::OrderUnknown { .. } => {
                "only `awa2` and `apy` know `standard` and `proposed`; `order = { kind = \"file\", path = \"order.txt\" }` \
                 names any order"
                    .into()
            }
            Self::OrderFile { .. } | Self::OrderLine { .. } | Self::OrderIncomplete { .. } => {
                "an order file has the name of every class of the dataset once, one a line".into()
            }
        })
    }
}

/// Data that cannot be read, or must not be.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A file that cannot be opened or read.
    #[error("`{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file that is not what it should be.
    #[error("`{path}`{}: expected {expected}, found {found}", line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// From 1, where the file has lines.
        line: Option<usize>,
        /// What should be there.
        expected: String,
        /// What is.
        found: String,
        /// How it may have come about, and what to do.
        hint: String,
    },
    /// An image that does not decode.
    #[error("`{path}`: expected an image, found one that does not decode: {reason}")]
    Image {
        /// The image; inside an archive, the archive's path and the image's name in it.
        path: PathBuf,
        /// The decoder's words.
        reason: String,
    },
    /// Images and class information that do not name the same classes.
    #[error("`{images}` and `{attributes}` name different classes: {}", difference(only_images, only_attributes))]
    Classes {
        /// Where the images are.
        images: PathBuf,
        /// Where the class information is.
        attributes: PathBuf,
        /// Classes with images alone.
        only_images: Vec<String>,
        /// Classes with information alone.
        only_attributes: Vec<String>,
    },
    /// A file that no mirror gives.
    #[error("`{name}` cannot be fetched from `{mirror}`: {reason}")]
    Fetch {
        /// The file.
        name: String,
        /// The last mirror that was asked.
        mirror: String,
        /// What came of it.
        reason: String,
    },
    /// A dataset that we cannot fetch.
    #[error("`{dataset}` has to be fetched by hand: {reason}")]
    ByHand {
        /// Its name.
        dataset: &'static str,
        /// Why.
        reason: &'static str,
        /// Where from, and where to.
        steps: String,
    },
    /// A dataset in which a check found something.
    #[error("{} wrong with `{path}`", things(*faults))]
    Faults {
        /// The dataset.
        path: PathBuf,
        /// How many things.
        faults: usize,
    },
    /// A read that the setting forbids.
    #[error("task {task} must not read `{image}`: {reason}")]
    Sealed {
        /// The task that asked.
        task: usize,
        /// The image it asked for.
        image: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
}

fn things(count: usize) -> String {
    if count == 1 { "one thing is".to_owned() } else { format!("{count} things are") }
}

fn difference(only_images: &[String], only_attributes: &[String]) -> String {
    let list = |names: &[String], what: &str| match names {
        [] => None,
        [name] => Some(format!("`{name}` {what}")),
        [name, rest @ ..] => Some(format!("`{name}` and {} more {what}", rest.len())),
    };
    let parts =
        [list(only_images, "has images but no attributes"), list(only_attributes, "has attributes but no images")];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

impl DataError {
    /// A file that cannot be opened or read.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { path, source } if source.kind() == io::ErrorKind::PermissionDenied => format!(
                "this user may not read it: `chmod u+rX {}` as its owner, or run as a user who may",
                path.display()
            ),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "is the path right? `prescient list` says what each dataset needs; a relative path is looked for here, \
                 then below `PRESCIENT_DATA`"
                    .into()
            }
            Self::Io { .. } => return None,
            Self::Malformed { hint, .. } => hint.clone(),
            Self::Image { .. } => "the file may be cut short or of another kind: put a good one in its place, and a run that has begun can be \
                               resumed; or take it away and start a new run"
                .into(),
            Self::Classes { .. } => {
                "names must agree to the letter: each class needs one row in every source of attributes, and each row a \
                 folder below `train/`"
                    .into()
            }
            Self::Fetch { .. } => {
                "what has come so far is kept: run it again to go on; `--from URL` asks a mirror of your own".into()
            }
            Self::ByHand { steps, .. } => steps.clone(),
            Self::Faults { .. } => "each one is named above, with what to do about it".into(),
            Self::Sealed { .. } => {
                "this is the rule of the setting, not a fault of the data; only an oracle may break it, by name".into()
            }
        })
    }
}

/// A recipe that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// A recipe file that cannot be opened.
    #[error("`{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A recipe that is no TOML, or has a key or value that is not known.
    #[error("`{path}`: {reason}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The parser's words, with line and column.
        reason: String,
    },
    /// A `--set` that cannot be read or does not fit.
    #[error("`--set {text}`: {reason}")]
    Override {
        /// As written.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A value that makes no sense.
    #[error("`{key}` is {found}; expected {expected}")]
    Value {
        /// The key, with its tables.
        key: String,
        /// What was found.
        found: String,
        /// What would do.
        expected: String,
    },
    /// A recipe of ours that does not exist.
    #[error("`{name}` is neither a file nor one of the built-in recipes")]
    Unknown {
        /// As written.
        name: String,
    },
}

impl RecipeError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { .. } | Self::Unknown { .. } => "`prescient list` names the recipes that come along".into(),
            Self::Syntax { .. } | Self::Value { .. } => {
                "`prescient list --keys` shows every key and its default".into()
            }
            Self::Override { .. } => {
                "write it as `--set train.epochs=3`; `prescient list --keys` shows every key and its default".into()
            }
        })
    }
}

/// Learning that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The data failed.
    #[error(transparent)]
    Data(#[from] DataError),
    /// No such device here.
    #[error("there is no CUDA device: {reason}")]
    NoCuda {
        /// Why not.
        reason: String,
    },
    /// A generator, and nothing to imagine from.
    #[error("the classes have no attributes, so nothing can be imagined of them")]
    NoAttributes,
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
    /// libtorch failed.
    #[error("libtorch failed: {0}")]
    Torch(String),
}

impl From<tch::TchError> for LearnError {
    fn from(error: tch::TchError) -> Self {
        Self::Torch(error.to_string())
    }
}

impl LearnError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Data(error) => return error.hint(),
            Self::NoCuda { .. } => {
                "use `--device cpu`, or put a CUDA build of libtorch 2.11.0 on the library path".into()
            }
            Self::NoAttributes => "give the dataset a table: `attributes = [\"attributes.csv\"]`; or leave out \
                                   `ghosts.generator`"
                .into(),
            Self::NotFinite { .. } | Self::Diverged { .. } => {
                "a smaller learning rate often helps: `--set train.lr=0.01`".into()
            }
            Self::Torch(_) => return None,
        })
    }
}

/// A run folder that cannot be written, read or gone on with.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file that cannot be read or written.
    #[error("`{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Something is there already.
    #[error("`{path}` exists already")]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// Not a run folder.
    #[error("`{path}` is not a run: expected `{missing}` in it, found none")]
    NotARun {
        /// The folder.
        path: PathBuf,
        /// The file that is not there.
        missing: &'static str,
    },
    /// A file of a run that is not as we wrote it.
    #[error("`{path}`{}: {reason}", line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// From 1, where the file has lines.
        line: Option<usize>,
        /// What is wrong with it.
        reason: String,
    },
    /// The recipe is not the one that the run began with.
    #[error("`{path}` is not the recipe that this run began with")]
    OtherRecipe {
        /// The recipe's file.
        path: PathBuf,
    },
    /// Another device than the run began on.
    #[error("this run began on `{expected}`, and would go on on `{found}`")]
    OtherDevice {
        /// As the run recorded it.
        expected: String,
        /// Now.
        found: String,
    },
    /// No model of that task is there, or none that looks ahead.
    #[error("there is nothing imagined after task {task} of this run")]
    NothingToInspect {
        /// The task asked for.
        task: usize,
        /// The last one that can be looked at.
        last: usize,
    },
    /// A base model.
    #[error("this run imagines nothing: its generator is `none` or `real`")]
    NoGhosts,
    /// The data changed since the run began.
    #[error("the data of this run has changed: expected the fingerprint {expected}, found {found}")]
    OtherData {
        /// As the run recorded it.
        expected: String,
        /// Now.
        found: String,
    },
}

impl RunError {
    /// A file that cannot be read or written.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { .. } => return None,
            Self::Exists { path } => {
                format!(
                    "choose another folder with `--out`, or go on with it: `prescient run --resume {}`",
                    path.display()
                )
            }
            Self::NotARun { .. } => "a run is a folder that `prescient run` or `prescient demo` wrote".into(),
            Self::Damaged { .. } => "the run cannot be trusted any more: run it again".into(),
            Self::OtherRecipe { .. } => {
                "a run goes on as it began: undo the change (the record's first line has the recipe), or start a new run".into()
            }
            Self::OtherDevice { expected, .. } => {
                format!("a CPU and a GPU round differently, so one record comes from one device: `--device {expected}`")
            }
            Self::NothingToInspect { last: 0, .. } => {
                "let a run finish a task that is not its last one first: after that nothing is still to come".into()
            }
            Self::NothingToInspect { last, .. } => format!("ask for one of the tasks 1 to {last}: `--task {last}`"),
            Self::NoGhosts => "run a recipe with ghosts, such as `prescient run demo-ghost`".into(),
            Self::OtherData { .. } => {
                "a run goes on with the very data it began with: bring it back, or start a new run".into()
            }
        })
    }
}
