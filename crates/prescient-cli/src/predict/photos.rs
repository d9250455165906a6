//! The photos that are asked about: files, folders, or what comes on standard input.

use crate::output;
use prescient::Image;
use prescient::data::{is_image, is_unread_photo};
use prescient::error::{CONVERT, DataError, Result};
use prescient::predictor::{Crop, Cropper};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What comes on standard input is read to here.
const MOST_FROM_STDIN: u64 = 64 << 20;

/// A photo, not yet decoded.
#[derive(Clone, Debug)]
enum Photo {
    File(PathBuf),
    /// From standard input.
    Bytes(Vec<u8>),
}

/// Photos, in the order in which they were asked about; those of a folder by name.
#[derive(Debug)]
pub(super) struct Photos(Vec<Photo>);

impl Photos {
    /// The photos at `paths`.
    pub(super) fn find(paths: &[PathBuf]) -> Result<Self> {
        let mut photos = Vec::new();
        for path in paths {
            if path == Path::new("-") {
                photos.extend(from_stdin()?);
            } else if path.is_dir() {
                let before = photos.len();
                let mut unread = Vec::new();
                below(path, &mut BTreeSet::new(), &mut photos, &mut unread)?;
                if photos.len() == before {
                    return Err(DataError::no_photos(path, &unread).into());
                }
                if let Some(first) = unread.first() {
                    output::tell(&format!(
                        "warning: not answered: {} in other formats, such as `{}`; {CONVERT}",
                        unread.len(),
                        first.display()
                    ));
                }
            } else {
                // A file that is not there is told before a long run, not after it.
                std::fs::metadata(path).map_err(|error| match error.kind() {
                    std::io::ErrorKind::NotFound => DataError::NoSuchPhoto { path: path.clone() },
                    _ => DataError::io(path)(error),
                })?;
                photos.push(Photo::File(path.clone()));
            }
        }
        Ok(Self(photos))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// So many at a time.
    pub(super) fn chunks(&self, count: usize) -> impl Iterator<Item = Part<'_>> {
        self.0.chunks(count).map(Part)
    }
}

/// A photo as the predictor sees it.
pub(super) struct Asked {
    pub(super) name: String,
    /// The file, where there is one.
    pub(super) path: Option<PathBuf>,
    pub(super) crop: Result<Crop, DataError>,
}

/// Some of the photos.
pub(super) struct Part<'a>(&'a [Photo]);

impl Part<'_> {
    /// Each decoded and cropped as the predictor sees it: a decoded photo takes much memory.
    pub(super) fn read(&self, cropper: Cropper) -> Vec<Asked> {
        let channels = cropper.channels();
        let one = |photo: &Photo| {
            let (name, image) = match photo {
                Photo::File(path) => (path.display().to_string(), Image::read(path, channels)),
                Photo::Bytes(bytes) => ("-".to_owned(), Image::decode(bytes, channels, Path::new("standard input"))),
            };
            let crop = image.map(|image| cropper.crop(&image).expect("decoded as the predictor takes it"));
            let path = match photo {
                Photo::File(path) => Some(path.clone()),
                Photo::Bytes(_) => None,
            };
            Asked { name, path, crop }
        };
        self.0.par_iter().map(one).collect()
    }
}

/// One photo, or the paths of photos, one a line.
fn from_stdin() -> Result<Vec<Photo>> {
    let (name, mut bytes) = (Path::new("standard input"), Vec::new());
    let read =
        std::io::stdin().lock().take(MOST_FROM_STDIN + 1).read_to_end(&mut bytes).map_err(DataError::io(name))?;
    if read as u64 > MOST_FROM_STDIN {
        let too_much = format!("expected a photo or paths of at most {} MiB, found more", MOST_FROM_STDIN >> 20);
        return Err(DataError::io(name)(std::io::Error::new(std::io::ErrorKind::InvalidInput, too_much)).into());
    }
    // A photo is never text: its first bytes are no paths, and no path has a zero in it.
    match String::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => Ok(vec![Photo::Bytes(text.into_bytes())]),
        Ok(text) => {
            let paths: Vec<PathBuf> = text.lines().filter(|line| !line.trim().is_empty()).map(PathBuf::from).collect();
            match paths.is_empty() {
                true => Err(DataError::NoPhotos { path: name.to_owned() }.into()),
                false => Ok(paths.into_iter().map(Photo::File).collect()),
            }
        }
        Err(error) => Ok(vec![Photo::Bytes(error.into_bytes())]),
    }
}

/// Every photo below a folder, by name, and those in formats that are not read; each folder once, wherever links lead.
fn below(
    folder: &Path,
    been: &mut BTreeSet<PathBuf>,
    photos: &mut Vec<Photo>,
    unread: &mut Vec<PathBuf>,
) -> Result<()> {
    if !been.insert(folder.canonicalize().map_err(DataError::io(folder))?) {
        return Ok(());
    }
    let entries = std::fs::read_dir(folder).map_err(DataError::io(folder))?;
    let mut paths =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().map_err(DataError::io(folder))?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            below(&path, been, photos, unread)?;
        } else if path.file_name().is_some_and(|name| is_image(&name.to_string_lossy())) {
            photos.push(Photo::File(path));
        } else if path.file_name().is_some_and(|name| is_unread_photo(&name.to_string_lossy())) {
            unread.push(path);
        }
    }
    Ok(())
}
