//! Photos to learn from: a folder or an archive with a folder for each class, or photos in memory.

use super::classes::ClassTable;
use crate::class::spelled;
use crate::data::check::is_cut;
use crate::data::{Channels, Files, Image, is_image, is_unread_photo};
use crate::error::{DataError, ProjectError, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of photos that nobody was sure of, as `prescient predict --sort` makes it: no class is called so.
pub const UNSURE: &str = "not sure";

/// What to learn, and how.
///
/// ```no_run
/// use prescient::project::{Lesson, Project};
/// use prescient::learner::Silent;
///
/// let mut project = Project::open("shop")?;
/// let learned = project.learn(&Lesson::from_folder("photos/month_02")?, &mut Silent)?;
/// println!("{} photos are new", learned.new);
/// # Ok::<(), prescient::Error>(())
/// ```
#[derive(Clone)]
pub struct Lesson {
    /// What it is called in the history.
    pub(super) what: String,
    pub(super) photos: Vec<Photo>,
    /// A new catalogue.
    pub classes: Option<ClassTable>,
    /// Every so-manieth photo of a class is held out; 0: none. As the project has it unless given.
    pub hold_out: Option<u32>,
    /// Photos that cannot be read are left out, and told of.
    pub skip_damaged: bool,
    /// Classes that are not in the catalogue are added even where their names look like typing errors.
    pub add_classes: bool,
    /// Files among the photos that are none.
    pub others: Vec<PathBuf>,
    /// Photos in formats that are not read.
    pub unread: Vec<PathBuf>,
    /// Folders of classes with nothing in them.
    pub empty: Vec<PathBuf>,
}

/// A photo of a class.
#[derive(Clone)]
pub(super) struct Photo {
    /// As its folder is called.
    pub(super) class: String,
    /// As people find it.
    pub(super) path: PathBuf,
    source: Source,
}

#[derive(Clone)]
enum Source {
    File(Arc<Files>, String),
    Bytes(Arc<[u8]>),
}

impl Lesson {
    /// No photos yet, called `what` in the history.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            photos: Vec::new(),
            classes: None,
            hold_out: None,
            skip_damaged: false,
            add_classes: false,
            others: Vec::new(),
            unread: Vec::new(),
            empty: Vec::new(),
        }
    }

    /// The photos in `CLASS/*` of a folder or a zip archive, but for those in [`UNSURE`].
    pub fn from_folder(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut files = Files::open(path)?;
        let top = files.entries("")?;
        // An archive often has all of it in one folder.
        if let [only] = &top[..]
            && only.ends_with('/')
            && !files.entries(only)?.iter().any(|name| is_image(name))
            && files.entries(only)?.iter().any(|name| name.ends_with('/'))
        {
            files = files.inside(only);
        }
        let files = Arc::new(files);
        let mut lesson = Self::new(path.display().to_string());
        let mut loose = None;
        for entry in files.entries("")? {
            let Some(class) = entry.strip_suffix('/') else {
                if is_image(&entry) {
                    loose.get_or_insert(entry);
                } else {
                    lesson.leave(&entry, files.path(&entry));
                }
                continue;
            };
            if class == UNSURE {
                continue;
            }
            let names = files.entries(&entry)?;
            if names.is_empty() {
                lesson.empty.push(files.path(class));
            }
            for name in names {
                let path = files.path(&name);
                match is_image(&name) && !name.ends_with('/') {
                    true => lesson.photos.push(Photo {
                        class: spelled(class),
                        path,
                        source: Source::File(files.clone(), name),
                    }),
                    false => lesson.leave(&name, path),
                }
            }
        }
        match (loose, lesson.photos.is_empty()) {
            (Some(first), _) => Err(ProjectError::NoClass { path: path.to_owned(), first }.into()),
            (None, true) => Err(match deeper(&files)? {
                Some((deeper, meant)) => ProjectError::TooHigh { path: path.to_owned(), deeper, meant }.into(),
                None => DataError::no_photos(path, &lesson.unread).into(),
            }),
            (None, false) => Ok(lesson),
        }
    }

    /// Leaves a file out.
    fn leave(&mut self, name: &str, path: PathBuf) {
        if is_unread_photo(name) { self.unread.push(path) } else { self.others.push(path) }
    }

    /// With one more photo: the bytes of its file, of which `name` is shown in errors.
    #[must_use]
    pub fn with(mut self, class: &str, name: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        let source = Source::Bytes(bytes.into());
        self.photos.push(Photo { class: spelled(class), path: PathBuf::from(name), source });
        self
    }

    /// Only the photos whose paths `keep` says yes to.
    #[must_use]
    pub fn only(mut self, keep: impl Fn(&Path) -> bool) -> Self {
        self.photos.retain(|photo| keep(&photo.path));
        self
    }

    /// How many photos there are.
    pub fn len(&self) -> usize {
        self.photos.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.photos.is_empty()
    }

    /// Where its photos lie.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.photos.iter().map(|photo| photo.path.as_path())
    }

    pub(super) fn photos(&self) -> &[Photo] {
        &self.photos
    }

    pub(super) fn what(&self) -> &str {
        &self.what
    }

    /// The names of the folders, each once.
    pub(super) fn folders(&self) -> BTreeSet<&str> {
        self.photos.iter().map(|photo| photo.class.as_str()).collect()
    }
}

/// A folder with photos that lies one level deeper than those of classes, and the folder that it lies in.
fn deeper(files: &Files) -> Result<Option<(PathBuf, PathBuf)>, DataError> {
    let folders = |within: &str| {
        let entries = files.entries(within)?.into_iter();
        Ok::<Vec<String>, DataError>(entries.filter(|name| name.ends_with('/')).collect())
    };
    for above in folders("")? {
        for below in folders(&above)? {
            if files.entries(&below)?.iter().any(|name| is_image(name)) {
                let shown = |name: &str| files.path(name.trim_end_matches('/'));
                return Ok(Some((shown(&below), shown(&above))));
            }
        }
    }
    Ok(None)
}

impl Photo {
    /// Reads and decodes it. A JPEG that is cut short is no photo, though a decoder would fill it with grey.
    pub(super) fn read(&self, channels: Channels) -> Result<Image, DataError> {
        let owned;
        let bytes: &[u8] = match &self.source {
            Source::File(files, name) => {
                owned = files.read(name)?;
                &owned
            }
            Source::Bytes(bytes) => bytes,
        };
        if is_cut(bytes) {
            let reason = "it is cut short: its end is missing".to_owned();
            return Err(DataError::Image { path: self.path.clone(), reason });
        }
        Image::decode(bytes, channels, &self.path)
    }
}
