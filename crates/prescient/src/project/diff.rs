//! Two versions against each other, on the same photos. By photos that are only measured by the versions themselves are compared, by
//! held-out photos their twins, neither of which has learned from them.

use super::album::Album;
use super::answer::Given;
use super::{Project, Tally};
use crate::error::{ProjectError, Result};
use crate::evaluation::statistics::mcnemar;
use crate::extractor::feature_file::Row;
use crate::predictor::Predictor;
use serde::Serialize;
use std::collections::BTreeMap;

/// A class is said to have changed if chance would divide its photos as unevenly less often than this.
const CHANCE: f64 = 0.05;

/// How two versions differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The numbers of the versions.
    pub versions: [usize; 2],
    /// Right answers of both on the same photos.
    pub all: [Tally; 2],
    /// Photos that only the first names right, and only the second.
    pub alone: [usize; 2],
    /// How often chance alone would divide these as unevenly.
    pub chance: f64,
    /// The classes of both, by name: those of the second, then those that it has no more.
    pub classes: Vec<ClassDifference>,
}

/// How two versions differ on a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassDifference {
    /// Its name in the second version, else in the first.
    pub name: String,
    /// Its name in the first, where it had another.
    pub was: Option<String>,
    /// Photos learned from; none where the version does not have the class.
    pub photos: [Option<u64>; 2],
    /// Right answers of both on the same photos.
    pub right: [Tally; 2],
    /// Whether the difference is more than chance.
    pub sure: bool,
}

impl ClassDifference {
    /// By how many points the second is better.
    pub fn gain(&self) -> Option<f64> {
        gain(&self.right)
    }
}

fn gain([before, after]: &[Tally; 2]) -> Option<f64> {
    Some(100.0 * (after.share()? - before.share()?))
}

impl Difference {
    /// By how many points the second version is better, over all photos.
    pub fn gain(&self) -> Option<f64> {
        gain(&self.all)
    }

    /// An error if the second version is worse by more than `allowed` points: over all photos, or on a class by more than chance.
    pub fn gate(&self, allowed: f64) -> Result<(), ProjectError> {
        let dropped = |gain: Option<f64>| gain.filter(|gain| -gain > allowed + 1e-9);
        let of_class = self.classes.iter().filter(|class| class.sure).map(|class| (class.name.as_str(), class.gain()));
        let classes: Vec<String> = std::iter::once(("all photos", self.gain()))
            .chain(of_class)
            .filter_map(|(name, gain)| Some(format!("{name} by {:.1}", -dropped(gain)?)))
            .collect();
        match classes.is_empty() {
            true => Ok(()),
            false => Err(ProjectError::Dropped { allowed, classes }),
        }
    }
}

/// A photo that both versions can be asked about, with its class in each.
struct Asked<'a> {
    row: &'a Row,
    /// Whether a version has learned from it, and its twin has not: then twins are asked.
    of_twins: bool,
    classes: [String; 2],
}

/// Compares two versions.
pub fn diff(before: &Project, after: &Project) -> Result<Difference> {
    let albums = [before.album()?, after.album()?];
    let renamed = renamed(before, after);
    let asked = asked(&albums, &renamed, after);
    let right = [answers((before, &albums[0]), &asked, 0)?, answers((after, &albums[1]), &asked, 1)?];
    let mut all = [Tally::default(); 2];
    let mut by_class: BTreeMap<&str, ([Tally; 2], [usize; 2])> = BTreeMap::new();
    for (place, asked) in asked.iter().enumerate() {
        let (tallies, alone) = by_class.entry(asked.classes[1].as_str()).or_default();
        let both = [right[0][place], right[1][place]];
        for side in 0..2 {
            all[side].add(both[side]);
            tallies[side].add(both[side]);
            alone[side] += usize::from(both[side] && !both[1 - side]);
        }
    }
    let class = |name: &str| {
        let was = Some(old_name(&renamed, name)).filter(|was| *was != name).map(String::from);
        let photos = |project: &Project, name: &str| project.version().class(name).map(|class| class.photos);
        let (right, alone) = by_class.get(name).copied().unwrap_or_default();
        ClassDifference {
            name: name.to_owned(),
            photos: [photos(before, was.as_deref().unwrap_or(name)), photos(after, name)],
            was,
            right,
            sure: mcnemar(alone[0], alone[1]) < CHANCE,
        }
    };
    let gone = before.version().classes.iter().map(|class| &class.name);
    let gone = gone.filter(|name| after.version().class(name).is_none() && !renamed.contains_key(name.as_str()));
    let names = after.version().classes.iter().map(|class| &class.name).chain(gone);
    let classes = names.map(|name| class(name.as_str())).collect();
    let alone = by_class.values().fold([0, 0], |sum, (_, alone)| [sum[0] + alone[0], sum[1] + alone[1]]);
    let versions = [before, after].map(|project| project.version().number);
    Ok(Difference { versions, all, alone, chance: mcnemar(alone[0], alone[1]), classes })
}

/// Classes that have the same photos and another name: from the old one to the new one.
fn renamed(before: &Project, after: &Project) -> BTreeMap<String, String> {
    let (old, new) = (before.version(), after.version());
    let mut found = BTreeMap::new();
    for class in old.classes.iter().filter(|class| new.class(&class.name).is_none() && class.features.is_some()) {
        let mut others = new.classes.iter().filter(|other| old.class(&other.name).is_none());
        if let Some(other) = others.find(|other| other.features == class.features) {
            found.insert(class.name.clone(), other.name.clone());
        }
    }
    found
}

/// What a class of the second version was called in the first.
fn old_name<'a>(renamed: &'a BTreeMap<String, String>, class: &'a str) -> &'a str {
    renamed.iter().find(|(_, to)| to.as_str() == class).map_or(class, |(from, _)| from.as_str())
}

fn asked<'a>(albums: &'a [Album; 2], renamed: &BTreeMap<String, String>, after: &Project) -> Vec<Asked<'a>> {
    let mut asked: BTreeMap<[u8; 32], Asked<'_>> = BTreeMap::new();
    for (side, album) in albums.iter().enumerate() {
        let held_out = album.held_out().into_iter().map(|asked| (asked, true));
        for ((class, row), of_twins) in album.tested().into_iter().map(|asked| (asked, false)).chain(held_out) {
            let learned = albums.iter().any(|album| album.learned(&row.0));
            // In the words of the second version; a class that it does not have cannot be asked about.
            let class = if side == 0 { renamed.get(class).map_or(class, String::as_str) } else { class };
            if learned || after.version().class(class).is_none() {
                continue;
            }
            // What the second says wins: it may have been corrected.
            let classes = [old_name(renamed, class).to_owned(), class.to_owned()];
            let before = asked.get(row.0.as_bytes());
            let of_twins = of_twins || before.is_some_and(|before| before.of_twins);
            asked.insert(*row.0.as_bytes(), Asked { row, of_twins, classes });
        }
    }
    asked.into_values().collect()
}

/// Whether each photo is named right.
fn answers((project, album): (&Project, &Album), asked: &[Asked<'_>], side: usize) -> Result<Vec<bool>> {
    let mut right = vec![false; asked.len()];
    let Some(worth) = project.version().worth.as_ref().filter(|_| !asked.is_empty()) else { return Ok(right) };
    let predictor = project.predictor()?;
    for of_twins in [false, true] {
        let places: Vec<usize> = (0..asked.len()).filter(|&place| asked[place].of_twins == of_twins).collect();
        if places.is_empty() {
            continue;
        }
        let twin: Option<Predictor> = match of_twins && !album.held_out().is_empty() {
            true => {
                let (table, settings) = (&project.classes()?, project.settings());
                let (network, version) = (predictor.network(), project.version().number);
                Some(Given { album, table, settings, network, version }.twin(worth.guesses)?)
            }
            false => None,
        };
        let predictor = twin.as_ref().unwrap_or(&predictor);
        let features = album.rows(places.iter().map(|&place| asked[place].row)).to_device(predictor.device());
        for (place, answer) in places.into_iter().zip(predictor.ranked(&features)?) {
            right[place] = predictor.class(answer.guesses[0].slot) == asked[place].classes[side];
        }
    }
    Ok(right)
}
