//! From what is kept of photos and the catalogue to a classifier, and how good it is.

use super::album::{Album, Pupil};
use super::classes::ClassTable;
use super::eye::Eye;
use super::held_out::{HeldOut, Tally};
use super::settings::Settings;
use super::version::Arrived;
use crate::error::{LearnError, Result};
use crate::evaluation::Worth;
use crate::extractor::Network;
use crate::extractor::feature_file::Row;
use crate::learner::Target;
use crate::learner::closed_form::{Fitted, fit_as};
use crate::predictor::{About, Calibration, Head, HeadKind, Input, Predictor};
use tch::Tensor;

/// A classifier, and what was found out on the way.
pub(super) struct Answerer {
    pub(super) predictor: Predictor,
    pub(super) worth: Worth,
    pub(super) held_out: Option<HeldOut>,
    pub(super) tested: Option<HeldOut>,
}

/// What a classifier is a function of.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) album: &'a Album,
    pub(super) table: &'a ClassTable,
    pub(super) settings: &'a Settings,
    pub(super) network: &'a Network,
    /// The number of the version that it will be.
    pub(super) version: usize,
}

impl Answerer {
    /// Fits it, and a twin to measure. None where no class has a photo.
    pub(super) fn fit(
        album: &Album,
        table: &ClassTable,
        (eye, settings): (&Eye, &Settings),
        version: usize,
    ) -> Result<Option<Self>> {
        let given = Given { album, table, settings, network: eye.network(), version };
        let Some((predictor, fitted)) = given.taught(Pupil::Answers, None)? else { return Ok(None) };
        let held_out = match &album.held_out()[..] {
            [] => None,
            photos => measure(&given.twin(fitted.guesses())?, album, photos)?,
        };
        let tested = measure(&predictor, album, &album.tested())?;
        Ok(Some(Self { predictor, worth: fitted.worth, held_out, tested }))
    }
}

impl Given<'_> {
    /// What answers as if held-out photos had never come. Whether it guesses is settled: a twin that does not would be right more
    /// often on photos of classes that it knows than a model that does.
    pub(super) fn twin(&self, guesses: bool) -> Result<Predictor> {
        let taught = self.taught(Pupil::Twin, Some(guesses))?;
        Ok(taught.expect("a class with held-out photos has others").0)
    }

    fn taught(&self, pupil: Pupil, guesses: Option<bool>) -> Result<Option<(Predictor, Fitted)>> {
        let Self { album, table, settings, network, version } = *self;
        let information = settings.information(table)?;
        let fitted = match fit_as(&album.sums(pupil)?, &information, Target::Accuracy, guesses) {
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
        Ok(Some((Predictor::new(network.snapshot(), &head, about), fitted)))
    }
}

/// How a predictor does on photos that it has not learned from.
fn measure(predictor: &Predictor, album: &Album, photos: &[(&str, &Row)]) -> Result<Option<HeldOut>, LearnError> {
    if photos.is_empty() {
        return Ok(None);
    }
    let features = album.rows(photos.iter().map(|(_, row)| *row));
    let answers = predictor.ranked(&features.to_device(predictor.device()))?;
    Ok(HeldOut::new(predictor, photos.iter().map(|(class, _)| *class).zip(&answers)))
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
