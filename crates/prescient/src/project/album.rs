//! What a version keeps of its photos: for each class their features, in order of arrival. No photo is kept; a photo is known by
//! the digest of its pixels.
//!
//! ```text
//! learned     the model that answers learns from them, and so does its twin
//! held out    the model that answers learns from them; its twin does not, and is measured by them
//! tested      neither learns from them
//! ```

use super::draft::Draft;
use super::version::{KnownClass, Version};
use crate::error::{LearnError, ProjectError, Result};
use crate::extractor::feature_file::{self, Row};
use crate::learner::closed_form::Sums;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use tch::Tensor;

/// What is kept of one class.
#[derive(Clone, Debug, Default)]
struct Kept {
    learned: Vec<Row>,
    held_out: Vec<Row>,
    tested: Vec<Row>,
}

impl Kept {
    fn is_empty(&self) -> bool {
        self.learned.is_empty() && self.held_out.is_empty() && self.tested.is_empty()
    }
}

/// Who learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pupil {
    /// What answers, which learns from held-out photos as well.
    Answers,
    /// Its twin, which does not, and is measured by them.
    Twin,
}

/// What is kept of all classes that have photos.
#[derive(Debug)]
pub(super) struct Album {
    width: usize,
    classes: BTreeMap<String, Kept>,
    /// The class of each photo.
    places: HashMap<blake3::Hash, String>,
}

/// What became of a photo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// It is learned from.
    Learned,
    /// It is learned from, and held out from the twin.
    HeldOut,
    /// It is only measured by.
    Tested,
    /// It was there already.
    Known,
}

impl Album {
    /// No photos, of features of `width` numbers.
    pub(super) fn new(width: usize) -> Self {
        Self { width, classes: BTreeMap::new(), places: HashMap::new() }
    }

    /// What the version in `folder` keeps, checked: features of `width` numbers, where that is known.
    pub(super) fn read(version: &Version, folder: &Path, width: Option<usize>) -> Result<Self> {
        let mut album = Self::new(width.unwrap_or(0));
        for class in &version.classes {
            let mut rows = |name: &Option<String>| -> Result<Vec<Row>> {
                let Some(name) = name else { return Ok(Vec::new()) };
                let bytes = version.file(folder, name)?;
                let damaged = |reason: String| ProjectError::Damaged { path: folder.join(name), reason };
                let (found, count) = feature_file::verified(&bytes).map_err(damaged)?;
                if album.width == 0 {
                    album.width = found;
                }
                if found != album.width {
                    return Err(damaged(format!("expected features of {} numbers, found {found}", album.width)).into());
                }
                Ok((0..count).map(|row| feature_file::row(&bytes, row)).collect())
            };
            let kept = Kept {
                learned: rows(&class.features)?,
                held_out: rows(&class.held_out_features)?,
                tested: rows(&class.tested_features)?,
            };
            for (photo, _) in kept.learned.iter().chain(&kept.held_out).chain(&kept.tested) {
                album.places.insert(*photo, class.name.clone());
            }
            if !kept.is_empty() {
                album.classes.insert(class.name.clone(), kept);
            }
        }
        Ok(album)
    }

    /// The class of a photo that is there.
    pub(super) fn class_of(&self, photo: &blake3::Hash) -> Option<&str> {
        self.places.get(photo).map(String::as_str)
    }

    /// Whether there are photos of a class to learn from. There may be some that are only measured by.
    pub(super) fn has(&self, class: &str) -> bool {
        self.classes.get(class).is_some_and(|kept| !kept.learned.is_empty())
    }

    /// Adds a photo to a class. One that was in another class leaves that. Every `hold_out`-th of the class is held out; with 1
    /// it is only measured by.
    pub(super) fn add(&mut self, class: &str, (photo, feature): Row, hold_out: u32) -> Added {
        match self.class_of(&photo) {
            Some(before) if before == class => return Added::Known,
            Some(_) => self.remove(&photo),
            None => {}
        }
        self.places.insert(photo, class.to_owned());
        let kept = self.classes.entry(class.to_owned()).or_default();
        let arrived = kept.learned.len() + kept.held_out.len() + 1;
        let (rows, added) = match hold_out {
            1 => (&mut kept.tested, Added::Tested),
            2.. if arrived.is_multiple_of(hold_out as usize) => (&mut kept.held_out, Added::HeldOut),
            _ => (&mut kept.learned, Added::Learned),
        };
        rows.push((photo, feature));
        added
    }

    fn remove(&mut self, photo: &blake3::Hash) {
        let Some(class) = self.places.remove(photo) else { return };
        let Some(kept) = self.classes.get_mut(&class) else { return };
        for rows in [&mut kept.learned, &mut kept.held_out, &mut kept.tested] {
            rows.retain(|(other, _)| other != photo);
        }
        // The twin would have to name photos of a class that it has none of.
        if kept.learned.is_empty() {
            kept.learned = std::mem::take(&mut kept.held_out);
        }
        if kept.is_empty() {
            self.classes.remove(&class);
        }
    }

    /// Forgets all photos of a class.
    pub(super) fn forget(&mut self, class: &str) {
        self.classes.remove(class);
        self.places.retain(|_, other| other != class);
    }

    /// Gives a class another name.
    pub(super) fn rename(&mut self, class: &str, name: &str) {
        if let Some(kept) = self.classes.remove(class) {
            self.classes.insert(name.to_owned(), kept);
        }
        self.places.values_mut().filter(|other| *other == class).for_each(|other| *other = name.to_owned());
    }

    /// The sums of what a pupil learns from.
    pub(super) fn sums(&self, pupil: Pupil) -> Result<Sums, LearnError> {
        let mut sums = Sums::new(self.width, false);
        for (class, kept) in self.classes.iter().filter(|(_, kept)| !kept.learned.is_empty()) {
            let held_out = kept.held_out.iter().filter(|_| pupil == Pupil::Answers);
            // By photo: sums are rounded, and the order of arrival must not show in their last digits.
            let mut learned: Vec<&Row> = kept.learned.iter().chain(held_out).collect();
            learned.sort_by_key(|(photo, _)| *photo.as_bytes());
            let photos: Vec<[u8; 32]> = learned.iter().map(|(photo, _)| *photo.as_bytes()).collect();
            sums.add(class, &self.rows(learned.into_iter()), &photos)?;
        }
        Ok(sums)
    }

    /// Each photo that the twin has not learned and the model that answers has, with its class.
    pub(super) fn held_out(&self) -> Vec<(&str, &Row)> {
        self.of_each(|kept| &kept.held_out)
    }

    /// Each photo that is only measured by, with its class.
    pub(super) fn tested(&self) -> Vec<(&str, &Row)> {
        self.of_each(|kept| &kept.tested)
    }

    fn of_each(&self, rows: fn(&Kept) -> &[Row]) -> Vec<(&str, &Row)> {
        let of_class = |(class, kept)| rows(kept).iter().map(move |row| (String::as_str(class), row));
        self.classes.iter().flat_map(of_class).collect()
    }

    /// Whether the twin learns from a photo.
    pub(super) fn learned(&self, photo: &blake3::Hash) -> bool {
        let kept = self.places.get(photo).and_then(|class| self.classes.get(class));
        kept.is_some_and(|kept| kept.learned.iter().any(|(other, _)| other == photo))
    }

    /// The features of some photos, `[photos, width]`.
    pub(super) fn rows<'a>(&self, rows: impl Iterator<Item = &'a Row>) -> Tensor {
        let values: Vec<f32> = rows.flat_map(|(_, feature)| feature.iter().copied()).collect();
        Tensor::from_slice(&values).reshape([-1, self.width as i64])
    }

    /// Writes it into a draft; comes back with what is known of the classes called `names`.
    pub(super) fn write<'a>(
        &self,
        draft: &mut Draft,
        names: impl Iterator<Item = (&'a str, bool)>,
    ) -> Result<Vec<KnownClass>> {
        let mut known = Vec::new();
        for (name, described) in names {
            let kept = self.classes.get(name).cloned().unwrap_or_default();
            let mut file = |rows: &[Row]| -> Result<Option<String>> {
                if rows.is_empty() {
                    return Ok(None);
                }
                let (bytes, digest) = feature_file::to_bytes(self.width, rows);
                // By its content: a class with another name has the same file.
                let name = format!("features/{}.features", &digest.to_hex()[..16]);
                draft.put(&name, &bytes)?;
                Ok(Some(name))
            };
            known.push(KnownClass {
                name: name.to_owned(),
                photos: (kept.learned.len() + kept.held_out.len()) as u64,
                held_out: kept.held_out.len() as u64,
                tested: kept.tested.len() as u64,
                described,
                features: file(&kept.learned)?,
                held_out_features: file(&kept.held_out)?,
                tested_features: file(&kept.tested)?,
            });
        }
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn photo(number: u8) -> Row {
        (blake3::Hash::from_bytes([number; 32]), vec![f32::from(number), 1.0])
    }

    fn counts(album: &Album, class: &str) -> (usize, usize) {
        album.classes.get(class).map_or((0, 0), |kept| (kept.learned.len(), kept.held_out.len()))
    }

    /// Of twelve photos the 5th and the 10th are held out. The same photo again counts once; one that moves leaves its class.
    #[test]
    fn one_in_five_is_held_out_and_a_photo_counts_once() {
        let mut album = Album::new(2);
        let added: Vec<Added> = (1..=12).map(|number| album.add("cat", photo(number), 5)).collect();
        assert_eq!(added.iter().filter(|added| **added == Added::HeldOut).count(), 2);
        assert!(added[4] == Added::HeldOut && added[9] == Added::HeldOut);
        assert_eq!(counts(&album, "cat"), (10, 2));
        assert_eq!(album.add("cat", photo(3), 5), Added::Known);
        assert_eq!(album.add("dog", photo(5), 5), Added::Learned);
        assert_eq!((counts(&album, "cat"), counts(&album, "dog")), ((10, 1), (1, 0)));
        assert_eq!(album.add("cat", photo(41), 0), Added::Learned);
    }

    /// Three photos: 1 is learned from, 2 is held out from the twin, 3 is only measured by. So the model that answers knows two and
    /// its twin one; a class of which there is nothing but a photo to measure by is a class without photos.
    #[test]
    fn the_model_that_answers_learns_what_its_twin_is_measured_by() {
        let mut album = Album::new(2);
        let added = [(1, 2), (2, 2), (3, 1)].map(|(number, hold_out)| album.add("cat", photo(number), hold_out));
        assert_eq!(added, [Added::Learned, Added::HeldOut, Added::Tested]);
        assert_eq!(album.add("dog", photo(4), 1), Added::Tested);
        let counts =
            |pupil| album.sums(pupil).expect("sums").classes().values().map(|sums| sums.count).collect::<Vec<_>>();
        assert_eq!((counts(Pupil::Answers), counts(Pupil::Twin)), (vec![2], vec![1]));
        let numbers = |rows: Vec<(&str, &Row)>| rows.iter().map(|(_, row)| row.1[0]).collect::<Vec<_>>();
        assert_eq!((numbers(album.held_out()), numbers(album.tested())), (vec![2.0], vec![3.0, 4.0]));
        assert_eq!([1, 2, 3].map(|number| album.learned(&photo(number).0)), [true, false, false]);
        assert!(album.has("cat") && !album.has("dog"));
    }

    /// The one photo that a class learned from moves away: what was held out is learned from.
    #[test]
    fn no_class_is_left_with_held_out_photos_alone() {
        let mut album = Album::new(2);
        album.add("cat", photo(1), 2);
        album.add("cat", photo(2), 2);
        assert_eq!(counts(&album, "cat"), (1, 1));
        album.add("dog", photo(1), 2);
        assert_eq!(counts(&album, "cat"), (1, 0));
        album.add("dog", photo(2), 3);
        assert!(!album.has("cat") && album.has("dog"));
    }
}
