//! Asks a predictor for the class of every test image. All classes compete.

use crate::class::{Slot, Slots};
use crate::engine::{DeviceCache, TaskBatches};
use crate::error::LearnError;
use crate::evaluation::{Answers, Best, Points, Scatter};
use crate::learner::scatter::{Collector, plain, unit};
use crate::learner::{Event, Observer};
use crate::predictor::{BATCH_SIZE, Predictor};
use crate::protocol::TaskData;
use crate::seeds::Seeds;
use std::ops::Range;
use std::sync::Arc;
use tch::Tensor;

/// Evaluates one predictor after the other on the same test images.
pub struct Evaluator {
    seeds: Seeds,
    threads: usize,
    /// Whether features are kept with length 1 to be drawn: as long as the ghosts beside them are.
    unit: bool,
    /// The test images on a GPU: nothing is known yet, or whether they fit there.
    cache: Option<Option<DeviceCache>>,
}

impl Evaluator {
    /// `seeds` choose which features are kept to be drawn; with `unit` they are scaled to length 1.
    pub fn new(seeds: Seeds, threads: usize, unit: bool) -> Self {
        Self { seeds, threads, unit, cache: None }
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
        let batches =
            TaskBatches::for_test(Arc::new(data.clone()), predictor.input().clone(), BATCH_SIZE, self.threads);
        self.fill_cache(predictor, data)?;
        observer.on_event(&Event::StageStarted { stage: "evaluate", steps: data.test().len().div_ceil(BATCH_SIZE) });

        let calibration = predictor.about().calibration;
        let mut answers = Answers { offset: calibration.harmonic, own_offset: calibration.own, ..Default::default() };
        let (seen, future) = (predictor.seen().range(), predictor.future().range());
        let all: Vec<Slot> = (0..future.end).map(|slot| Slot(slot as u32)).collect();
        let mut unseen = Best::default();
        let mut collector = Collector::new(data, self.seeds);
        let cache = self.cache.as_ref().and_then(Option::as_ref);
        for batch in batches.test(cache, BATCH_SIZE) {
            let batch = batch?;
            let (batch, features) = (batch.batch(), predictor.features(batch.batch()));
            collector.take(&features, &batch.slots)?;
            let similarities = predictor.similarities(&features);
            answers.truth.extend(&batch.slots);
            extend(&mut answers.seen, &similarities, seen.clone(), &all)?;
            if !future.is_empty() {
                extend(&mut unseen, &similarities, future.clone(), &all)?;
            }
            observer.on_event(&Event::Step);
        }
        if !future.is_empty() {
            answers.unseen = Some(unseen);
        }
        let scores = answers.unseen.iter().chain([&answers.seen]).flat_map(|best| &best.scores);
        if scores.into_iter().any(|score| !score.is_finite()) {
            return Err(LearnError::Diverged { task });
        }
        observer.on_event(&Event::Evaluated { task, answers: &answers });
        let scatter = self.scatter(predictor, collector)?;
        observer.on_event(&Event::Scattered { task, scatter: &scatter });
        Ok(answers)
    }

    /// Lays the test images out on a GPU, once for all tasks.
    fn fill_cache(&mut self, predictor: &Predictor, data: &TaskData) -> Result<(), LearnError> {
        if self.cache.is_none() {
            let (view, device) = (predictor.input().view(), predictor.device());
            self.cache = Some(match device.is_cuda() {
                true => DeviceCache::gather(data.test(), |sample| data.test_image(sample), view, device)?,
                false => None,
            });
        }
        Ok(())
    }

    /// What was collected, with the proxies beside it where they can be drawn: in a plane.
    fn scatter(&self, predictor: &Predictor, collected: Collector) -> Result<Scatter, LearnError> {
        let proxies = predictor.proxies();
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
