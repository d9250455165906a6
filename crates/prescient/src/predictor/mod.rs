//! What a model knows after a task: give it images, and it answers with classes and probabilities.
//!
//! ```text
//!  image ─► crop, normalize ─► f ── h ─► score of each class ─ offset of seen classes ─► softmax with scale η
//! ```
//!
//! The score is cos(h, θ_c) in the Ghost model, a log-likelihood in the closed form; where that has a [`Novelty`], it is the
//! logarithm of a probability, and the offset is for answers alone. All classes that have a score compete: those that were seen, and, for a model with ghosts, those still to come.

mod file;
mod head;
mod novelty;
pub(crate) mod place;
mod stamp;

pub(crate) use file::{EXTRACTOR, WEIGHTS};
pub use head::{Gaussian, Head, HeadKind};
pub use novelty::Novelty;
pub(crate) use novelty::lead;
pub use stamp::Stamp;

use crate::class::{Slot, Slots};
use crate::data::{Channels, Image, Normalization, View};
use crate::engine::{DeviceBatch, Precision, Preprocessing};
use crate::error::LearnError;
use crate::evaluation::Abstain;
use crate::extractor::{ExtractorKind, Network};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor, no_grad};

/// Images answered together.
pub(crate) const BATCH_SIZE: usize = 256;

/// A model after a task.
pub struct Predictor {
    network: Network,
    /// Scores of every class that can be the answer, in order of arrival.
    head: Head,
    about: About,
    input: Preprocessing,
}

/// What a predictor is, apart from its weights: `predictor.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// After which task, from 1; of a project, the version.
    pub task: usize,
    /// The names of all classes in order of arrival, those without a proxy too.
    pub classes: Vec<String>,
    /// How many of them have been seen.
    pub seen: usize,
    /// How features become scores.
    #[serde(default)]
    pub head: HeadKind,
    /// `η`: how sure a difference of scores makes it.
    pub scale: f32,
    /// How scores of classes without photos become probabilities, where those do it in a way of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub novelty: Option<Novelty>,
    /// What is taken off the scores of seen classes.
    pub calibration: Calibration,
    /// What its images go through.
    pub input: Input,
    /// `f`.
    pub extractor: ExtractorKind,
    /// The precision of its products.
    pub precision: Precision,
    /// What is to be expected of answering only above some confidences, by rising confidence: chosen without test data, where
    /// the learner can tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abstain: Vec<Abstain>,
}

/// What is taken off the scores of seen classes. Chosen without test data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// For the model's own answers.
    pub own: Option<f32>,
    /// For the best harmonic mean of seen and future accuracy: for tables, not for answers.
    pub harmonic: Option<f32>,
}

/// What images go through before `f`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Grey images or images in colour.
    pub channels: Channels,
    /// The side of the square that `f` takes.
    pub size: u32,
    /// The shorter side to which an image is scaled before the middle is cut out.
    pub resize: u32,
    /// Mean and deviation of the pixels.
    pub normalization: Normalization,
}

/// What a predictor sees of an image.
#[derive(Clone, Debug)]
pub struct Crop(Vec<u8>);

/// Makes crops of images for one predictor.
#[derive(Clone, Copy, Debug)]
pub struct Cropper {
    view: View,
    channels: Channels,
}

impl Cropper {
    /// Grey or in colour: how images must be decoded.
    pub fn channels(&self) -> Channels {
        self.channels
    }

    /// What the predictor sees of an image.
    pub fn crop(&self, image: &Image) -> Result<Crop, LearnError> {
        let Self { view, channels } = self;
        if image.channels != *channels {
            let (expected, found) = (channels.to_string(), image.channels.to_string());
            return Err(LearnError::Channels { expected, found });
        }
        let mut crop = Vec::with_capacity(view.bytes(*channels));
        view.render(image, view.eval_crop(image.width, image.height), &mut crop);
        Ok(Crop(crop))
    }
}

/// The answer for one image: every class that can be the answer, the most probable first.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The classes.
    pub guesses: Vec<Guess>,
}

/// A class as the answer for an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guess {
    /// The class.
    pub slot: Slot,
    /// How probable the model finds it.
    pub probability: f32,
    /// Its score, less the offset of seen classes.
    pub score: f32,
}

impl Predictor {
    /// From its parts: a network that will not change, and the scores of the classes that compete.
    pub(crate) fn new(network: Network, head: &Head, about: About) -> Self {
        let view = View { size: about.input.size, resize: about.input.resize, augmentation: Default::default() };
        let input = Preprocessing::new(view, about.input.normalization, about.input.channels, network.device());
        Self { network, head: head.to(input.device()), about, input }
    }

    /// What it is, apart from its weights.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The name of a class.
    pub fn class(&self, slot: Slot) -> &str {
        &self.about.classes[slot.index()]
    }

    /// Whether images of the class have been learned from. A class that has not been seen is guessed from its ghosts.
    pub fn is_seen(&self, slot: Slot) -> bool {
        slot.index() < self.about.seen
    }

    /// The classes that were seen.
    pub fn seen(&self) -> Slots {
        Slots::new(0, self.about.seen)
    }

    /// The classes that it guesses at: none for a model without ghosts.
    pub fn future(&self) -> Slots {
        Slots::new(self.about.seen, self.head.rows().size()[0] as usize)
    }

    /// Where it computes.
    pub fn device(&self) -> Device {
        self.network.device()
    }

    /// What images go through before `f`.
    pub(crate) fn input(&self) -> &Preprocessing {
        &self.input
    }

    /// How features become scores.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// `f`.
    pub(crate) fn network(&self) -> &Network {
        &self.network
    }

    /// The features of a batch, `[batch, width]`.
    pub(crate) fn features(&self, batch: &DeviceBatch<'_>) -> Tensor {
        self.look(&batch.images(self.network.image_kind()))
    }

    /// The features of normalized images, `[batch, width]`; the closed form also looks at their mirror images.
    fn look(&self, images: &Tensor) -> Tensor {
        match self.head.kind() {
            HeadKind::Cosine => self.network.forward_eval(images).features,
            HeadKind::Gaussian => self.network.mirrored_mean(images),
        }
    }

    /// The scores of features for all classes, `[batch, classes]`, on the host; nothing is taken off.
    pub(crate) fn scores(&self, features: &Tensor) -> Tensor {
        no_grad(|| {
            let scores = self.head.scores(features).to_device(Device::Cpu).to_kind(Kind::Float);
            match &self.about.novelty {
                Some(novelty) if !self.future().is_empty() => {
                    let (seen, future) = (self.about.seen as i64, self.future().len() as i64);
                    let (seen, future) = (scores.narrow(1, 0, seen), scores.narrow(1, seen, future));
                    novelty.log_probabilities(f64::from(self.about.scale), &seen, &future)
                }
                _ => scores,
            }
        })
    }

    /// Answers for images of any size.
    ///
    /// ```no_run
    /// use prescient::{Image, Predictor};
    ///
    /// let predictor = Predictor::load("runs/mine-seed1")?;
    /// let image = Image::read("photo.jpg", predictor.about().input.channels)?;
    /// let answer = &predictor.predict(&[image])?[0].guesses[0];
    /// println!("{} {:.2}", predictor.class(answer.slot), answer.probability);
    /// # Ok::<(), prescient::error::Error>(())
    /// ```
    pub fn predict(&self, images: &[Image]) -> Result<Vec<Prediction>, LearnError> {
        let cropper = self.cropper()?;
        let crops = images.par_iter().map(|image| cropper.crop(image)).collect::<Result<Vec<_>, _>>()?;
        self.predict_crops(&crops)
    }

    /// What makes crops of images: on any thread, and before there is time to answer.
    pub fn cropper(&self) -> Result<Cropper, LearnError> {
        match self.about.input.channels {
            Channels::Features => Err(LearnError::NoImages),
            channels => Ok(Cropper { view: self.input.view(), channels }),
        }
    }

    /// Answers for images that were cropped already. A crop takes a few hundred kilobytes, a photo many megabytes.
    pub fn predict_crops(&self, crops: &[Crop]) -> Result<Vec<Prediction>, LearnError> {
        let mut answers = Vec::with_capacity(crops.len());
        for crops in crops.chunks(BATCH_SIZE) {
            let bytes = crops.iter().map(|crop| crop.0.as_slice()).collect::<Vec<_>>().concat();
            let pixels = self.input.normalize(self.input.upload(&bytes, crops.len()));
            answers.extend(self.ranked(&self.look(&pixels))?);
        }
        Ok(answers)
    }

    /// Scores of all classes, less the offset of seen ones.
    fn less_offset(&self, scores: &[f32]) -> Vec<f32> {
        let offset = self.about.calibration.own.unwrap_or(0.0);
        let less = |slot: usize| if slot < self.about.seen { offset } else { 0.0 };
        scores.iter().enumerate().map(|(slot, score)| score - less(slot)).collect()
    }

    /// How probable each class is, by the scores of all of them, from which nothing has been taken off.
    pub(crate) fn probabilities(&self, scores: &[f32]) -> Vec<f32> {
        match self.about.novelty {
            Some(_) if !self.future().is_empty() => scores.iter().map(|score| score.exp()).collect(),
            _ => softmax(&self.less_offset(scores), self.about.scale),
        }
    }

    /// All classes for each feature `[batch, width]`, the most probable first.
    pub(crate) fn ranked(&self, features: &Tensor) -> Result<Vec<Prediction>, LearnError> {
        let rows = Vec::<Vec<f32>>::try_from(self.scores(features))?;
        let rank = |row: Vec<f32>| {
            if row.iter().any(|score| !score.is_finite()) {
                return Err(LearnError::Diverged { task: self.about.task });
            }
            let (scores, probabilities) = (self.less_offset(&row), self.probabilities(&row));
            let guess =
                |slot: usize| Guess { slot: Slot(slot as u32), probability: probabilities[slot], score: scores[slot] };
            let mut guesses: Vec<Guess> = (0..scores.len()).map(guess).collect();
            // Stable: of two equal ones the class that was there first.
            guesses.sort_by(|a, b| b.score.total_cmp(&a.score));
            Ok(Prediction { guesses })
        };
        rows.into_iter().map(rank).collect()
    }
}

/// `exp(η s_c) / Σ exp(η s_k)`.
fn softmax(scores: &[f32], scale: f32) -> Vec<f32> {
    let best = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = scores.iter().map(|score| ((score - best) * scale).exp()).collect();
    let sum: f32 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// η = 2 and scores 1, 0.5: e^0 and e^−1, so 0.7311 and 0.2689.
    #[test]
    fn probabilities_by_hand() {
        let found = softmax(&[1.0, 0.5], 2.0);
        assert!((found[0] - 0.731_058_6).abs() < 1e-6 && (found[1] - 0.268_941_4).abs() < 1e-6, "{found:?}");
    }
}
