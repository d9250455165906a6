//! Photos in tar shards, as WebDataset has them: `train-000000.tar`, `train-000001.tar`, …, `test-000000.tar`.
//!
//! A photo is `CLASS/NAME.jpg` in a shard, or `KEY.jpg` beside `KEY.cls` with the name of its class, or with the number of its
//! line, from 0, in a file `classes.txt` beside the shards. Shards are read where a photo lies and never unpacked; seen as a folder they are
//! `train/CLASS/SHARD-NAME.jpg`.

use super::tree;
use crate::disk;
use crate::error::DataError;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const HINT: &str = "shards are tar files without compression, `train-000000.tar` and so on; each photo is `CLASS/NAME.jpg`, or \
                    `KEY.jpg` beside `KEY.cls`";

/// The open shards of a dataset.
pub(crate) struct Shards {
    files: Vec<(PathBuf, File)>,
    names: BTreeMap<String, Place>,
}

/// Where a photo lies.
#[derive(Clone, Copy)]
struct Place {
    shard: u32,
    at: u64,
    bytes: u64,
}

/// What one shard has: the photos by their names in it, and the classes of those that say theirs in a file.
#[derive(Default)]
struct Listing {
    photos: Vec<(String, Place)>,
    classes: BTreeMap<String, String>,
}

impl Shards {
    /// The shards in a folder; none where there are no tar files in it.
    pub(crate) fn find(folder: &Path) -> Result<Option<Self>, DataError> {
        let mut paths = Vec::new();
        for below in ["", "train", "test", "val"].map(|below| folder.join(below)).iter().filter(|path| path.is_dir()) {
            for entry in fs::read_dir(below).map_err(DataError::io(below))? {
                let path = entry.map_err(DataError::io(below))?.path();
                if path.extension().is_some_and(|ending| ending == "tar") && path.is_file() {
                    paths.push(path);
                }
            }
        }
        paths.sort();
        if paths.is_empty() {
            return Ok(None);
        }
        whole(&paths)?;
        let listed = folder.join("classes.txt");
        let classes: Vec<String> = match listed.is_file() {
            true => disk::read_text(&listed).map_err(DataError::io(&listed))?,
            false => String::new(),
        }
        .lines()
        .map(|line| line.trim().to_owned())
        .collect();
        let (mut files, mut names) = (Vec::new(), BTreeMap::new());
        for path in paths {
            let (file, _) = disk::open(&path).map_err(DataError::io(&path))?;
            let Listing { photos, classes: told } = list(&path, &file, files.len() as u32)?;
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let side = side(folder, &path);
            for (name, place) in photos {
                let (class, file_name) = class_of(&name, &told, &classes).ok_or_else(|| {
                    malformed(&path.join(&name), "a folder of its class, or a file `.cls` beside it", "neither")
                })?;
                names.insert(format!("{side}{class}/{stem}-{file_name}"), place);
            }
            files.push((path, file));
        }
        Ok(Some(Self { files, names }))
    }

    /// What lies in the folder `within`, whole names; folders end in `/`.
    pub(crate) fn children(&self, within: &str) -> Vec<&str> {
        tree::children(&self.names, within).into_iter().collect()
    }

    /// Whether there is a photo or, if `name` ends in `/`, a folder of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        tree::has(&self.names, name)
    }

    /// The bytes of a photo.
    pub(crate) fn read(&self, name: &str, path: &Path) -> Result<Vec<u8>, DataError> {
        let place = self
            .names
            .get(name)
            .ok_or_else(|| DataError::Io { path: path.to_owned(), source: std::io::ErrorKind::NotFound.into() })?;
        let (shard, file) = &self.files[place.shard as usize];
        if place.bytes > disk::IMAGE {
            return Err(malformed(path, &format!("a photo of at most {} MiB", disk::IMAGE >> 20), "a larger one"));
        }
        let mut bytes = vec![0; place.bytes as usize];
        file.read_exact_at(&mut bytes, place.at).map_err(DataError::io(shard))?;
        Ok(bytes)
    }

    /// Which shard a photo lies in, from 0.
    pub(crate) fn shelf(&self, name: &str) -> u32 {
        self.names.get(name).map_or(0, |place| place.shard)
    }
}

/// Reads what is in a shard, but no photo of it.
fn list(path: &Path, file: &File, shard: u32) -> Result<Listing, DataError> {
    let damaged = |error: std::io::Error| malformed(path, "a tar file", &format!("one that cannot be read: {error}"));
    let length = file.metadata().map_err(DataError::io(path))?.len();
    let mut archive = tar::Archive::new(file);
    let mut listing = Listing::default();
    for entry in archive.entries_with_seek().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
        let (at, bytes) = (entry.raw_file_position(), entry.size());
        if at.checked_add(bytes).is_none_or(|end| end > length) {
            return Err(malformed(&path.join(&name), &format!("{bytes} bytes"), "the end of the shard"));
        }
        if super::is_image(&name) {
            listing.photos.push((name, Place { shard, at, bytes }));
        } else if let Some(key) = name.strip_suffix(".cls") {
            let mut text = String::new();
            entry.by_ref().take(4096).read_to_string(&mut text).map_err(damaged)?;
            listing.classes.insert(key.to_owned(), text.trim().to_owned());
        }
    }
    Ok(listing)
}

/// The class of a photo, and its name without folders.
fn class_of(name: &str, told: &BTreeMap<String, String>, classes: &[String]) -> Option<(String, String)> {
    let key = name.rsplit_once('.').map_or(name, |(key, _)| key);
    let (folders, file_name) = name.rsplit_once('/').unwrap_or(("", name));
    let class = match (told.get(key), folders.rsplit('/').next()) {
        (Some(told), _) => match told.parse::<usize>() {
            Ok(number) if !classes.is_empty() => classes.get(number)?.clone(),
            _ => told.clone(),
        },
        (None, Some(folder)) if !folder.is_empty() => folder.to_owned(),
        _ => return None,
    };
    let plain = !class.is_empty() && !class.contains('/') && class != "." && class != "..";
    plain.then(|| (class, file_name.to_owned()))
}

/// `train/` or `test/`, by the folder or the name of a shard; nothing where it says neither.
fn side(folder: &Path, path: &Path) -> &'static str {
    let below = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().to_lowercase();
    match below {
        name if name.starts_with("train") => "train/",
        name if name.starts_with("test") || name.starts_with("val") => "test/",
        _ => "",
    }
}

/// Shards are numbered without gaps: one that is missing is told before anything is learned.
fn whole(paths: &[PathBuf]) -> Result<(), DataError> {
    let mut numbered: BTreeMap<(PathBuf, usize), Vec<u64>> = BTreeMap::new();
    for path in paths {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let digits = stem.len() - stem.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        if let Ok(number) = stem[stem.len() - digits..].parse() {
            let name = path.with_file_name(&stem[..stem.len() - digits]);
            numbered.entry((name, digits)).or_default().push(number);
        }
    }
    for ((name, digits), numbers) in numbered {
        let last = numbers.iter().max().copied().unwrap_or(0);
        // They begin at 0, or at 1.
        let first = u64::from(!numbers.contains(&0) && numbers.contains(&1));
        if let Some(missing) = (first..=last).find(|number| !numbers.contains(number)) {
            let shard = |number: u64| format!("{}{number:0digits$}.tar", name.display());
            let expected = format!("a shard, for there is `{}`", shard(last));
            return Err(malformed(Path::new(&shard(missing)), &expected, "none"));
        }
    }
    Ok(())
}

fn malformed(path: &Path, expected: &str, found: &str) -> DataError {
    let (path, hint) = (path.to_owned(), HINT.to_owned());
    DataError::Malformed { path, line: None, expected: expected.to_owned(), found: found.to_owned(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(path: &Path, files: &[(&str, &str)]) {
        let mut builder = tar::Builder::new(File::create(path).expect("a file"));
        for (name, text) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append_data(&mut header, name, text.as_bytes()).expect("an entry");
        }
        builder.finish().expect("a shard");
    }

    #[test]
    fn shards_look_like_folders() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        assert!(Shards::find(folder.path()).expect("no shard").is_none());
        shard(&at("train-000.tar"), &[("cat/1.jpg", "one"), ("cat/2.jpg", "two"), ("notes.txt", "no photo")]);
        shard(
            &at("train-001.tar"),
            &[("0007.jpg", "seven"), ("0007.cls", "1\n"), ("0008.jpg", "8"), ("0008.cls", "elk")],
        );
        shard(&at("test-000.tar"), &[("./cat/1.jpg", "another")]);
        fs::write(at("classes.txt"), "cat\ndog\n").expect("names");
        let shards = Shards::find(folder.path()).expect("shards").expect("some");
        assert_eq!(shards.children(""), ["test/", "train/"]);
        assert_eq!(shards.children("train/"), ["train/cat/", "train/dog/", "train/elk/"]);
        assert_eq!(shards.children("train/cat/"), ["train/cat/train-000-1.jpg", "train/cat/train-000-2.jpg"]);
        let read = |name: &str| String::from_utf8(shards.read(name, Path::new(name)).expect("there")).expect("text");
        assert_eq!(read("train/cat/train-000-2.jpg"), "two");
        assert_eq!(read("train/dog/train-001-0007.jpg"), "seven");
        assert_eq!(read("test/cat/test-000-1.jpg"), "another");
        assert_eq!(shards.shelf("train/cat/train-000-1.jpg"), 1);
        assert_eq!(shards.shelf("train/dog/train-001-0007.jpg"), 2);
    }

    #[test]
    fn a_missing_shard_a_cut_one_and_a_photo_without_class_are_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let says = || Shards::find(folder.path()).err().expect("a fault").to_string();
        for number in ["000", "001", "003"] {
            shard(&at(&format!("train-{number}.tar")), &[("cat/1.jpg", "one")]);
        }
        let expected = format!("expected a shard, for there is `{}`, found none", at("train-003.tar").display());
        assert!(says().contains("train-002.tar`") && says().ends_with(&expected), "{}", says());
        shard(&at("train-002.tar"), &[("1.jpg", "one")]);
        assert!(says().contains("train-002.tar/1.jpg`: expected a folder of its class"), "{}", says());
        let whole = fs::read(at("train-001.tar")).expect("a shard");
        fs::write(at("train-002.tar"), &whole[..514]).expect("cut");
        assert!(says().contains("train-002.tar"), "{}", says());
    }
}
