//! Images that are drawn on the spot, so that everything can be tried without a download.
//!
//! A class is a combination of attributes, `two large red striped circles`, and every attribute of a late class is
//! known from several early ones: a class to come can be guessed from what it is said to look like. What belongs to no
//! class (place, turn, light, clutter, noise, …) is drawn anew for each image.

mod canvas;
mod classes;
mod dice;
mod draw;
mod shapes;

use crate::catalogue::{Catalogue, Scale};
use crate::class::ClassId;
use crate::data::{Channels, Dataset, DatasetInfo, DatasetKind, DatasetOptions, Image, Normalization, Sample, Subset};
use crate::error::DataError;
use crate::seeds::Seeds;
use bytes::Bytes;
use classes::CLASSES;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which images are drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SyntheticSettings {
    /// Training images of each class.
    pub train: usize,
    /// Test images of each class.
    pub test: usize,
}

impl Default for SyntheticSettings {
    fn default() -> Self {
        Self { train: 150, test: 40 }
    }
}

/// The seed of the drawing.
const SEED: u64 = 0;

impl DatasetKind for SyntheticSettings {
    const INFO: DatasetInfo = DatasetInfo {
        name: "synthetic",
        about: "small colour images whose classes are combinations of attributes, drawn from a seed",
        needs: "nothing",
        photos: false,
        in_memory: true,
    };

    fn with(options: DatasetOptions) -> Self {
        let usual = Self::default();
        Self { train: options.per_class.unwrap_or(usual.train), ..usual }
    }

    fn open(&self) -> Result<Arc<dyn Dataset>, DataError> {
        Ok(Arc::new(Synthetic::new(self)))
    }
}

/// The drawn dataset: 24 classes, 32×32 pixels, in colour.
pub struct Synthetic {
    catalogue: Catalogue,
    train: Drawn,
    test: Drawn,
}

/// One side, class after class.
struct Drawn {
    per_class: usize,
    samples: Vec<Sample>,
    pixels: Bytes,
}

impl Synthetic {
    /// Draws all images, on all cores.
    pub fn new(settings: &SyntheticSettings) -> Self {
        Self {
            catalogue: Scale::UnitL2.scaled(&classes::catalogue()),
            train: Drawn::new(SEED, Subset::Train, settings.train),
            test: Drawn::new(SEED, Subset::Test, settings.test),
        }
    }

    fn side(&self, subset: Subset) -> &Drawn {
        match subset {
            Subset::Train => &self.train,
            Subset::Test => &self.test,
        }
    }
}

impl Drawn {
    fn new(seed: u64, subset: Subset, per_class: usize) -> Self {
        // Named by what the image is, never by how many there are: image 7 stays image 7 when more are asked for.
        let name = match subset {
            Subset::Train => "synthetic train",
            Subset::Test => "synthetic test",
        };
        let mut pixels = vec![0; CLASSES.len() * per_class * draw::BYTES];
        pixels.par_chunks_exact_mut(draw::BYTES).enumerate().for_each(|(index, out)| {
            let (class, image) = (index / per_class, index % per_class);
            let stream = Seeds::new(seed).child(name, class).stream("image", image);
            draw::draw(&CLASSES[class], stream, out);
        });
        let samples = (0..CLASSES.len() * per_class).map(|index| Sample {
            subset,
            index: u32::try_from(index).expect("fewer than 2³² images fit in memory"),
            class: ClassId((index / per_class) as u32),
        });
        Self { per_class, samples: samples.collect(), pixels: pixels.into() }
    }
}

impl Dataset for Synthetic {
    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn samples(&self, subset: Subset) -> &[Sample] {
        &self.side(subset).samples
    }

    fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        let from = sample.index as usize * draw::BYTES;
        let pixels = self.side(sample.subset).pixels.slice(from..from + draw::BYTES);
        Ok(Image { width: draw::SIDE as u32, height: draw::SIDE as u32, channels: Channels::Rgb, pixels })
    }

    fn name(&self, sample: &Sample) -> String {
        let side = match sample.subset {
            Subset::Train => "train",
            Subset::Test => "test",
        };
        let within = sample.index as usize % self.side(sample.subset).per_class;
        format!("{side}/{}/{within:04}", self.catalogue.name(sample.class))
    }

    fn channels(&self) -> Channels {
        Channels::Rgb
    }

    /// Measured over the training images of the default settings.
    fn normalization(&self) -> Normalization {
        Normalization { mean: MEAN, std: STD }
    }

    fn size(&self) -> u32 {
        draw::SIDE as u32
    }
}

const MEAN: [f64; 3] = [0.4677, 0.4649, 0.4443];
const STD: [f64; 3] = [0.3165, 0.3131, 0.3128];

#[cfg(test)]
mod tests {
    use super::*;

    fn few(train: usize, test: usize) -> Synthetic {
        Synthetic::new(&SyntheticSettings { train, test })
    }

    fn pixels(data: &Synthetic, subset: Subset, index: usize) -> Bytes {
        data.image(&data.samples(subset)[index]).expect("a drawn image").pixels
    }

    #[test]
    fn every_class_has_as_many_images_as_asked_for() {
        let data = few(3, 2);
        for (subset, expected) in [(Subset::Train, 3), (Subset::Test, 2)] {
            let samples = data.samples(subset);
            assert_eq!(samples.len(), 24 * expected);
            assert!(
                samples.iter().enumerate().all(|(i, sample)| sample.index as usize == i && sample.subset == subset)
            );
            for class in 0..24 {
                assert_eq!(samples.iter().filter(|sample| sample.class == ClassId(class)).count(), expected);
            }
        }
    }

    #[test]
    fn no_images_are_a_dataset_too() {
        let data = few(0, 0);
        assert!(data.samples(Subset::Train).is_empty());
        assert_eq!(data.catalogue().len(), 24);
    }

    #[test]
    fn the_same_seed_draws_the_same_images() {
        let pixels = |seed| Drawn::new(seed, Subset::Train, 2).pixels;
        assert_eq!(pixels(3), pixels(3));
        assert_ne!(pixels(3), pixels(4));
    }

    #[test]
    fn an_image_does_not_depend_on_how_many_are_asked_for() {
        let (few, more) = (few(2, 1), few(5, 3));
        // Image 1 of class 7.
        assert_eq!(pixels(&few, Subset::Train, 7 * 2 + 1), pixels(&more, Subset::Train, 7 * 5 + 1));
        assert_eq!(pixels(&few, Subset::Test, 7), pixels(&more, Subset::Test, 7 * 3));
    }

    #[test]
    fn no_image_is_on_both_sides_or_twice() {
        let data = few(4, 4);
        let mut all: Vec<Bytes> = (0..96).map(|i| pixels(&data, Subset::Train, i)).collect();
        all.extend((0..96).map(|i| pixels(&data, Subset::Test, i)));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 192);
    }

    #[test]
    fn no_image_is_blank() {
        let data = few(4, 0);
        for sample in data.samples(Subset::Train) {
            let pixels = pixels(&data, Subset::Train, sample.index as usize);
            let mean = pixels.iter().map(|&p| f64::from(p)).sum::<f64>() / pixels.len() as f64;
            let variance = pixels.iter().map(|&p| (f64::from(p) - mean).powi(2)).sum::<f64>() / pixels.len() as f64;
            assert!((10.0..245.0).contains(&mean), "{}: mean {mean}", data.name(sample));
            assert!(variance.sqrt() > 15.0, "{}: deviation {}", data.name(sample), variance.sqrt());
        }
    }

    /// The constants, measured again on a part of the images.
    #[test]
    fn the_normalization_is_that_of_the_pixels() {
        let data = few(40, 0);
        let count = (data.train.pixels.len() / 3) as f64;
        for channel in 0..3 {
            let values = || data.train.pixels.iter().skip(channel).step_by(3).map(|&p| f64::from(p) / 255.0);
            let mean = values().sum::<f64>() / count;
            let std = (values().map(|v| (v - mean).powi(2)).sum::<f64>() / count).sqrt();
            assert!((mean - MEAN[channel]).abs() < 0.01, "mean {mean}");
            assert!((std - STD[channel]).abs() < 0.01, "deviation {std}");
        }
    }

    #[test]
    fn an_image_has_a_name() {
        let data = few(8, 1);
        let sample = data.samples(Subset::Train)[8 + 7];
        assert_eq!(data.name(&sample), format!("train/{}/0007", data.catalogue().name(ClassId(1))));
    }

    /// Records and accuracies that people quote were made from these very bytes.
    #[test]
    fn images_stay_what_they_were() {
        let data = few(1, 1);
        let hash = blake3::hash(&[&data.train.pixels[..], &data.test.pixels[..]].concat());
        assert_eq!(hash.to_hex()[..16], *"305338463d980db2", "drawing has changed: every recorded result has, too");
    }
}
