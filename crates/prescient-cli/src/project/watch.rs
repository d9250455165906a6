//! `prescient learn --watch`: learns what arrives in a folder, and never half a file.
//!
//! A photo is taken once it has stayed as it is for a while: the same size and the same time of its last change in two looks.
//! One that cannot be read even so is tried again when it changes, and named once.

use super::learn::learn;
use crate::{interrupt, output};
use indicatif::ProgressBar;
use prescient::Project;
use prescient::error::{DataError, Error, ProjectError, Result};
use prescient::project::Lesson;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(1000);

/// A file as it was found.
type Stamp = (u64, Option<SystemTime>);

/// What was found of the files in the folder.
#[derive(Default)]
struct Inbox {
    /// As they were at the last look.
    before: HashMap<PathBuf, Stamp>,
    /// As they were when they were dealt with.
    done: HashMap<PathBuf, Stamp>,
}

fn stamp(path: &Path) -> Option<Stamp> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.len(), about.modified().ok()))
}

impl Inbox {
    /// The files that are new and have stayed as they were since the last look.
    fn settled(&mut self, paths: Vec<PathBuf>) -> HashMap<PathBuf, Stamp> {
        let now: HashMap<PathBuf, Stamp> =
            paths.into_iter().filter_map(|path| stamp(&path).map(|stamp| (path, stamp))).collect();
        let ready = |(path, stamp): &(&PathBuf, &Stamp)| {
            self.before.get(*path) == Some(stamp) && self.done.get(*path) != Some(stamp) && stamp.0 > 0
        };
        let settled = now.iter().filter(ready).map(|(path, stamp)| (path.clone(), *stamp)).collect();
        self.before = now;
        settled
    }
}

/// Learns what arrives in `folder` until somebody stops it.
pub(super) fn watch(project: &mut Project, folder: &Path, dressed: &dyn Fn(Lesson) -> Lesson) -> Result<()> {
    if !folder.is_dir() {
        return Err(DataError::Io {
            path: folder.to_owned(),
            source: std::io::Error::new(std::io::ErrorKind::NotADirectory, "expected a folder to watch"),
        }
        .into());
    }
    interrupt::watch();
    let bar = ProgressBar::new_spinner();
    let watching = format!("watching {}", folder.display());
    if bar.is_hidden() {
        output::tell(&watching);
    }
    bar.set_message(watching);
    let mut inbox = Inbox::default();
    while !interrupt::asked() {
        bar.tick();
        let lesson = match Lesson::from_folder(folder) {
            Ok(lesson) => Some(lesson),
            Err(Error::Data(DataError::NoPhotos { .. } | DataError::UnreadPhotos { .. })) => None,
            Err(error) => return Err(error),
        };
        if let Some(lesson) = lesson {
            let settled = inbox.settled(lesson.paths().map(Path::to_path_buf).collect());
            if !settled.is_empty() {
                let mut lesson = dressed(lesson.only(|path| settled.contains_key(path)));
                lesson.skip_damaged = true;
                // What has not arrived yet is nothing to warn of.
                lesson.empty.clear();
                match bar.suspend(|| learn(project, &lesson)) {
                    Ok(()) => {}
                    Err(Error::Project(ProjectError::Interrupted)) => break,
                    // Others are learned later; what is wrong with these is said once.
                    Err(Error::Project(error)) => {
                        bar.suspend(|| output::tell(&Error::from(error).message()));
                    }
                    Err(error) => return Err(error),
                }
                inbox.done.extend(settled);
            }
        }
        std::thread::sleep(PAUSE);
    }
    bar.finish_and_clear();
    output::tell(&format!(
        "stopped watching; `{}` is at version {}",
        project.path().display(),
        project.version().number
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_once_it_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.jpg");
        let mut inbox = Inbox::default();
        let mut look = || inbox.settled(vec![path.clone()]).len();
        assert_eq!(look(), 0, "it is not there");
        std::fs::write(&path, "half").expect("a file");
        assert_eq!(look(), 0, "it is new");
        std::fs::write(&path, "half and half").expect("a file");
        assert_eq!(look(), 0, "it has changed");
        assert_eq!(look(), 1);
        let done = stamp(&path).expect("a file");
        inbox.done.insert(path.clone(), done);
        assert_eq!(inbox.settled(vec![path.clone()]).len(), 0, "it is done");
    }
}
