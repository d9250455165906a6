//! The extractor of a project at work: photos to features, each photo once.

use super::lesson::{Lesson, Photo};
use super::settings::Settings;
use super::version::Version;
use crate::data::perceptual_hash::content;
use crate::engine::{Compute, Preprocessing, TensorFile, write_tensors};
use crate::error::{DataError, ProjectError, Result, RunError};
use crate::extractor::Network;
use crate::extractor::feature_file::Row;
use crate::learner::frozen::{CHUNK, FrozenFeatures, Glimpse};
use crate::learner::{Event, Observer};
use crate::predictor::{EXTRACTOR, WEIGHTS};
use rayon::prelude::*;
use std::path::Path;
use tch::Device;

/// The extractor of a project, and the features that are known.
pub(super) struct Eye {
    network: Network,
    input: Preprocessing,
    channels: crate::data::Channels,
    /// Once a photo was looked at.
    features: Option<FrozenFeatures>,
}

impl Eye {
    /// With the weights that the settings name.
    pub(super) fn pretrained(settings: &Settings, device: Device) -> Result<Self> {
        let (channels, size) = (settings.channels().count(), settings.size as usize);
        let network = Network::pretrained(settings.extractor.clone(), channels, size, Compute::default(), device, 0)?;
        Self::new(network, settings)
    }

    /// With the weights that a version has.
    pub(super) fn read(settings: &Settings, version: &Version, folder: &Path, device: Device) -> Result<Self> {
        let (channels, size) = (settings.channels().count(), settings.size as usize);
        let mut network = Network::new(settings.extractor.clone(), channels, size, Compute::default(), device, 0);
        let bytes = version.file(folder, WEIGHTS)?;
        network.read(&TensorFile::from_bytes(&folder.join(WEIGHTS), bytes)?, EXTRACTOR)?;
        Self::new(network, settings)
    }

    fn new(mut network: Network, settings: &Settings) -> Result<Self> {
        network.freeze();
        let input = Preprocessing::new(settings.view(), settings.normalization, settings.channels(), network.device());
        Ok(Self { network, input, channels: settings.channels(), features: None })
    }

    /// The extractor.
    pub(super) fn network(&self) -> &Network {
        &self.network
    }

    /// Writes the weights into `folder`.
    pub(super) fn save(&self, folder: &Path) -> Result<(), RunError> {
        let weights = self.network.variables().into_iter().map(|(name, tensor)| (format!("{EXTRACTOR}{name}"), tensor));
        write_tensors(&folder.join(WEIGHTS), &weights.collect())
    }

    /// The photos of a lesson, each with its feature; none where it cannot be read, in words where that is skipped.
    ///
    /// One [`Event::Step`] a chunk. Once a photo cannot be read the others are only read, to name all that cannot be.
    pub(super) fn look(
        &mut self,
        lesson: &Lesson,
        observer: &mut dyn Observer,
    ) -> Result<(Vec<Option<Row>>, Vec<String>)> {
        let Self { network, input, channels, features } = self;
        let features = match features {
            Some(features) => features,
            None if network.kind().is_pretrained() => features.insert(FrozenFeatures::open(network, input)?),
            // Weights that nobody else has: nobody else asks for their features.
            None => features.insert(FrozenFeatures::in_memory(network)),
        };
        let photos = lesson.photos();
        observer.on_event(&Event::StageStarted { stage: "look at photos", steps: photos.len().div_ceil(CHUNK) });
        let (mut rows, mut damaged) = (Vec::with_capacity(photos.len()), Vec::new());
        for chunk in photos.chunks(CHUNK) {
            if observer.stops() {
                return Err(ProjectError::Interrupted.into());
            }
            let (at_hand, view, channels) = (&*features, input.view(), *channels);
            let see = |photo: &Photo| {
                let image = photo.read(channels)?;
                Ok(at_hand.glimpse(content(&image), &image, view))
            };
            let seen: Vec<Result<Glimpse, DataError>> = chunk.par_iter().map(see).collect();
            let mut readable = Vec::new();
            let known: Vec<Option<blake3::Hash>> = seen
                .into_iter()
                .map(|seen| match seen {
                    Ok(glimpse) => {
                        let photo = glimpse.0;
                        readable.push(glimpse);
                        Some(photo)
                    }
                    Err(error) => {
                        damaged.push(error.to_string());
                        None
                    }
                })
                .collect();
            if damaged.is_empty() || lesson.skip_damaged {
                features.look(network, input, &readable)?;
                let row = |photo: blake3::Hash| (photo, features.feature(&photo).expect("it was just looked at"));
                rows.extend(known.into_iter().map(|photo| photo.map(row)));
                // Killed now, it need not begin again.
                features.keep_now_and_then()?;
            }
            observer.on_event(&Event::Step);
        }
        features.keep()?;
        match damaged.is_empty() || lesson.skip_damaged {
            true => Ok((rows, damaged)),
            false => Err(ProjectError::DamagedPhotos { lines: damaged, of: photos.len() }.into()),
        }
    }
}
