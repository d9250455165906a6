//! A model that lives in a folder: it is taught from photos as they arrive, answers, and keeps every version that it was.
//!
//! ```text
//! shop/project.toml             what was chosen when it was made, for people to read
//! shop/HEAD                     the number of the version that answers
//! shop/versions/0003/           a version, complete in itself; what is equal in two versions is one file with two names
//!      version.json             where it comes from, what it knows of each class, how good it is, digests of its files
//!      classes.csv              the catalogue
//!      features/*.features      of each class: its photos by digest, and their features; those held out apart
//!      weights.safetensors, predictor.json, predictor.safetensors        what answers
//! ```
//!
//! The classifier is a function of what is kept of photos and of the catalogue. So learning in any order, learning a photo twice,
//! forgetting, renaming and going back to an earlier version are exact. A version appears as a whole or not at all. Who writes
//! holds a lock; who reads needs none.
//!
//! ```
//! use prescient::learner::Silent;
//! use prescient::project::{ClassTable, Lesson, Project, Settings};
//! # use prescient::extractor::{ExtractorKind, SmallCnn};
//! # use prescient::data::{Dataset, Subset, Synthetic, SyntheticSettings};
//! # let folder = tempfile::tempdir().expect("a temporary folder");
//! # let (shop, photos) = (folder.path().join("shop"), folder.path().join("photos"));
//! # let drawn = Synthetic::new(&SyntheticSettings { train: 4, test: 1 });
//! # for (number, sample) in drawn.samples(Subset::Train).iter().enumerate().filter(|(_, s)| s.class.index() < 2) {
//! #     let class = photos.join(["circle", "square"][sample.class.index()]);
//! #     std::fs::create_dir_all(&class).expect("a folder");
//! #     drawn.image(sample)?.write_png(&class.join(format!("{number}.png")))?;
//! # }
//! # let settings = Settings { size: 32, ..Settings::new(ExtractorKind::SmallCnn(SmallCnn::default())) };
//! # /*
//! let (shop, photos, settings) = ("shop", "photos/month_01", Settings::default());
//! # */
//!
//! let classes = ClassTable::parse(b"class,corners\ncircle,0\nsquare,4\ntriangle,3\n", "classes.csv".as_ref())?;
//! let mut project = Project::create(&shop, &classes, settings, tch::Device::Cpu)?;
//! let learned = project.learn(&Lesson::from_folder(&photos)?, &mut Silent)?;
//! assert_eq!((learned.version, learned.new), (Some(2), 8));
//!
//! let predictor = Project::open(&shop)?.predictor()?;
//! assert_eq!(predictor.seen().len(), 2);
//! # Ok::<(), prescient::Error>(())
//! ```

mod album;
mod answer;
mod change;
mod classes;
mod diff;
mod draft;
mod eye;
mod held_out;
mod learn;
mod lesson;
mod plan;
mod settings;
mod status;
mod version;

pub use classes::ClassTable;
pub use diff::{ClassDifference, Difference, diff};
pub use held_out::{Cut, HeldOut, Tally};
pub use learn::Learned;
pub use lesson::{Lesson, UNSURE};
pub use plan::{Plan, Planned};
pub use settings::{HOLD_OUT, Settings};
pub use status::{ClassStatus, Disk, Made, Status};
pub use version::{Arrived, KnownClass, Version};

use crate::disk::{self, Lock};
use crate::error::{ProjectError, Result, RunError};
use crate::learner::{Event, Observer};
use crate::predictor::place::{HEAD, head, is_project, version_folder, with_version};
use crate::predictor::{Predictor, WEIGHTS};
use album::Album;
use answer::Answerer;
use draft::{Draft, Scratch};
use eye::Eye;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tch::Device;

/// The catalogue's file.
const CLASSES: &str = "classes.csv";
/// What a predictor is written to, beside the weights.
const ANSWERS: [&str; 2] = ["predictor.json", "predictor.safetensors"];
/// Another process that writes is waited for so long, unless somebody says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A project, as one of its versions has it.
pub struct Project {
    path: PathBuf,
    settings: Settings,
    version: Version,
    /// Whether a version was asked for by its number.
    pinned: bool,
    device: Device,
    patience: Duration,
    /// The extractor, once it was needed.
    eye: Option<Eye>,
}

/// A change in the making: nobody else writes, and this is what will be.
struct Step {
    lock: Lock,
    table: ClassTable,
    album: Album,
}

impl Project {
    /// Makes a project at `path` that knows the classes of a catalogue and no photo yet.
    pub fn create(path: impl AsRef<Path>, classes: &ClassTable, settings: Settings, device: Device) -> Result<Self> {
        let path = path.as_ref();
        let taken = || ProjectError::Exists { path: path.to_owned() };
        let is_free = || match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(_) => !path.exists(),
        };
        if !is_free() {
            return Err(taken().into());
        }
        // What is missing or wrong is told before anything is written.
        settings.information(classes)?;
        let eye = Eye::pretrained(&settings, device)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let made = Scratch::new(path.with_file_name(format!(".{name}.tmp")))?;
        let lock = draft::lock(made.path(), Duration::ZERO)?;
        made.clear()?;
        let file = made.path().join(settings::FILE);
        let text = settings.to_toml();
        fs::write(&file, &text).map_err(RunError::io(&file))?;
        let mut draft = Draft::first(made.path(), lock)?;
        eye.save(draft.folder())?;
        draft.wrote(WEIGHTS)?;
        draft.put(CLASSES, &classes.to_csv())?;
        let known = Album::new(eye.network().width())
            .write(&mut draft, classes.names().map(|name| (name, classes.describes(name))))?;
        let said = format!("new: {} classes, {}", known.len(), classes.kind());
        let version = draft.commit(Version::new(said, disk::digest(text.as_bytes()), known))?;
        disk::sync_tree(made.path()).map_err(RunError::io(made.path()))?;
        if !is_free() {
            return Err(taken().into());
        }
        fs::rename(made.path(), path).map_err(RunError::io(path))?;
        disk::sync_folder(path.parent().unwrap_or(Path::new("."))).map_err(RunError::io(path))?;
        Ok(Self { path: path.to_owned(), settings, version, pinned: false, device, patience: PATIENCE, eye: Some(eye) })
    }

    /// The project at `path` on the CPU; `shop@3` is its third version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_on(path.as_ref(), Device::Cpu)
    }

    /// The same on `device`.
    pub fn open_on(path: &Path, device: Device) -> Result<Self> {
        let (path, number) = with_version(path);
        if !is_project(&path) {
            return Err(ProjectError::NotAProject { path, missing: HEAD }.into());
        }
        let settings = Settings::read(&path)?;
        let version = Self::read(&path, number)?;
        let pinned = number.is_some();
        let project = Self { path, settings, version, pinned, device, patience: PATIENCE, eye: None };
        project.check()?;
        Ok(project)
    }

    /// Waits so long for another process that writes.
    #[must_use]
    pub fn waiting(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was chosen when it was made.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The version that this is.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The number of the version that answers on disk: another process may have made one since this was opened.
    pub fn latest(&self) -> Result<usize> {
        Ok(head(&self.path)?)
    }

    /// Every version, from the first to the one that answers.
    pub fn versions(&self) -> Result<Vec<Version>> {
        (1..=self.latest()?).map(|number| Self::read(&self.path, Some(number))).collect()
    }

    /// The folder of the version that this is.
    pub fn folder(&self) -> PathBuf {
        version_folder(&self.path, self.version.number)
    }

    /// The catalogue.
    pub fn classes(&self) -> Result<ClassTable> {
        let bytes = self.version.file(&self.folder(), CLASSES)?;
        Ok(ClassTable::parse(&bytes, &self.folder().join(CLASSES))?)
    }

    /// What answers.
    pub fn predictor(&self) -> Result<Predictor> {
        if self.version.worth.is_none() {
            let (path, version) = (self.path.clone(), self.version.number);
            return Err(RunError::NothingLearned { path, version }.into());
        }
        Ok(Predictor::load_on(&self.folder(), None, self.device)?)
    }

    /// What is kept of its photos.
    fn album(&self) -> Result<Album> {
        Album::read(&self.version, &self.folder(), None)
    }

    /// The version with this number, else the one that answers.
    fn read(path: &Path, number: Option<usize>) -> Result<Version> {
        let last = head(path)?;
        let number = number.unwrap_or(last);
        if !(1..=last).contains(&number) {
            return Err(RunError::NoSuchVersion { path: path.to_owned(), version: number, last }.into());
        }
        Ok(Version::read(&version_folder(path, number))?)
    }

    /// Whether the settings are those that the version was made with.
    fn check(&self) -> Result<()> {
        let path = self.path.join(settings::FILE);
        let bytes = disk::read(&path, disk::RUN).map_err(RunError::io(&path))?;
        match disk::digest(&bytes) == self.version.settings {
            true => Ok(()),
            false => {
                let reason = format!("it has changed since version {} was made", self.version.number);
                Err(ProjectError::Damaged { path, reason }.into())
            }
        }
    }

    /// Begins a change of the newest version.
    fn step(&mut self) -> Result<Step> {
        let lock = draft::lock(&self.path, self.patience)?;
        let last = head(&self.path)?;
        if self.pinned && self.version.number != last {
            let (path, version) = (self.path.clone(), self.version.number);
            return Err(ProjectError::OldVersion { path, version, last }.into());
        }
        self.version = Self::read(&self.path, Some(last))?;
        self.check()?;
        let folder = self.folder();
        if self.eye.is_none() {
            self.eye = Some(Eye::read(&self.settings, &self.version, &folder, self.device)?);
        }
        let width = self.eye.as_ref().expect("just read").network().width();
        let album = Album::read(&self.version, &folder, Some(width))?;
        Ok(Step { lock, table: self.classes()?, album })
    }

    /// Makes a version of a change.
    fn commit(
        &mut self,
        step: Step,
        said: &str,
        arrived: Option<Arrived>,
        observer: &mut dyn Observer,
    ) -> Result<&Version> {
        let Step { lock, table, album } = step;
        observer.on_event(&Event::StageStarted { stage: "fit", steps: 1 });
        let mut draft = Draft::after(&self.path, &self.version, lock)?;
        draft.keep(WEIGHTS)?;
        draft.put(CLASSES, &table.to_csv())?;
        let known = album.write(&mut draft, table.names().map(|name| (name, table.describes(name))))?;
        let mut version = Version::new(said.to_owned(), self.version.settings.clone(), known);
        version.arrived = arrived;
        let eye = self.eye.as_ref().expect("a step has it");
        if let Some(answerer) = Answerer::fit(&album, &table, (eye, &self.settings), draft.number)? {
            answerer.predictor.save(draft.folder())?;
            ANSWERS.iter().try_for_each(|name| draft.wrote(name))?;
            version.held_out = answerer.held_out;
            version.tested = answerer.tested;
            version.worth = Some(answerer.worth);
        }
        observer.on_event(&Event::Step);
        if observer.stops() {
            return Err(ProjectError::Interrupted.into());
        }
        self.version = draft.commit(version)?;
        Ok(&self.version)
    }
}

#[cfg(test)]
mod tests;
