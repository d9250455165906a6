//! All that the closed form keeps of the photos it has learned from: sums, and a few features.
//!
//! Sums add up. Learned in one task or in ten, in any order, in one process or in several: the same sums, up to rounding.
//! So they can be merged, and what a class added can be taken away again.

use super::products::Products;
use crate::error::LearnError;
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// Features kept of each class to choose settings by, at most. They are the ones with the smallest digests of their photos,
/// whatever came first: a draw that does not depend on the order.
pub(super) const SAMPLE: usize = 48;

/// Features kept of all classes together, about: with very many classes, fewer of each.
const SAMPLE_OF_ALL: usize = 20_000;

/// Classes fall into so many folds by their names. What photos scatter by is kept fold by fold: a class that plays one with few
/// photos must not have shaped the covariance with all of its own.
pub(super) const FOLDS: usize = 5;

/// Photos whose features are added up together.
pub(super) const ROWS: usize = 8192;

/// Those of them whose features are multiplied together: in double precision they still lie near the processor.
const TOGETHER: usize = 1024;

/// The fold of a class.
pub(super) fn fold(class: &str) -> usize {
    usize::from(blake3::hash(class.as_bytes()).as_bytes()[0]) % FOLDS
}

/// What is kept of one class.
#[derive(Debug, Default)]
pub struct ClassSums {
    /// `n_c`: how many photos it has.
    pub count: u64,
    /// The sum of their features.
    sum: Vec<f64>,
    /// A few of their features by the digests of their photos, the smallest first.
    pub sample: BTreeMap<[u8; 32], Vec<f32>>,
    /// The sum of the products of their features with themselves, `[width, width]`, where classes can be forgotten.
    gram: Option<Tensor>,
}

impl ClassSums {
    /// Adds the feature of one photo, and keeps it if it is among the first `most` by their digests.
    fn add(&mut self, feature: &[f32], photo: [u8; 32], most: usize) {
        self.count += 1;
        self.sum.iter_mut().zip(feature).for_each(|(sum, number)| *sum += f64::from(*number));
        if self.sample.len() < most || self.sample.last_key_value().is_some_and(|(last, _)| photo < *last) {
            self.sample.insert(photo, feature.to_vec());
        }
        if self.sample.len() > most {
            self.sample.pop_last();
        }
    }

    /// `m_c`: the mean feature, `[width]`.
    pub fn mean(&self) -> Tensor {
        self.sum() / self.count as f64
    }

    /// The sum of their features, `[width]`.
    pub fn sum(&self) -> Tensor {
        Tensor::from_slice(&self.sum)
    }
}

/// What is kept of all classes that have photos.
#[derive(Debug)]
pub struct Sums {
    width: usize,
    /// By name.
    classes: BTreeMap<String, ClassSums>,
    /// The sum of the products of features with themselves, fold by fold.
    grams: Vec<Products>,
    forgettable: bool,
}

impl Sums {
    /// No photo yet, for features of `width` numbers. Of classes that are to be forgotten one day more must be kept:
    /// `width²` numbers each.
    pub fn new(width: usize, forgettable: bool) -> Self {
        Self { width, classes: BTreeMap::new(), grams: (0..FOLDS).map(|_| Products::new(width)).collect(), forgettable }
    }

    /// The same once more, to be changed by itself.
    pub(super) fn copied(&self) -> Self {
        let one = |(name, class): (&String, &ClassSums)| {
            let (sum, gram) = (class.sum.clone(), class.gram.as_ref().map(Tensor::copy));
            (name.clone(), ClassSums { count: class.count, sum, sample: class.sample.clone(), gram })
        };
        Self {
            width: self.width,
            classes: self.classes.iter().map(one).collect(),
            grams: self.grams.iter().map(Products::copied).collect(),
            forgettable: self.forgettable,
        }
    }

    /// How many numbers a feature has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The classes that have photos, by name.
    pub fn classes(&self) -> &BTreeMap<String, ClassSums> {
        &self.classes
    }

    /// How many photos there were.
    pub fn photos(&self) -> u64 {
        self.classes.values().map(|class| class.count).sum()
    }

    /// Takes photos of one class over: their features of length 1, `[photos, width]`, and the digests of the photos.
    pub fn add(&mut self, class: &str, features: &Tensor, photos: &[[u8; 32]]) -> Result<(), LearnError> {
        assert_eq!(features.size(), [photos.len() as i64, self.width as i64], "a row for each photo");
        if photos.is_empty() {
            return Ok(());
        }
        let rows = features.to_kind(Kind::Double);
        let mut products = Products::new(self.width);
        products.add(&rows);
        let values = Vec::<f32>::try_from(features.to_kind(Kind::Float).contiguous().view([-1]))?;
        let sample = photos.iter().zip(values.chunks(self.width)).map(|(photo, row)| (*photo, row.to_vec())).collect();
        let one = ClassSums {
            count: photos.len() as u64,
            sum: Vec::<f64>::try_from(rows.sum_dim_intlist([0i64].as_slice(), false, Kind::Double))?,
            sample,
            gram: self.forgettable.then(|| products.whole()),
        };
        self.grams[fold(class)] += &products;
        self.put(class, one);
        self.trim();
        Ok(())
    }

    /// The same for photos of many classes: `classes` has the class of each. A product of all features of a fold at once takes far
    /// less time than one for each class.
    ///
    /// # Panics
    /// If the sums were made to forget, which asks for a product for each class.
    pub fn add_all(&mut self, classes: &[&str], features: &Tensor, photos: &[[u8; 32]]) -> Result<(), LearnError> {
        assert_eq!(features.size(), [photos.len() as i64, self.width as i64], "a row for each photo");
        assert!(!self.forgettable && classes.len() == photos.len(), "a class for each photo, and none to forget");
        for start in (0..photos.len()).step_by(ROWS) {
            let count = ROWS.min(photos.len() - start);
            let rows = features.narrow(0, start as i64, count as i64);
            self.add_some(&classes[start..start + count], &rows, &photos[start..start + count])?;
        }
        self.trim();
        Ok(())
    }

    fn add_some(&mut self, classes: &[&str], features: &Tensor, photos: &[[u8; 32]]) -> Result<(), LearnError> {
        let mut folds: Vec<Vec<i64>> = vec![Vec::new(); FOLDS];
        for (row, class) in (0..).zip(classes) {
            folds[fold(class)].push(row);
            if !self.classes.contains_key(*class) {
                let none = ClassSums { sum: vec![0.0; self.width], ..Default::default() };
                self.classes.insert((*class).to_owned(), none);
            }
        }
        let most = self.most();
        let features = features.to_kind(Kind::Float);
        let mut values = vec![0.0; TOGETHER * self.width];
        for (gram, rows) in self.grams.iter_mut().zip(&folds) {
            for rows in rows.chunks(TOGETHER) {
                let together = features.index_select(0, &Tensor::from_slice(rows));
                gram.add(&together.to_kind(Kind::Double));
                together.f_copy_data(&mut values, rows.len() * self.width)?;
                for (&row, feature) in rows.iter().zip(values.chunks(self.width)) {
                    let class = self.classes.get_mut(classes[row as usize]).expect("just put there");
                    class.add(feature, photos[row as usize], most);
                }
            }
        }
        Ok(())
    }

    /// Adds what another one has learned.
    ///
    /// # Panics
    /// If its features have another width: they are of another network.
    pub fn merge(&mut self, other: Self) {
        assert_eq!(self.width, other.width, "features of one network");
        self.grams.iter_mut().zip(&other.grams).for_each(|(gram, other)| *gram += other);
        for (name, class) in other.classes {
            self.put(&name, class);
        }
        self.trim();
    }

    /// Forgets a class, as if it had never been learned. Whether it was there.
    ///
    /// # Panics
    /// If the sums were not made to forget.
    pub fn forget(&mut self, class: &str) -> bool {
        let Some(forgotten) = self.classes.remove(class) else { return false };
        self.grams[fold(class)] -= &Products::from_whole(&forgotten.gram.expect("sums that were made to forget"));
        true
    }

    /// The scatter of photos around the means of their classes, `[width, width]`, and how many photos speak of it beyond one of
    /// each class. Without the classes of a fold, where there is one.
    pub(super) fn within(&self, without: Option<usize>) -> (Tensor, f64) {
        let mut within = square(self.width);
        for (_, gram) in self.grams.iter().enumerate().filter(|(place, _)| Some(*place) != without) {
            within += gram.whole();
        }
        let counted: Vec<&ClassSums> =
            self.classes.iter().filter(|(name, _)| Some(fold(name)) != without).map(|(_, class)| class).collect();
        if !counted.is_empty() {
            let roots: Vec<Tensor> = counted.iter().map(|class| class.sum() / (class.count as f64).sqrt()).collect();
            let roots = Tensor::stack(&roots, 0);
            within -= roots.tr().matmul(&roots);
        }
        (within, counted.iter().map(|class| class.count as f64 - 1.0).sum())
    }

    /// The means of all classes by name, `[classes, width]`, and how many photos each has, `[classes]`.
    pub fn means(&self) -> Option<(Tensor, Tensor)> {
        if self.classes.is_empty() {
            return None;
        }
        let means: Vec<Tensor> = self.classes.values().map(ClassSums::mean).collect();
        let counts: Vec<f64> = self.classes.values().map(|class| class.count as f64).collect();
        Some((Tensor::stack(&means, 0), Tensor::from_slice(&counts)))
    }

    fn put(&mut self, name: &str, one: ClassSums) {
        match self.classes.get_mut(name) {
            None => drop(self.classes.insert(name.to_owned(), one)),
            Some(class) => {
                class.count += one.count;
                class.sum.iter_mut().zip(one.sum).for_each(|(sum, more)| *sum += more);
                class.sample.extend(one.sample);
                class.gram = class.gram.take().zip(one.gram).map(|(before, more)| before + more);
            }
        }
    }

    /// Features kept of each class, at most.
    fn most(&self) -> usize {
        SAMPLE.min((SAMPLE_OF_ALL / self.classes.len().max(1)).max(2))
    }

    /// Keeps the sample of each class small.
    fn trim(&mut self) {
        let most = self.most();
        for class in self.classes.values_mut() {
            while class.sample.len() > most {
                class.sample.pop_last();
            }
        }
    }

    /// The sums of products, fold by fold, `[width, width]` each, to be written.
    pub(super) fn grams(&self) -> impl Iterator<Item = Tensor> {
        self.grams.iter().map(Products::whole)
    }

    /// From what was written.
    pub(super) fn from_parts(width: usize, classes: BTreeMap<String, ClassSums>, grams: Vec<Tensor>) -> Self {
        let forgettable = !classes.is_empty() && classes.values().all(|class| class.gram.is_some());
        let grams = grams.iter().map(Products::from_whole).collect();
        Self { width, classes, grams, forgettable }
    }
}

impl ClassSums {
    /// From what was written.
    pub(super) fn from_parts(
        count: u64,
        sum: Vec<f64>,
        sample: BTreeMap<[u8; 32], Vec<f32>>,
        gram: Option<Tensor>,
    ) -> Self {
        Self { count, sum, sample, gram }
    }

    /// What it added to the sum of products, where classes can be forgotten.
    pub(super) fn gram(&self) -> Option<&Tensor> {
        self.gram.as_ref()
    }
}

fn square(width: usize) -> Tensor {
    Tensor::zeros([width as i64, width as i64], (Kind::Double, tch::Device::Cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn photo(number: u8) -> [u8; 32] {
        [number; 32]
    }

    fn rows(values: &[[f32; 2]]) -> Tensor {
        Tensor::from_slice(&values.concat()).reshape([-1, 2])
    }

    /// Two photos of `a` at (1, 0) and (0, 1): the mean is (½, ½), the scatter [[½, −½], [−½, ½]]. One photo of `b` adds none.
    #[test]
    fn scatter_by_hand() {
        let mut sums = Sums::new(2, false);
        sums.add("a", &rows(&[[1.0, 0.0], [0.0, 1.0]]), &[photo(1), photo(2)]).expect("added");
        sums.add("b", &rows(&[[0.6, 0.8]]), &[photo(3)]).expect("added");
        let within = Vec::<f64>::try_from(sums.within(None).0.reshape([-1])).expect("numbers");
        for (found, expected) in within.iter().zip([0.5, -0.5, -0.5, 0.5]) {
            assert!((found - expected).abs() < 1e-7, "{within:?}");
        }
        assert_eq!((sums.photos(), sums.classes()["a"].count), (3, 2));
        assert_ne!(fold("a"), fold("b"), "for what follows");
        let (without, freedom) = sums.within(Some(fold("a")));
        assert!(without.abs().max().double_value(&[]) < 1e-7 && freedom == 0.0);
        assert_eq!(sums.within(Some(fold("b"))).1, 1.0);
    }

    #[test]
    fn the_sample_does_not_depend_on_the_order() {
        let numbers: Vec<u8> = (0..60).collect();
        let sums = |numbers: &[u8]| {
            let mut sums = Sums::new(2, false);
            for number in numbers {
                let row = rows(&[[f32::from(*number), 1.0]]);
                sums.add("a", &row, &[photo(number.wrapping_mul(37))]).expect("added");
            }
            sums
        };
        let (there, back) = (sums(&numbers), sums(&numbers.iter().rev().copied().collect::<Vec<_>>()));
        assert_eq!(there.classes()["a"].sample, back.classes()["a"].sample);
        assert_eq!(there.classes()["a"].sample.len(), SAMPLE);
    }

    /// Class by class or all at once, in one part or in two that are merged: the same sums and the same sample.
    #[test]
    fn many_classes_at_once_are_the_same_sums() {
        let names: Vec<String> = (0..40).map(|photo| format!("class {}", photo % 7)).collect();
        let classes: Vec<&str> = names.iter().map(String::as_str).collect();
        let photos: Vec<[u8; 32]> = (0..40u8).map(|number| photo(number.wrapping_mul(37))).collect();
        let features = Tensor::randn([40, 2], (Kind::Float, tch::Device::Cpu));
        let (mut one, mut all) = (Sums::new(2, false), Sums::new(2, false));
        for row in 0..40 {
            one.add(classes[row], &features.narrow(0, row as i64, 1), &photos[row..=row]).expect("added");
        }
        all.add_all(&classes, &features, &photos).expect("added");
        let mut parts = Sums::new(2, false);
        for part in [0..13, 13..40] {
            let mut some = Sums::new(2, false);
            let rows = features.narrow(0, part.start as i64, part.len() as i64);
            some.add_all(&classes[part.clone()], &rows, &photos[part]).expect("added");
            parts.merge(some);
        }
        for other in [&all, &parts] {
            assert!((one.within(None).0 - other.within(None).0).abs().max().double_value(&[]) < 1e-9);
            for (name, class) in one.classes() {
                let other = &other.classes()[name];
                assert_eq!((class.count, &class.sample), (other.count, &other.sample));
                assert!((class.sum() - other.sum()).abs().max().double_value(&[]) < 1e-9);
            }
        }
    }

    #[test]
    fn what_is_forgotten_was_never_there() {
        let mut sums = Sums::new(2, true);
        sums.add("a", &rows(&[[1.0, 0.0], [0.0, 1.0]]), &[photo(1), photo(2)]).expect("added");
        let before = sums.within(None).0;
        sums.add("b", &rows(&[[0.6, 0.8], [0.8, 0.6]]), &[photo(3), photo(4)]).expect("added");
        assert!(sums.forget("b") && !sums.forget("b"));
        assert!((sums.within(None).0 - before).abs().max().double_value(&[]) < 1e-9);
        assert_eq!(sums.photos(), 2);
    }
}
