//! Run folders that cannot be used.

use crate::error::WeightsError;
use std::io;
use std::path::{Path, PathBuf};

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
    /// Pretrained weights are not there, or cannot be used.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// Something is there already.
    #[error("`{path}` exists already")]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A run was begun there, and its first task is half learned.
    #[error("a run into `{path}` was begun and not finished: `{unfinished}`")]
    Unfinished {
        /// Where it would be.
        path: PathBuf,
        /// Where it is.
        unfinished: PathBuf,
    },
    /// A run was begun there, and killed before anything of it was kept.
    #[error("a run into `{path}` was killed before its first epoch was finished: nothing of it is kept")]
    NothingKept {
        /// Where it would be.
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
    /// A file of a run that has another digest than the record says.
    #[error("`{path}` is not as the run wrote it: its digest is not the one in the record")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A key that cannot change once a run has begun.
    #[error("`--set {set}` cannot change a run that has begun")]
    Fixed {
        /// As it was written.
        set: String,
    },
    /// Another process writes there.
    #[error("another process is writing `{path}`")]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// An image that a run has read has other pixels now.
    #[error("{}", changed_photos(*count, first))]
    OtherPhotos {
        /// The first of them.
        first: String,
        /// How many.
        count: usize,
    },
    /// A part of the cache of features that is not as we wrote it.
    #[error("`{path}`, a part of the cache of features: {reason}")]
    DamagedCache {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Neither a variable nor a home folder says where features are kept.
    #[error("no place for features: neither `PRESCIENT_FEATURES` nor `XDG_CACHE_HOME` nor `HOME` is set")]
    NoFeatures,
    /// A page is to be written where a folder is.
    #[error("`{path}` is a folder; expected a file for the page")]
    PageIsAFolder {
        /// The folder.
        path: PathBuf,
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
    /// A task after which no class is to come, so that nothing is imagined.
    #[error("{}", match tasks {
        1 => "this run has one task: every class arrives in it, and there is none to imagine".to_owned(),
        _ => format!("after task {task}, the last of this run, every class has arrived: there is none to imagine"),
    })]
    NothingToInspect {
        /// The task asked for.
        task: usize,
        /// How many there are.
        tasks: usize,
    },
    /// A task that is not finished.
    #[error("task {task} of this run is not finished: {finished} are")]
    NoSuchTask {
        /// The task asked for.
        task: usize,
        /// How many are.
        finished: usize,
    },
    /// A version that a project does not have.
    #[error("`{path}` has no version {version}: it has 1 to {last}")]
    NoSuchVersion {
        /// The project.
        path: PathBuf,
        /// The version asked for.
        version: usize,
        /// The last one.
        last: usize,
    },
    /// A project that cannot answer yet.
    #[error("version {version} of `{path}` has not learned from a photo yet")]
    NothingLearned {
        /// The project.
        path: PathBuf,
        /// The version asked for.
        version: usize,
    },
    /// A task of a project.
    #[error("`{path}` is a project: it has versions, and no tasks")]
    VersionsNotTasks {
        /// The project.
        path: PathBuf,
    },
    /// A base model.
    #[error("this run imagines nothing: its generator is `none` or `real`")]
    NoGhosts,
    /// The closed form chose not to answer with ghosts.
    #[error("nothing is imagined after task {task}: the base model answers, for {reason}")]
    BaseModel {
        /// From 1.
        task: usize,
        /// Why.
        reason: String,
    },
    /// The pretrained weights changed since the run began.
    #[error("the pretrained weights of this run have changed: expected the SHA-256 {expected}, found {found}")]
    OtherWeights {
        /// As the run recorded it.
        expected: String,
        /// Now.
        found: String,
    },
    /// The data changed since the run began.
    #[error("the data of this run has changed: expected the fingerprint {expected}, found {found}")]
    OtherData {
        /// As the run recorded it.
        expected: String,
        /// Now.
        found: String,
    },
}

/// What is said of photos that have changed.
fn changed_photos(count: usize, first: &str) -> String {
    match count {
        1 => format!("1 photo of this run has changed since it began: `{first}`"),
        _ => format!("{count} photos of this run have changed since it began, `{first}` among them"),
    }
}

impl RunError {
    /// A file that cannot be read or written.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { path, source } if source.kind() == io::ErrorKind::StorageFull => match is_of_project(path) {
                true => "make room on the disk; the project is what it was before".to_owned(),
                false => "make room on the disk; a run goes on where it was with `prescient run --resume`".to_owned(),
            },
            Self::Io { .. } => return None,
            Self::Weights(error) => return error.hint(),
            Self::Exists { path } => {
                format!(
                    "choose another folder with `--out`, or go on with it: `prescient run --resume {}`",
                    path.display()
                )
            }
            Self::Unfinished { path, unfinished } => format!(
                "go on with it, `prescient run --resume {}`, or throw it away: `rm -r {}`",
                path.display(),
                unfinished.display()
            ),
            Self::NothingKept { .. } => "begin it again with the command that began it; what is left of it is taken away then".into(),
            Self::NotARun { path, .. } => format!(
                "{}a run is a folder that `prescient run` or `prescient demo` wrote, a project one that `prescient new` made",
                if path.exists() { "" } else { "nothing is there, is the path right? " }
            ),
            Self::Fixed { .. } => "where the data lies may change, `--set data.path=PATH`; for all else start a new run".into(),
            Self::Locked { .. } => "wait until it is done, or choose another folder with `--out`".into(),
            Self::OtherPhotos { .. } => {
                "a run goes on with the very photos it began with: bring them back, or start a new run".into()
            }
            Self::Changed { path } | Self::Damaged { path, .. } if is_of_project(path) => {
                "bring the file back from a copy of the project, or an earlier version: `prescient rollback PROJECT N`".into()
            }
            Self::Changed { .. } => "bring the file back from a copy, or run it again: nothing of the run can be trusted now".into(),
            Self::Damaged { .. } => "the run cannot be trusted any more: run it again".into(),
            Self::DamagedCache { path, .. } => {
                format!(
                    "delete it, and its features are computed again: `rm {}`, or `prescient cache clear` for all of it",
                    path.display()
                )
            }
            Self::NoFeatures => "set `PRESCIENT_FEATURES` to a folder for them".into(),
            Self::PageIsAFolder { .. } => {
                "runs come first, then the file: `prescient report RUN… --html report.html`".into()
            }
            Self::OtherRecipe { .. } => {
                "a run goes on as it began: undo the change (the record's first line has the recipe), or start a new run".into()
            }
            Self::OtherDevice { expected, .. } => {
                format!("a CPU and a GPU round differently, so one record comes from one device: `--device {expected}`")
            }
            Self::NothingToInspect { tasks: 1, .. } => {
                "a `scenario.split` of two parts or more, such as `4+2`, leaves classes that are still to come".into()
            }
            Self::NothingToInspect { tasks, .. } => {
                format!("ask for one of the tasks 1 to {last}: `--task {last}`", last = tasks - 1)
            }
            Self::NoSuchTask { finished: 0, .. } => "`prescient run --resume` goes on with a run that was stopped".into(),
            Self::NoSuchTask { finished, .. } => format!("ask for one of the tasks 1 to {finished}"),
            Self::NoSuchVersion { path, .. } => format!("`prescient status {}` lists its versions", path.display()),
            Self::NothingLearned { path, .. } => {
                format!("teach it first, from photos in a folder for each class: `prescient learn {} PHOTOS`", path.display())
            }
            Self::VersionsNotTasks { path } => format!("ask a version of it, such as `{}@1`", path.display()),
            Self::NoGhosts => "run a recipe with ghosts, such as `prescient run demo-ghost`".into(),
            Self::BaseModel { .. } => {
                "`prescient report RUN` shows what descriptions are worth after each task; `--task` asks for another"
                    .into()
            }
            Self::OtherWeights { .. } => {
                "a run goes on with the very weights it began with: bring them back, or start a new run".into()
            }
            Self::OtherData { .. } => {
                "a run goes on with the very data it began with: bring it back, or start a new run".into()
            }
        })
    }
}

/// Whether a file lies in a version of a project.
fn is_of_project(path: &Path) -> bool {
    path.ancestors().any(|above| above.file_name().is_some_and(|name| name == "versions"))
}
