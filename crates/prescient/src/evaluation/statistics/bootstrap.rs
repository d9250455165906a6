//! One run of each model: where the difference would lie on other test images like these.
//!
//! Images are drawn anew, with replacement and class by class, and the mean difference is taken each time; its middle 95 % are the
//! interval. Class by class, for how many images each class has is no chance: a difference over the ten images of unseen classes
//! would else reach beyond 100 %. It tells of test images, not of seeds: how another training would have come out, one run cannot say.

use crate::evaluation::statistics::Difference;
use crate::evaluation::statistics::paired::SURE;
use crate::seeds::Seeds;
use rand::RngExt;
use std::collections::BTreeMap;

/// How often images are drawn anew.
const DRAWS: usize = 10_000;

/// The mean of the differences image by image, with the class of each image; none where there is no image. The same differences give
/// the same interval.
pub fn bootstrap<C: Ord>(differences: &[(C, f64)]) -> Option<Difference> {
    if differences.is_empty() {
        return None;
    }
    let count = differences.len();
    let mut classes: BTreeMap<&C, Vec<f64>> = BTreeMap::new();
    differences.iter().for_each(|(class, difference)| classes.entry(class).or_default().push(*difference));
    let mut stream = Seeds::new(0).stream("bootstrap", count);
    let mut draw = || {
        let mut sum = 0.0;
        for class in classes.values() {
            sum += (0..class.len()).map(|_| class[stream.random_range(0..class.len())]).sum::<f64>();
        }
        sum / count as f64
    };
    let mut means: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[((DRAWS - 1) as f64 * share).round() as usize];
    let tail = (1.0 - SURE) / 2.0;
    let below = means.iter().filter(|mean| **mean <= 0.0).count();
    let above = means.iter().filter(|mean| **mean >= 0.0).count();
    let p = (2.0 * (below.min(above) + 1) as f64 / (DRAWS + 1) as f64).min(1.0);
    let mean = differences.iter().map(|(_, difference)| difference).sum::<f64>() / count as f64;
    Some(Difference { mean, interval: (at(tail), at(1.0 - tail)), p })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 400 images, 100 better and 20 worse: the mean is 0.2, an image's deviation √(0.3 − 0.04) = 0.51, so that of the
    /// mean 0.0255, and 1.96 times that reaches 0.05 to either side.
    #[test]
    fn the_interval_is_as_wide_as_the_images_spread() {
        let difference = |image: i32| match image {
            ..100 => 1.0,
            100..120 => -1.0,
            _ => 0.0,
        };
        let differences: Vec<(u8, f64)> = (0..400).map(|image| (0, difference(image))).collect();
        let found = bootstrap(&differences).expect("images");
        assert!((found.mean - 0.2).abs() < 1e-12);
        assert!((found.interval.0 - 0.15).abs() < 0.004, "{:?}", found.interval);
        assert!((found.interval.1 - 0.25).abs() < 0.004, "{:?}", found.interval);
        assert!(found.p < 0.001);
        assert_eq!(bootstrap(&differences), Some(found));
    }

    #[test]
    fn where_nothing_differs_nothing_is_found() {
        assert_eq!(bootstrap(&[(0, 0.0); 9]), Some(Difference { mean: 0.0, interval: (0.0, 0.0), p: 1.0 }));
        assert_eq!(bootstrap::<u8>(&[]), None);
    }

    /// Two images of a class that is asked about, won both, weigh 10 each; eighteen of others weigh nothing. However images are drawn,
    /// two of twenty are of that class: a difference of 1 and no more.
    #[test]
    fn how_many_images_a_class_has_is_no_chance() {
        let differences: Vec<(u8, f64)> = (0..20).map(|image| if image < 2 { (1, 10.0) } else { (0, 0.0) }).collect();
        assert_eq!(bootstrap(&differences).expect("images").interval, (1.0, 1.0));
    }
}
