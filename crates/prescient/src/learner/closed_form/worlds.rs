//! Worlds in which one class with photos is taken away, and gets its photos back a few at a time.

use super::ghosts::Ghosts;
use super::prospects::{MORE, STEPS, Stage};
use super::stand_ins::following;
use crate::error::LearnError;
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// Over the last dimension.
pub(super) fn sum(rows: &Tensor) -> Tensor {
    rows.sum_dim_intlist([-1i64].as_slice(), false, Kind::Double)
}

/// All other classes as they are without one.
pub(super) struct World {
    /// The class that is taken away.
    class: usize,
    /// Its mean and its ghost, `[width]`.
    mean: Tensor,
    ghost: Tensor,
    /// Of all classes, `[classes, width]`; that of the class itself means nothing.
    means: Tensor,
    /// What is added to the product of a photo and a mean, `[classes]`: nothing wins that is not answered with.
    base: Tensor,
}

impl World {
    /// Without `class`, from the `means` `[seen, width]` and `ghosts` of all.
    pub(super) fn without(stage: &Stage, ghosts: &Ghosts, means: &Tensor, class: usize) -> Self {
        let (misses, unseen) = ghosts.without(class);
        let counts = Tensor::from_slice(&stage.counts);
        let trust = (&counts + stage.kappa).reciprocal() * stage.kappa;
        let all = Tensor::cat(&[means - misses * trust.unsqueeze(1), unseen], 0);
        let known = stage.counts.iter().map(|count| count + stage.kappa);
        let lifts = known.chain(std::iter::repeat_n(stage.kappa, stage.unseen())).enumerate();
        let answered = |place: usize| place != class && (place < stage.seen() || stage.guesses);
        let lift = |(place, known)| if answered(place) { stage.lift(known) } else { f64::NEG_INFINITY };
        let lifts: Vec<f64> = lifts.map(lift).collect();
        let row = |rows: &Tensor| rows.get(class as i64);
        Self {
            class,
            mean: row(means),
            ghost: row(&ghosts.left_out),
            base: Tensor::from_slice(&lifts) - sum(&all.square()) * 0.5,
            means: all,
        }
    }

    /// The best score of other classes for photos `[photos, width]`, and whose it is.
    fn others(&self, photos: &Tensor) -> (Tensor, Tensor) {
        (photos.matmul(&self.means.tr()) + &self.base).max_dim(1, false)
    }

    /// What photos `[photos, width]` of the class are named, each left out of what is known of it.
    pub(super) fn left_out(&self, stage: &Stage, photos: &Tensor) -> Result<Answers, LearnError> {
        let count = stage.counts[self.class];
        let known = stage.kappa + count - 1.0;
        let sum_of_others = (&self.mean * count).unsqueeze(0) - photos;
        let right = self.own_score(stage, photos, &sum_of_others, known);
        let (best, other) = self.others(photos);
        Answers::new(&right.gt_tensor(&best), &other)
    }

    /// The class is given none of its photos `[photos, width]`, then each of [`MORE`] as far as there are so many: how many it
    /// was given, and how often others of them were named right.
    pub(super) fn returning(&self, stage: &Stage, photos: &Tensor) -> [(usize, f64); STEPS] {
        let (best, _) = self.others(photos);
        std::array::from_fn(|step| {
            let more = if step == 0 { 0 } else { MORE[step - 1] };
            let (sum_of_given, count) = following(photos, more);
            let own = self.own_score(stage, photos, &sum_of_given, stage.kappa + count as f64);
            let own = if count == 0 && !stage.guesses { own.full_like(f64::NEG_INFINITY) } else { own };
            (count, own.gt_tensor(&best).to_kind(Kind::Double).mean(Kind::Double).double_value(&[]))
        })
    }

    /// The score of each photo `[photos, width]` for the class, which is known by its ghost and photos with this sum.
    fn own_score(&self, stage: &Stage, photos: &Tensor, given: &Tensor, known: f64) -> Tensor {
        let means = (&self.ghost * stage.kappa + given) / known.max(1e-3);
        sum(&(photos * &means)) - sum(&means.square()) * 0.5 + stage.lift(known)
    }
}

/// What photos of a class were named.
#[derive(Default)]
pub(super) struct Answers {
    photos: f64,
    right: f64,
    /// Photos that were taken for other classes.
    taken_for: BTreeMap<usize, f64>,
}

impl Answers {
    /// The share that was named right.
    pub(super) fn right(&self) -> f64 {
        self.right / self.photos.max(1.0)
    }

    /// What the others were taken for, and how often: the first few.
    pub(super) fn most_often(&self) -> impl Iterator<Item = (usize, f64)> {
        let mut often: Vec<(usize, f64)> =
            self.taken_for.iter().map(|(other, photos)| (*other, photos / self.photos)).collect();
        often.sort_by(|a, b| b.1.total_cmp(&a.1));
        often.into_iter().take(3)
    }

    /// From which photos were named right, and which other class was best for each, `[photos]`.
    fn new(right: &Tensor, other: &Tensor) -> Result<Self, LearnError> {
        let right = Vec::<bool>::try_from(right)?;
        let mut answers = Self { photos: right.len() as f64, ..Self::default() };
        for (right, other) in right.into_iter().zip(Vec::<i64>::try_from(other)?) {
            match right {
                true => answers.right += 1.0,
                false => *answers.taken_for.entry(other as usize).or_default() += 1.0,
            }
        }
        Ok(answers)
    }
}
