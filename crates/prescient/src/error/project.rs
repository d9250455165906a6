//! Projects that cannot be made, changed or compared.

use std::path::PathBuf;

/// A project that cannot be made, changed or compared.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// Something is there already.
    #[error("`{path}` exists already")]
    Exists {
        /// Where the project was to be.
        path: PathBuf,
    },
    /// Not a project.
    #[error("`{path}` is not a project: expected `{missing}` in it, found none")]
    NotAProject {
        /// The folder.
        path: PathBuf,
        /// What is not there.
        missing: &'static str,
    },
    /// A file of a project that is not as we wrote it.
    #[error("`{path}`: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An old version is to change.
    #[error("version {version} of `{path}` cannot change: version {last} came after it")]
    OldVersion {
        /// The project.
        path: PathBuf,
        /// The version asked for.
        version: usize,
        /// The last one.
        last: usize,
    },
    /// Another process is writing there, and was waited for.
    #[error("another process is writing `{path}`; waited {seconds} s for it")]
    Locked {
        /// The project.
        path: PathBuf,
        /// So long.
        seconds: u64,
    },
    /// A class that the project does not have.
    #[error("there is no class `{class}`{}", did_you_mean(near))]
    UnknownClass {
        /// The class asked for.
        class: String,
        /// Names that come close.
        near: Vec<String>,
    },
    /// Folders of classes that are not in the catalogue and look like classes that are.
    #[error("{}", misspelled(classes))]
    Misspelled {
        /// Each with the class that it looks like.
        classes: Vec<(String, String)>,
    },
    /// A name that is taken.
    #[error("there is a class `{class}` already")]
    ClassExists {
        /// The name.
        class: String,
    },
    /// A name that cannot be the name of a class.
    #[error("`{class}` cannot be the name of a class")]
    BadName {
        /// The name.
        class: String,
    },
    /// The only class is to be forgotten.
    #[error("`{class}` is the only class")]
    OnlyClass {
        /// Its name.
        class: String,
    },
    /// Photos lie where no class can be told.
    #[error("`{path}` has photos in no folder of a class, such as `{first}`")]
    NoClass {
        /// The folder.
        path: PathBuf,
        /// One of them.
        first: String,
    },
    /// Folders of classes lie one level deeper than they were looked for.
    #[error("`{path}` has no photos in the folders in it; found some deeper, as in `{deeper}`")]
    TooHigh {
        /// The folder.
        path: PathBuf,
        /// A folder with photos.
        deeper: PathBuf,
        /// What was meant, perhaps.
        meant: PathBuf,
    },
    /// Photos that cannot be read.
    #[error("{} of {of} photos cannot be read:\n{}", lines.len(), shown(lines))]
    DamagedPhotos {
        /// What is wrong with each.
        lines: Vec<String>,
        /// Of how many.
        of: usize,
    },
    /// The same photo in the folders of two classes.
    #[error("`{first}` and `{second}` are the same photo, in the folders of two classes")]
    TwoClasses {
        /// One of the files.
        first: String,
        /// The other.
        second: String,
    },
    /// Too little is known to plan by.
    #[error("`{path}` cannot say yet what photos would be worth")]
    NoPlan {
        /// The project.
        path: PathBuf,
    },
    /// Somebody wants the command to stop.
    #[error("stopped; the project is as it was")]
    Interrupted,
    /// A gate that is closed: classes answered worse than before.
    #[error("{} by more than {allowed} points: {}", if classes.len() == 1 { "one got worse" } else { "some got worse" }, classes.join(", "))]
    Dropped {
        /// As many points were allowed.
        allowed: f64,
        /// What dropped, and by how much.
        classes: Vec<String>,
    },
}

/// At most so many photos are named.
const MOST: usize = 20;

fn shown(lines: &[String]) -> String {
    let more = lines.len().saturating_sub(MOST);
    let mut text = lines[..lines.len().min(MOST)].join("\n");
    if more > 0 {
        text.push_str(&format!("\nand {more} more"));
    }
    text
}

fn did_you_mean(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [name] => format!("; did you mean `{name}`?"),
        names => format!("; did you mean one of `{}`?", names.join("`, `")),
    }
}

fn misspelled(classes: &[(String, String)]) -> String {
    let one = |(class, near): &(String, String)| format!("`{class}` is not in the catalogue; did you mean `{near}`?");
    classes.iter().map(one).collect::<Vec<_>>().join("\n")
}

impl ProjectError {
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Exists { .. } => "choose another name; `prescient status` shows a project that is there".into(),
            Self::NotAProject { .. } => {
                "`prescient new` makes a project: `prescient new shop --classes classes.csv`".into()
            }
            Self::Damaged { .. } => {
                "bring the file back from a copy of the project; what is read is checked, so nothing wrong was answered"
                    .into()
            }
            Self::OldVersion { path, version, .. } => {
                format!("make it the newest again first: `prescient rollback {} {version}`", path.display())
            }
            Self::Locked { .. } => "run it again once the other is done; `--wait 600` waits longer".into(),
            Self::UnknownClass { .. } => "`prescient status` lists the classes".into(),
            Self::Misspelled { .. } => {
                "rename the folder; or, if it is a class of its own, say so: `--add-classes`, or add its row with \
                 `--classes CSV`"
                    .into()
            }
            Self::ClassExists { .. } => {
                "to move photos from one class to another, learn them again from a folder with the other's name".into()
            }
            Self::BadName { .. } => "a name is one line of text that says something".into(),
            Self::OnlyClass { .. } => "a project needs a class: make a new one, or add classes first".into(),
            Self::NoClass { .. } => {
                "photos are learned from folders that are named as their classes: `PHOTOS/CLASS/*.jpg`".into()
            }
            Self::TooHigh { meant, .. } => {
                format!("photos are learned from `PHOTOS/CLASS/*.jpg`: did you mean `{}`?", meant.display())
            }
            Self::DamagedPhotos { .. } => {
                "put whole copies in their place, or leave them out: `--skip-damaged`; nothing was learned".into()
            }
            Self::TwoClasses { .. } => "take one of them away: a photo shows one class".into(),
            Self::NoPlan { .. } => {
                "it needs photos of at least two classes, two of one of them, and a table that says more than nothing"
                    .into()
            }
            Self::Interrupted => return None,
            Self::Dropped { .. } => "the version before is still there: `prescient rollback`".into(),
        })
    }
}
