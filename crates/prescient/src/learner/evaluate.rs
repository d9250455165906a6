//! Asks a predictor for the class of every test image. All classes compete.

use crate::class::{Slot, Slots};
use crate::data::{Augmentation, View};
use crate::engine::{DeviceCache, Processes, TaskBatches};
use crate::error::LearnError;
use crate::evaluation::{Answers, Best, Points, Probabilities, Scatter};
use crate::learner::frozen::{CHUNK, FrozenFeatures};
use crate::learner::scatter::{Collector, plain, unit};
use crate::learner::split::{gathered_best, gathered_numbers, gathered_slots};
use crate::learner::{Event, Observer};
use crate::predictor::{BATCH_SIZE, HeadKind, Predictor};
use crate::protocol::{TaskData, Usage};
use crate::seeds::Seeds;
use std::ops::Range;
use std::sync::Arc;
use tch::Tensor;

/// Takes features of test images and the slots of their classes.
type Take<'a> = dyn FnMut(&Tensor, &[Slot]) -> Result<(), LearnError> + 'a;

/// Who is asked, and which of the test images.
struct Asked<'a> {
    predictor: &'a Predictor,
    data: &'a TaskData,
    part: Range<usize>,
}

/// Evaluates one predictor after the other on the same test images.
pub struct Evaluator {
    seeds: Seeds,
    threads: usize,
    /// Whether features are kept with length 1 to be drawn: as long as the ghosts beside them are.
    unit: bool,
    /// The test images on a GPU: nothing is known yet, or whether they fit there.
    cache: Option<Option<DeviceCache>>,
    /// Features that need not be computed again: those of a network that does not change.
    frozen: Option<FrozenFeatures>,
    /// Who answers for a part of the images each.
    processes: Processes,
}

impl Evaluator {
    /// `seeds` choose which features are kept to be drawn; with `unit` they are scaled to length 1.
    pub fn new(seeds: Seeds, threads: usize, unit: bool) -> Self {
        Self { seeds, threads, unit, cache: None, frozen: None, processes: Processes::alone() }
    }

    /// The same as one of several processes, each of which answers for a part of the images.
    pub fn among(self, processes: Processes) -> Self {
        Self { processes, ..self }
    }

    /// The answers for all test images. Of the seen and of the future classes the best is kept with its score.
    pub fn evaluate(
        &mut self,
        predictor: &Predictor,
        data: &TaskData,
        observer: &mut dyn Observer,
    ) -> Result<Answers, LearnError> {
        data.enter("evaluate");
        let task = predictor.about().task;
        let calibration = predictor.about().calibration;
        let (seen, future) = (predictor.seen().range(), predictor.future().range());
        let all: Vec<Slot> = (0..future.end).map(|slot| Slot(slot as u32)).collect();
        let mut answers = Answers {
            unseen: (!future.is_empty()).then(Best::default),
            offset: calibration.harmonic,
            own_offset: calibration.own,
            ..Default::default()
        };
        let mut probabilities = Probabilities::default();
        let part = self.part(predictor, data);
        let mut collector = Collector::new(data, self.seeds).from(part.start);
        let mut take = |features: &Tensor, slots: &[Slot]| -> Result<(), LearnError> {
            collector.take(features, slots)?;
            let scores = predictor.scores(features);
            extend(&mut answers.seen, &scores, seen.clone(), &all)?;
            if let Some(unseen) = &mut answers.unseen {
                extend(unseen, &scores, future.clone(), &all)?;
            }
            for row in Vec::<Vec<f32>>::try_from(scores)? {
                let found = predictor.probabilities(&row);
                let answer = answers.answer(probabilities.answer.len());
                probabilities.answer.push(found[answer.index()]);
                probabilities
                    .unseen
                    .extend(answers.unseen.is_some().then(|| found[future.clone()].iter().sum::<f32>()));
            }
            Ok(())
        };
        match predictor.head().kind() {
            HeadKind::Cosine => self.look(&Asked { predictor, data, part }, observer, &mut take)?,
            HeadKind::Gaussian => self.remember(&Asked { predictor, data, part }, observer, &mut take)?,
        }
        answers.truth = data.test().iter().map(|sample| data.slot(sample)).collect();
        answers.seen = gathered_best(&self.processes, answers.seen)?;
        answers.unseen = answers.unseen.map(|unseen| gathered_best(&self.processes, unseen)).transpose()?;
        answers.probabilities = Some(Probabilities {
            answer: gathered_numbers(&self.processes, probabilities.answer)?,
            unseen: gathered_numbers(&self.processes, probabilities.unseen)?,
        });
        collector.slots = gathered_slots(&self.processes, collector.slots)?;
        collector.values = gathered_numbers(&self.processes, collector.values)?;
        let scores = answers.unseen.iter().chain([&answers.seen]).flat_map(|best| &best.scores);
        if scores.into_iter().any(|score| !score.is_finite()) {
            return Err(LearnError::Diverged { task });
        }
        observer.on_event(&Event::Evaluated { task, answers: &answers });
        let scatter = self.scatter(predictor, collector)?;
        observer.on_event(&Event::Scattered { task, scatter: &scatter });
        Ok(answers)
    }

    /// The images that this process answers for: whole batches.
    fn part(&self, predictor: &Predictor, data: &TaskData) -> Range<usize> {
        let batch = match predictor.head().kind() {
            HeadKind::Cosine => BATCH_SIZE,
            HeadKind::Gaussian => CHUNK,
        };
        self.processes.part(data.test().len(), batch)
    }

    /// Looks at the images.
    fn look(&mut self, asked: &Asked<'_>, observer: &mut dyn Observer, take: &mut Take<'_>) -> Result<(), LearnError> {
        let Asked { predictor, data, ref part } = *asked;
        let batches =
            TaskBatches::for_test(Arc::new(data.clone()), predictor.input().clone(), BATCH_SIZE, self.threads);
        self.fill_cache(predictor, data)?;
        observer.on_event(&Event::StageStarted { stage: "evaluate", steps: part.len().div_ceil(BATCH_SIZE) });
        let cache = self.cache.as_ref().and_then(Option::as_ref);
        for batch in batches.test(cache, BATCH_SIZE, part.clone()) {
            let batch = batch?;
            take(&predictor.features(batch.batch()), &batch.batch().slots)?;
            observer.on_event(&Event::Step);
        }
        Ok(())
    }

    /// Looks at those images that the same network has not looked at before.
    fn remember(
        &mut self,
        asked: &Asked<'_>,
        observer: &mut dyn Observer,
        take: &mut Take<'_>,
    ) -> Result<(), LearnError> {
        let Asked { predictor, data, ref part } = *asked;
        let eye = (predictor.network(), predictor.input());
        observer.on_event(&Event::StageStarted { stage: "evaluate", steps: part.len().div_ceil(CHUNK) });
        if self.frozen.is_none() {
            self.frozen = Some(FrozenFeatures::open(eye.0, eye.1)?);
        }
        let frozen = self.frozen.as_mut().expect("just opened");
        let samples = &data.test()[part.clone()];
        let (features, _) = frozen.of(eye, (data, Usage::Test), samples, observer)?;
        let slots: Vec<Slot> = samples.iter().map(|sample| data.slot(sample)).collect();
        for (place, slots) in slots.chunks(BATCH_SIZE).enumerate() {
            let rows = features.narrow(0, (place * BATCH_SIZE) as i64, slots.len() as i64);
            take(&rows.to_device(predictor.device()), slots)?;
        }
        Ok(())
    }

    /// Lays the test images out on a GPU, once for all tasks.
    fn fill_cache(&mut self, predictor: &Predictor, data: &TaskData) -> Result<(), LearnError> {
        if self.cache.is_none() {
            // Nothing of a test image is drawn at random.
            let view = View { augmentation: Augmentation::default(), ..predictor.input().view() };
            let device = predictor.device();
            self.cache = Some(match device.is_cuda() {
                true => DeviceCache::gather(data.test(), |sample| data.test_image(sample), view, device)?,
                false => None,
            });
        }
        Ok(())
    }

    /// What was collected, with the proxies beside it where they can be drawn: in a plane.
    fn scatter(&self, predictor: &Predictor, collected: Collector) -> Result<Scatter, LearnError> {
        let proxies = predictor.head().rows();
        let width = proxies.size()[1] as usize;
        let real = Points { slots: collected.slots, values: collected.values };
        Ok(Scatter {
            width,
            real: if self.unit { unit(real, width) } else { real },
            images: collected.images,
            proxies: match width {
                2 => Points {
                    slots: Slots::new(0, proxies.size()[0] as usize).iter().collect(),
                    values: plain(proxies)?,
                },
                _ => Points::default(),
            },
            ..Default::default()
        })
    }
}

/// Adds the best of some `columns` of `similarities`, `[batch, classes]`, for each row; `slots` says what columns mean.
pub(crate) fn extend(
    best: &mut Best,
    similarities: &Tensor,
    columns: Range<usize>,
    slots: &[Slot],
) -> Result<(), LearnError> {
    let start = columns.start;
    let columns = similarities.narrow(1, start as i64, columns.len() as i64);
    let (scores, places) = columns.max_dim(1, false);
    let places = Vec::<i64>::try_from(places)?;
    best.slots.extend(places.into_iter().map(|place| slots[start + place as usize]));
    best.scores.extend(Vec::<f32>::try_from(scores)?);
    Ok(())
}
