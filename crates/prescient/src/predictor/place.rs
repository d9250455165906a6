//! Where a predictor lies: in the folder of a task, in a run after its last finished task, or in a version of a project.
//!
//! ```text
//! RUN/tasks/02/predictor.json
//! PROJECT/HEAD                      the number of the version that answers
//! PROJECT/versions/0003/predictor.json
//! ```

use super::file::ABOUT;
use crate::error::RunError;
use std::path::{Path, PathBuf};

/// The file that says which version of a project answers.
pub(crate) const HEAD: &str = "HEAD";
/// The folder of a project's versions.
pub(crate) const VERSIONS: &str = "versions";

/// The folder of a version.
pub(crate) fn version_folder(project: &Path, version: usize) -> PathBuf {
    project.join(VERSIONS).join(format!("{version:04}"))
}

/// The version whose folder this is, where it is one.
pub(super) fn version_of(folder: &Path) -> Option<usize> {
    let versions = folder.parent()?;
    let number = folder.file_name()?.to_str()?.parse().ok()?;
    (versions.file_name()? == VERSIONS && is_project(versions.parent()?)).then_some(number)
}

/// Whether `path` is a project.
pub(crate) fn is_project(path: &Path) -> bool {
    path.join(HEAD).is_file() && path.join(VERSIONS).is_dir()
}

/// The version that answers.
pub(crate) fn head(project: &Path) -> Result<usize, RunError> {
    let path = project.join(HEAD);
    let text = crate::disk::read_text(&path).map_err(RunError::io(&path))?;
    let number = text.trim().parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        let reason = format!("expected the number of a version, found `{}`", text.trim());
        RunError::Damaged { path, line: None, reason }
    })
}

/// The project and the version of a name such as `shop@3`; a path that is there is taken as it is.
pub(crate) fn with_version(path: &Path) -> (PathBuf, Option<usize>) {
    let split = || {
        let (name, version) = path.file_name()?.to_str()?.rsplit_once('@')?;
        let version = version.trim_start_matches('v').parse().ok()?;
        (!path.exists()).then(|| (path.with_file_name(name), Some(version)))
    };
    split().unwrap_or_else(|| (path.to_owned(), None))
}

/// The folder in which the predictor lies that `path` names: a run, the folder of one of its tasks, a project, or a version of it.
pub(super) fn find(path: &Path, task: Option<usize>) -> Result<PathBuf, RunError> {
    let (path, version) = with_version(path);
    if is_project(&path) {
        return match task {
            Some(_) => Err(RunError::VersionsNotTasks { path }),
            None => of_project(&path, version),
        };
    }
    if task.is_none() && path.join(ABOUT).is_file() {
        return Ok(path);
    }
    let folder = |task: usize| path.join("tasks").join(format!("{task:02}"));
    // Whatever it is: one that cannot be read is an error, and not the end of the run.
    let finished = (1..).take_while(|&task| folder(task).join(ABOUT).symlink_metadata().is_ok()).count();
    if finished == 0 {
        return Err(RunError::NotARun { path, missing: "tasks/01/predictor.json" });
    }
    match task.unwrap_or(finished) {
        task if (1..=finished).contains(&task) => Ok(folder(task)),
        task => Err(RunError::NoSuchTask { task, finished }),
    }
}

fn of_project(project: &Path, version: Option<usize>) -> Result<PathBuf, RunError> {
    let last = head(project)?;
    let version = version.unwrap_or(last);
    if !(1..=last).contains(&version) {
        return Err(RunError::NoSuchVersion { path: project.to_owned(), version, last });
    }
    let folder = version_folder(project, version);
    match folder.join(ABOUT).is_file() {
        true => Ok(folder),
        false => Err(RunError::NothingLearned { path: project.to_owned(), version }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_stands_behind_the_name_unless_the_path_is_there() {
        let split = |text: &str| with_version(Path::new(text));
        assert_eq!(split("my/shop@3"), (PathBuf::from("my/shop"), Some(3)));
        assert_eq!(split("my/shop"), (PathBuf::from("my/shop"), None));
        assert_eq!(split("my/shop@home"), (PathBuf::from("my/shop@home"), None));
        let folder = tempfile::tempdir().expect("a folder");
        let there = folder.path().join("shop@3");
        std::fs::create_dir(&there).expect("a folder");
        assert_eq!(with_version(&there), (there.clone(), None));
    }
}
