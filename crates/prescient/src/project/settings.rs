//! What is chosen once, when a project is made: `project.toml`, for people to read.

use super::ClassTable;
use crate::catalogue::Catalogue;
use crate::data::{Channels, Normalization, View};
use crate::error::{DataError, ProjectError};
use crate::extractor::{ExtractorKind, IMAGENET, MobileNetV2, PUBLISHED};
use crate::learner::closed_form::Information;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file.
pub(super) const FILE: &str = "project.toml";

const HEADER: &str = "# What was chosen when this project was made. All its versions depend on it: to choose otherwise, make a new\n\
                      # project and teach it again.\n\n";

/// One photo in five is held out unless somebody says otherwise.
pub const HOLD_OUT: u32 = 5;

/// What is chosen once, when a project is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The form of the folder: 1.
    pub format: u32,
    /// Whether classes without photos are answered with, by what the catalogue says of them.
    pub guesses: bool,
    /// Of each class every so-manieth photo is held out, to measure by; 0: none.
    pub hold_out: u32,
    /// The side of the square that the extractor sees of a photo, in pixels.
    pub size: u32,
    /// The extractor, which stays as it is.
    pub extractor: ExtractorKind,
    /// Mean and deviation of the pixels.
    pub normalization: Normalization,
}

impl Default for Settings {
    /// MobileNetV2 with ImageNet's weights at 224 pixels; one photo in five is held out.
    fn default() -> Self {
        let extractor =
            ExtractorKind::MobileNetV2(MobileNetV2 { weights: Some(PUBLISHED.to_owned()), ..Default::default() });
        Self::new(extractor)
    }
}

impl Settings {
    /// With another extractor, at the size that belongs to its weights.
    pub fn new(extractor: ExtractorKind) -> Self {
        let input = extractor.input().unwrap_or(IMAGENET);
        Self {
            format: 1,
            guesses: true,
            hold_out: HOLD_OUT,
            size: input.size,
            extractor,
            normalization: input.normalization,
        }
    }

    /// What the extractor sees of a photo: all of it but what makes it longer than wide.
    pub(super) fn view(&self) -> View {
        View { size: self.size, resize: self.size, augmentation: Default::default() }
    }

    /// Photos are in colour.
    pub(super) fn channels(&self) -> Channels {
        Channels::Rgb
    }

    /// What is known of classes beside their photos.
    pub(super) fn information(&self, table: &ClassTable) -> Result<Information, DataError> {
        match self.guesses {
            true => Ok(Information::new(&table.catalogue()?)),
            false => Ok(Information::new(&Catalogue::bare(table.names().map(String::from).collect()))),
        }
    }

    pub(super) fn to_toml(&self) -> String {
        format!("{HEADER}{}", toml::to_string(self).expect("plain data"))
    }

    pub(super) fn read(project: &Path) -> Result<Self, ProjectError> {
        let path = project.join(FILE);
        let damaged = |reason: String| ProjectError::Damaged { path: path.clone(), reason };
        let text = crate::disk::read_text(&path).map_err(|error| damaged(error.to_string()))?;
        let settings: Self = toml::from_str(&text).map_err(|error| damaged(error.message().to_owned()))?;
        match settings.format {
            1 if (8..=1024).contains(&settings.size) => Ok(settings),
            1 => Err(damaged(format!("expected a size of 8 to 1024 pixels, found {}", settings.size))),
            other => Err(damaged(format!("it is of format {other}, which a later version of this program wrote"))),
        }
    }
}
