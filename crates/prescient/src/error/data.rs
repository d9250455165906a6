//! Data that cannot be read, or must not be.

use crate::error::WeightsError;
use std::io;
use std::path::{Path, PathBuf};

/// What to do about photos in formats that are not read.
pub const CONVERT: &str =
    "HEIC, HEIF, AVIF, TIFF and the RAW formats of cameras are not read: convert the photos to JPEG";

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
    /// Pretrained weights are not there, or cannot be used.
    #[error(transparent)]
    Weights(#[from] WeightsError),
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
        /// How many of them the lines mend that were asked for instead of their names.
        mended: Option<usize>,
    },
    /// Photos that a run would stumble over, or that would spoil its numbers.
    #[error("{}\n  {}", photos(*count), lines.join("\n  "))]
    BadPhotos {
        /// How many.
        count: usize,
        /// What is wrong, for the first of them.
        lines: Vec<String>,
        /// What to write into the recipe to leave them out, where that can be done.
        exclude: Option<String>,
    },
    /// A dataset of features where images are needed.
    #[error("expected a dataset of images, found rows of features")]
    NoImages,
    /// Nothing to answer for.
    #[error("`{path}` has no photos")]
    NoPhotos {
        /// The folder, or standard input.
        path: PathBuf,
    },
    /// Photos, and none in a format that is read.
    #[error("`{path}` has no photos that can be read: {count} in other formats, such as `{first}`")]
    UnreadPhotos {
        /// The folder.
        path: PathBuf,
        /// How many.
        count: usize,
        /// One of them.
        first: PathBuf,
    },
    /// A photo that is not there.
    #[error("`{path}`: no such photo or folder")]
    NoSuchPhoto {
        /// As it was written.
        path: PathBuf,
    },
    /// Photos that could not be answered for.
    #[error("{count} of {of} photos could not be read")]
    NotAnswered {
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
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

fn photos(count: usize) -> String {
    match count {
        1 => "one photo cannot be learned from or tested on as it is".to_owned(),
        _ => format!("{count} photos cannot be learned from or tested on as they are"),
    }
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

    /// A folder without a photo that is read, but with those in `unread`.
    pub fn no_photos(path: &Path, unread: &[PathBuf]) -> Self {
        let (path, count) = (path.to_owned(), unread.len());
        match unread.first().cloned() {
            Some(first) => Self::UnreadPhotos { path, count, first },
            None => Self::NoPhotos { path },
        }
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
            Self::Weights(error) => return error.hint(),
            Self::Image { .. } => "the file may be cut short or of another kind: put a good one in its place, and a run that has begun can be \
                               resumed; or take it away and start a new run"
                .into(),
            Self::Classes { .. } => {
                "names must agree to the letter: each class with images needs one row in every source of attributes; a row \
                 without images is a class that is guessed and never tested"
                    .into()
            }
            Self::Fetch { .. } => {
                "what has come so far is kept: run it again to go on; `--from URL` asks a mirror of your own".into()
            }
            Self::ByHand { steps, .. } => steps.clone(),
            Self::Faults { mended: None, .. } => "each one is named above, with what to do about it".into(),
            Self::Faults { mended: Some(mended), faults, .. } if mended == faults => {
                "the lines above go into `[data]` of the recipe".into()
            }
            Self::Faults { mended: Some(mended), .. } => format!(
                "the lines above mend {mended} of them, in `[data]` of the recipe; without `--fix` each one is named, with what to \
                 do about it"
            ),
            Self::BadPhotos { exclude: Some(exclude), .. } => format!(
                "mend them, or leave them out: into `[data]` of the recipe goes\n\n{exclude}\n`--no-check` runs without this check"
            ),
            Self::BadPhotos { exclude: None, .. } => {
                "put whole copies in their place; `--no-check` runs without this check".into()
            }
            Self::NoImages => "features lie in memory as they are: they are neither packed nor shown".into(),
            Self::NoPhotos { .. } => "photos are files that end in .jpg, .jpeg, .png, .bmp, .gif or .webp".into(),
            Self::UnreadPhotos { .. } => CONVERT.into(),
            Self::NoSuchPhoto { .. } => "is the path right? A relative one is looked for here".into(),
            Self::NotAnswered { .. } => "each one is named above; all others were answered".into(),
            Self::Sealed { .. } => {
                "this is the rule of the setting, not a fault of the data; only an oracle may break it, by name".into()
            }
        })
    }
}
