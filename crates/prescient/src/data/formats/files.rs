//! The files of a dataset, in a folder, in a zip archive or in tar shards: listed and read alike.

use crate::data::Image;
use crate::data::formats::archive::Archive;
use crate::data::formats::shards::Shards;
use crate::disk;
use crate::error::DataError;
use std::fs;
use std::io::{BufReader, Cursor};
use std::path::{Path, PathBuf};

/// What counts as an image, in any case.
const EXTENSIONS: [&str; 6] = ["jpg", "jpeg", "png", "bmp", "gif", "webp"];

/// Photos of phones and cameras that are not decoded, in any case.
const UNREAD: [&str; 15] =
    ["heic", "heif", "avif", "tif", "tiff", "raw", "dng", "cr2", "cr3", "nef", "arw", "orf", "rw2", "raf", "jxl"];

/// A folder, a zip archive, or a folder of tar shards. Names have `/` between their parts; those of folders end in one.
pub struct Files {
    path: PathBuf,
    store: Store,
    /// The folder in which all names are meant: nothing, or a name that ends in `/`.
    top: String,
}

/// Where the bytes come from.
enum Store {
    Directory,
    Archive(Archive),
    Shards(Shards),
}

impl Files {
    /// Opens a folder, of tar shards or of other files, or a zip archive.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let kind = fs::metadata(path).map_err(DataError::io(path))?;
        let store = match kind.is_dir() {
            true => Shards::find(path)?.map_or(Store::Directory, Store::Shards),
            false => Store::Archive(Archive::open(path).map_err(neither_nor)?),
        };
        Ok(Self { path: path.to_owned(), store, top: String::new() })
    }

    /// The same, seen from the folder `folder`.
    pub fn inside(mut self, folder: &str) -> Self {
        self.top.push_str(folder);
        self
    }

    /// What lies in the folder `within`, in order, `within` in front; `""` is the top. What systems leave behind is left
    /// out.
    pub fn entries(&self, within: &str) -> Result<Vec<String>, DataError> {
        let mut names = self.all(within)?;
        names.retain(|name| !is_skipped(&name[within.len()..]));
        Ok(names)
    }

    /// The folders in the folder `within` that [`entries`](Self::entries) leaves out, but for those of systems.
    pub(crate) fn hidden(&self, within: &str) -> Vec<String> {
        let mut names = self.all(within).unwrap_or_default();
        names.retain(|name| name.ends_with('/') && is_skipped(&name[within.len()..]) && !name.ends_with("__MACOSX/"));
        names
    }

    fn all(&self, within: &str) -> Result<Vec<String>, DataError> {
        let mut names = match &self.store {
            Store::Directory => list(&self.path(within), within)?,
            Store::Archive(archive) => {
                let children = archive.children(&format!("{}{within}", self.top))?;
                children.into_iter().map(|name| name[self.top.len()..].to_owned()).collect()
            }
            Store::Shards(shards) => {
                let children = shards.children(&format!("{}{within}", self.top));
                children.into_iter().map(|name| name[self.top.len()..].to_owned()).collect()
            }
        };
        names.sort();
        Ok(names)
    }

    /// Whether there is a file or, if `name` ends in `/`, a folder of that name.
    pub fn has(&self, name: &str) -> bool {
        match (&self.store, name.ends_with('/')) {
            (Store::Directory, true) => self.path(name).is_dir(),
            (Store::Directory, false) => self.path(name).is_file(),
            (Store::Archive(archive), _) => archive.has(&format!("{}{name}", self.top)),
            (Store::Shards(shards), _) => shards.has(&format!("{}{name}", self.top)),
        }
    }

    /// The bytes of a file.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, DataError> {
        let path = self.path(name);
        match &self.store {
            Store::Directory => disk::read(&path, disk::IMAGE).map_err(DataError::io(&path)),
            Store::Archive(archive) => archive.read(&format!("{}{name}", self.top)),
            Store::Shards(shards) => shards.read(&format!("{}{name}", self.top), &path),
        }
    }

    /// Which shard a file lies in, from 0; files that are no shards' are all in one.
    pub(crate) fn shelf(&self, name: &str) -> u32 {
        match &self.store {
            Store::Directory | Store::Archive(_) => 0,
            Store::Shards(shards) => shards.shelf(&format!("{}{name}", self.top)),
        }
    }

    /// Width and height of an image, by its header alone; none where they cannot be told.
    pub(crate) fn dimensions(&self, name: &str) -> Option<(u32, u32)> {
        match &self.store {
            Store::Directory => Image::dimensions(BufReader::new(disk::open(&self.path(name)).ok()?.0)),
            Store::Archive(_) | Store::Shards(_) => Image::dimensions(Cursor::new(self.read(name).ok()?)),
        }
    }

    /// The text of a file.
    pub fn text(&self, name: &str) -> Result<String, DataError> {
        String::from_utf8(self.read(name)?).map_err(|error| {
            let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|&byte| byte == b'\n').count();
            DataError::Malformed {
                path: self.path(name),
                line: Some(line),
                expected: "UTF-8 text".to_owned(),
                found: "bytes that are not".to_owned(),
                hint: "the file may be damaged or in another encoding: fetch it again, or save it as UTF-8".to_owned(),
            }
        })
    }

    /// What to call a file in errors; inside an archive, the archive's path and the file's name in it.
    pub fn path(&self, name: &str) -> PathBuf {
        match format!("{}{name}", self.top) {
            here if here.is_empty() => self.path.clone(),
            below => self.path.join(below),
        }
    }
}

/// What lies in a folder, `within` in front.
fn list(folder: &Path, within: &str) -> Result<Vec<String>, DataError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(DataError::io(folder))? {
        let path = entry.map_err(DataError::io(folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| DataError::Malformed {
            path: path.clone(),
            line: None,
            expected: "a name in UTF-8".to_owned(),
            found: "another encoding".to_owned(),
            hint: "rename the file: names of classes and images are text".to_owned(),
        })?;
        // Links are followed: a folder of links is a common way to select images.
        names.push(format!("{within}{name}{}", if path.is_dir() { "/" } else { "" }));
    }
    Ok(names)
}

/// What systems leave behind: hidden files, and those of macOS and Windows.
fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || name == "__MACOSX/" || name.eq_ignore_ascii_case("thumbs.db")
}

/// Whether a file's name says that it is an image.
pub fn is_image(file: &str) -> bool {
    ends_in(file, &EXTENSIONS)
}

/// Whether a file's name says that it is a photo in a format that is not read.
pub fn is_unread_photo(file: &str) -> bool {
    ends_in(file, &UNREAD)
}

fn ends_in(file: &str, extensions: &[&str]) -> bool {
    let extension = file.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| extensions.contains(&extension.as_str()))
}

/// A file that is no zip archive is no folder either.
fn neither_nor(error: DataError) -> DataError {
    match error {
        DataError::Malformed { path, line, found, hint, .. } => {
            DataError::Malformed { path, line, expected: "a folder or a zip archive".to_owned(), found, hint }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const NAMES: [&str; 6] =
        ["pets/cat/1.jpg", "pets/cat/2.jpg", "pets/.hidden", "pets/notes.txt", "b.txt", "catalogue"];

    fn both() -> (tempfile::TempDir, [Files; 2]) {
        let folder = tempfile::tempdir().expect("a folder");
        let (tree, packed) = (folder.path().join("tree"), folder.path().join("a.zip"));
        let mut writer = zip::ZipWriter::new(fs::File::create(&packed).expect("a file"));
        for name in NAMES {
            fs::create_dir_all(tree.join(name).parent().expect("a parent")).expect("a folder");
            fs::write(tree.join(name), name).expect("a file");
            writer.start_file(name, zip::write::SimpleFileOptions::default()).expect("a name");
            writer.write_all(name.as_bytes()).expect("a file");
        }
        writer.finish().expect("an archive");
        let files = [tree, packed].map(|path| Files::open(&path).expect("files"));
        (folder, files)
    }

    #[test]
    fn folders_and_archives_list_and_read_alike() {
        let (_folder, both) = both();
        for files in both {
            assert_eq!(files.entries("").expect("the top"), ["b.txt", "catalogue", "pets/"]);
            assert_eq!(files.entries("pets/").expect("pets"), ["pets/cat/", "pets/notes.txt"]);
            assert_eq!(files.text("b.txt").expect("b"), "b.txt");
            assert!(files.has("b.txt") && files.has("pets/") && files.has("pets/cat/1.jpg"));
            assert!(!files.has("b") && !files.has("cat/") && !files.has("pets"));
            assert!(matches!(files.read("none"), Err(DataError::Io { .. })));
            assert!(matches!(files.entries("none/"), Err(DataError::Io { .. })));
            let inside = files.inside("pets/");
            assert_eq!(inside.entries("cat/").expect("cats"), ["cat/1.jpg", "cat/2.jpg"]);
            assert_eq!(inside.text("cat/2.jpg").expect("two"), "pets/cat/2.jpg");
        }
    }

    #[test]
    fn text_that_is_none_is_told_by_line() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a.txt"), b"one\ntwo\xff\n").expect("a file");
        let error = Files::open(folder.path()).expect("files").text("a.txt").expect_err("no text").to_string();
        assert!(error.ends_with("a.txt`, line 2: expected UTF-8 text, found bytes that are not"), "{error}");
    }
}
