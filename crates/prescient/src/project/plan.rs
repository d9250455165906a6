//! Which classes to photograph next.

use super::Project;
use super::album::Pupil;
use crate::error::Result;
use crate::learner::Target;
use crate::learner::closed_form::{MORE, Prospect, fit, prospects};
use serde::Serialize;

/// Photos that could be taken next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The version that it is made for.
    pub version: usize,
    /// The numbers of photos that gains are given for.
    pub more: Vec<usize>,
    /// What photos of each class are worth: the class first that is worth most.
    pub classes: Vec<Planned>,
}

/// What photos of a class are worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planned {
    /// The class.
    pub class: String,
    /// Photos that it was learned from.
    pub photos: u64,
    /// How often its photos are expected to be named right now, in percent.
    pub right: f64,
    /// By how many points the accuracy over all classes is expected to rise, for each number of photos.
    pub gains: Vec<f64>,
    /// As many photos as bring most of what many photos would; 0 where they would bring next to nothing.
    pub suggested: usize,
    /// Why.
    pub why: Vec<String>,
}

/// The number of photos by which classes are ordered: a place in [`MORE`].
const BY: usize = 3;
/// A number of photos is enough if it brings this share of what the most would.
const MOST: f64 = 0.8;
/// A gain that is less is within the noise of the play: a twentieth of a point.
const WORTH_IT: f64 = 5e-4;

impl Project {
    /// What photos of each class would be worth; none where fewer than two classes have photos.
    pub fn plan(&self) -> Result<Option<Plan>> {
        let (album, table) = (self.album()?, self.classes()?);
        if self.version().worth.is_none() {
            return Ok(None);
        }
        let (sums, information) = (album.sums(Pupil::Answers)?, self.settings().information(&table)?);
        let fitted = fit(&sums, &information, Target::Accuracy)?;
        let Some(mut found) = prospects(&sums, &information, &fitted)? else { return Ok(None) };
        found.sort_by(|a, b| b.gains[BY].total_cmp(&a.gains[BY]));
        let misleading = |class: &str| fitted.worth.misleading.iter().find(|other| other.class == class);
        let classes = found.into_iter().map(|prospect| {
            let like = misleading(&prospect.class).map(|misleading| misleading.like.as_str());
            Planned::new(prospect, like, fitted.guesses())
        });
        Ok(Some(Plan { version: self.version().number, more: MORE.to_vec(), classes: classes.collect() }))
    }
}

impl Planned {
    fn new(prospect: Prospect, misleads_to: Option<&str>, guesses: bool) -> Self {
        let Prospect { class, photos, right, gains, taken_for, doubt } = prospect;
        let most = gains.iter().copied().fold(0.0, f64::max);
        let enough = gains.iter().position(|gain| *gain >= MOST * most).unwrap_or(0);
        let mut why = Vec::new();
        if photos == 0 {
            why.push(
                if guesses { "not yet photographed" } else { "not yet photographed, and not guessed at" }.to_owned(),
            );
        }
        if photos == 0 && doubt > 1.1 {
            why.push("its description is unlike those of photographed classes".to_owned());
        }
        if let Some(like) = misleads_to {
            why.push(format!("its description leads to {like}"));
        }
        let often = |(other, share): &(String, Option<f64>)| match share {
            Some(share) if *share >= 0.1 => Some(format!("{other} ({:.0} %)", 100.0 * share)),
            _ => None,
        };
        let often: Vec<String> = taken_for.iter().filter_map(often).collect();
        if !often.is_empty() {
            why.push(format!("taken for {}", often.join(", ")));
        }
        if let [(near, None)] = taken_for.as_slice() {
            why.push(format!("described most like {near}"));
        }
        Self {
            class,
            photos,
            right: 100.0 * right,
            gains: gains.into_iter().map(|gain| 100.0 * gain).collect(),
            suggested: if most < WORTH_IT { 0 } else { MORE[enough] },
            why,
        }
    }
}
