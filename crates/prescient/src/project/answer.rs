//! From what is kept of photos and the catalogue to a classifier, and how good it is.

use super::album::Album;
use super::classes::ClassTable;
use super::eye::Eye;
use super::held_out::{HeldOut, Tally};
use super::settings::Settings;
use super::version::Arrived;
use crate::error::{LearnError, Result};
use crate::evaluation::Worth;
use crate::extractor::feature_file::Row;
use crate::learner::Target;
use crate::learner::closed_form::fit;
use crate::predictor::{About, Calibration, Head, HeadKind, Input, Predictor};
use tch::Tensor;

/// A classifier, and what was found out on the way.
pub(super) struct Answerer {
    pub(super) predictor: Predictor,
    pub(super) worth: Worth,
    pub(super) held_out: Option<HeldOut>,
}

impl Answerer {
    /// Fits it; `version` is the number of the version that it will be. None where no class has a photo.
    pub(super) fn fit(
        album: &Album,
        table: &ClassTable,
        (eye, settings): (&Eye, &Settings),
        version: usize,
    ) -> Result<Option<Self>> {
        let information = settings.information(table)?;
        let sums = album.sums()?;
        let fitted = match fit(&sums, &information, Target::Accuracy) {
            Err(LearnError::NoPhotos) => return Ok(None),
            fitted => fitted?,
        };
        let (mut classes, unseen): (Vec<String>, Vec<String>) =
            table.names().map(String::from).partition(|name| album.has(name));
        let seen = classes.len();
        classes.extend(unseen);
        let competing = if fitted.guesses() { classes.len() } else { seen };
        let head = Head::Gaussian(fitted.head(&classes[..competing]));
        let view = settings.view();
        let about = About {
            task: version,
            classes,
            seen,
            head: HeadKind::Gaussian,
            scale: fitted.scale as f32,
            novelty: fitted.novelty,
            calibration: Calibration { own: fitted.guesses().then_some(fitted.offset as f32), harmonic: None },
            input: Input {
                channels: settings.channels(),
                size: view.size,
                resize: view.resize,
                normalization: settings.normalization,
            },
            extractor: settings.extractor.clone(),
            precision: Default::default(),
            abstain: fitted.worth.abstain.clone(),
        };
        let predictor = Predictor::new(eye.network().snapshot(), &head, about);
        let held_out = measure(&predictor, album)?;
        Ok(Some(Self { predictor, worth: fitted.worth, held_out }))
    }
}

/// How a predictor does on the held-out photos of an album.
pub(super) fn measure(predictor: &Predictor, album: &Album) -> Result<Option<HeldOut>, LearnError> {
    let (classes, features) = album.held_out();
    if classes.is_empty() {
        return Ok(None);
    }
    let answers = predictor.ranked(&features.to_device(predictor.device()))?;
    Ok(HeldOut::new(predictor, classes.into_iter().zip(&answers)))
}

/// How a predictor does on photos that it has not learned from, each with its class.
pub(super) fn arrived(predictor: &Predictor, photos: &[(&str, &Row)]) -> Result<Option<Arrived>, LearnError> {
    let values: Vec<f32> = photos.iter().flat_map(|(_, (_, feature))| feature.iter().copied()).collect();
    if values.is_empty() {
        return Ok(None);
    }
    let features = Tensor::from_slice(&values).reshape([photos.len() as i64, -1]);
    let answers = predictor.ranked(&features.to_device(predictor.device()))?;
    let mut found = Arrived { seen: Tally::default(), guessed: Tally::default() };
    let known = &predictor.about().classes;
    let (seen, guessed) = (&known[..predictor.about().seen], &known[predictor.future().range()]);
    for ((class, _), answer) in photos.iter().zip(&answers) {
        let right = predictor.class(answer.guesses[0].slot) == *class;
        match seen.iter().any(|name| name == class) {
            true => found.seen.add(right),
            false if guessed.iter().any(|name| name == class) => found.guessed.add(right),
            // It did not guess, or nobody had told it of the class.
            false => {}
        }
    }
    Ok(Some(found))
}
