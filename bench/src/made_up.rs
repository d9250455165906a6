//! A dataset of any shape, made up: what a run costs depends on sizes, not on what is seen.

use prescient::catalogue::Catalogue;
use prescient::class::ClassId;
use prescient::data::{Channels, Dataset, Image, Normalization, Sample, Subset};
use prescient::error::DataError;

/// Classes of coloured squares, as many images of each as its share of `train` and `test`.
pub(super) struct MadeUp {
    catalogue: Catalogue,
    size: u32,
    mixed: bool,
    sides: [Vec<Sample>; 2],
}

impl MadeUp {
    /// `train` and `test` images in all, of `size` pixels a side.
    pub(super) fn new(classes: u16, (train, test): (usize, usize), size: u32) -> Self {
        let names = (0..classes).map(|class| format!("class {class:02}")).collect();
        let attributes = (0..85).map(|attribute| format!("attribute {attribute}")).collect();
        let row =
            |class: u16| (0..85).map(|place| (mixed(u64::from(class) << 8 | place) % 100) as f32 / 100.0).collect();
        let side = |subset: Subset, count: usize| {
            let one = |index: usize| Sample {
                subset,
                index: u32::try_from(index).expect("fewer than 2³² images"),
                // In even shares, class after class.
                class: ClassId((index * usize::from(classes) / count) as u32),
            };
            (0..count).map(one).collect()
        };
        Self {
            catalogue: Catalogue::new(names, attributes, (0..classes).map(row).collect()),
            size,
            mixed: false,
            sides: [side(Subset::Train, train), side(Subset::Test, test)],
        }
    }

    /// The same with images of 200 to 1,200 pixels either way, as photos come; a model still takes squares of `size`.
    pub(super) fn of_mixed_sizes(self) -> Self {
        Self { mixed: true, ..self }
    }
}

/// Some width and height from 200 to 1,200, for each number another.
pub(super) fn mixed_size(number: u64) -> (u32, u32) {
    let side = |half: u64| 200 + (mixed(number << 1 | half) % 1001) as u32;
    (side(0), side(1))
}

/// Some other number for each number (the last step of SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

impl Dataset for MadeUp {
    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn samples(&self, subset: Subset) -> &[Sample] {
        &self.sides[usize::from(subset == Subset::Test)]
    }

    /// 64 squares; half of them are the class's, the others the image's own.
    fn image(&self, sample: &Sample) -> Result<Image, DataError> {
        let side = u64::from(sample.subset == Subset::Test);
        let colour = |square: u64| {
            let own = square.is_multiple_of(2);
            let whose = if own { u64::from(sample.index) * 2 + side } else { u64::from(sample.class.0) << 40 };
            mixed(whose << 8 | square).to_le_bytes()
        };
        let colours: Vec<[u8; 8]> = (0..64).map(colour).collect();
        let (width, height) = match self.mixed {
            true => mixed_size(u64::from(sample.index) * 2 + side),
            false => (self.size, self.size),
        };
        let row = |y: u32| {
            let colours = &colours[(y * 8 / height) as usize * 8..];
            (0..width).flat_map(move |x| colours[(x * 8 / width) as usize].into_iter().take(3))
        };
        Ok(Image { width, height, channels: Channels::Rgb, pixels: (0..height).flat_map(row).collect() })
    }

    fn name(&self, sample: &Sample) -> String {
        let side = if sample.subset == Subset::Train { "train" } else { "test" };
        format!("{side}/{}/{:05}", self.catalogue.name(sample.class), sample.index)
    }

    fn channels(&self) -> Channels {
        Channels::Rgb
    }

    fn normalization(&self) -> Normalization {
        Normalization { mean: [0.5; 3], std: [0.25; 3] }
    }

    fn size(&self) -> u32 {
        self.size
    }
}
