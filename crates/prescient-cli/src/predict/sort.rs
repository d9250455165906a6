//! `--sort`: photos copied into folders by class. A copy appears as a whole, so that a folder may be watched.

use prescient::disk;
use prescient::error::{DataError, Result};
use prescient::project::UNSURE;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Copies photos into folders by class.
pub(super) struct Sorter {
    folder: PathBuf,
    /// How many went where.
    counts: BTreeMap<String, usize>,
}

impl Sorter {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).map_err(DataError::io(folder))?;
        Ok(Self { folder: folder.to_owned(), counts: BTreeMap::new() })
    }

    /// Copies one; `class` is none where nobody is sure.
    pub(super) fn copy(&mut self, photo: &Path, class: Option<&str>) -> Result<()> {
        let class = class.unwrap_or(UNSURE);
        let folder = self.folder.join(folder_name(class));
        fs::create_dir_all(&folder).map_err(DataError::io(&folder))?;
        let bytes = disk::read(photo, disk::IMAGE).map_err(DataError::io(photo))?;
        if let Some(place) = free(&folder, photo, &bytes) {
            let made = folder.join(format!(".{}.tmp", std::process::id()));
            fs::write(&made, &bytes).and_then(|()| fs::rename(&made, &place)).map_err(DataError::io(&place))?;
        }
        *self.counts.entry(class.to_owned()).or_default() += 1;
        Ok(())
    }

    /// What went where, in a line.
    pub(super) fn said(&self) -> String {
        let sorted: usize = self.counts.values().sum();
        let each: Vec<String> = self.counts.iter().map(|(class, count)| format!("{count} {class}")).collect();
        format!("copied {sorted} photos to {}: {}", self.folder.display(), each.join(", "))
    }
}

/// A name that can be a folder's and leads nowhere else.
fn folder_name(class: &str) -> String {
    let plain: String = class.chars().map(|c| if c == '/' || c == '\\' || c.is_control() { '_' } else { c }).collect();
    if plain.starts_with('.') { format!("_{plain}") } else { plain }
}

/// A name for the photo in `folder` that no other file has; none where the same photo is there already.
fn free(folder: &Path, photo: &Path, bytes: &[u8]) -> Option<PathBuf> {
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, ending) = (part(photo.file_stem()), part(photo.extension()));
    let name = |number: usize| match number {
        1 => format!("{stem}.{ending}"),
        number => format!("{stem}-{number}.{ending}"),
    };
    for place in (1..).map(|number| folder.join(name(number))) {
        match disk::read(&place, disk::IMAGE) {
            Ok(there) if there == bytes => return None,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(place),
            // Another file, or none that can be read.
            Ok(_) | Err(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photos_of_one_name_stay_apart_and_the_same_photo_is_there_once() {
        let at = tempfile::tempdir().expect("a folder");
        let photo = |folder: &str, text: &str| {
            let path = at.path().join(folder).join("1.jpg");
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, text).expect("a photo");
            path
        };
        let mut sorter = Sorter::new(&at.path().join("out")).expect("a folder");
        for (folder, text, class) in
            [("x", "one", Some("cat")), ("y", "two", Some("cat")), ("z", "one", Some("cat")), ("x", "one", None)]
        {
            sorter.copy(&photo(folder, text), class).expect("copied");
        }
        sorter.copy(&photo("w", "four"), Some("../up")).expect("copied");
        let read = |name: &str| fs::read_to_string(at.path().join("out").join(name)).expect("a copy");
        assert_eq!([read("cat/1.jpg"), read("cat/1-2.jpg"), read("not sure/1.jpg")], ["one", "two", "one"]);
        assert_eq!(read("_.._up/1.jpg"), "four");
        assert!(!at.path().join("out/cat/1-3.jpg").exists());
        assert!(sorter.said().ends_with("out: 1 ../up, 3 cat, 1 not sure"), "{}", sorter.said());
    }
}
