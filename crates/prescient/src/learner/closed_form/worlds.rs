//! Worlds in which one class with photos is taken away, and its photos play those of others.

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
    /// Its mean, its ghost, and from the ghost to the mean, `[width]`.
    mean: Tensor,
    ghost: Tensor,
    miss: Tensor,
    /// Of all classes, `[classes, width]`; that of the class itself means nothing.
    means: Tensor,
    /// What is added to the product of a photo and a mean, `[classes]`: nothing wins that is not answered with.
    base: Tensor,
}

/// What came of a play.
pub(super) struct Played {
    /// Photos that were given at each step.
    pub(super) photos: [usize; STEPS],
    /// Shares of the photos that were named right, as photos of the class itself.
    pub(super) own: [f64; STEPS],
    /// The same as photos of each class without photos.
    pub(super) unseen: Vec<[f64; STEPS]>,
    /// What those were named where the class had none.
    pub(super) answers: Vec<Answers>,
}

impl World {
    /// Without `class`, from the `means` `[seen, width]` and `ghosts` of all.
    pub(super) fn without(stage: &Stage, ghosts: &Ghosts, means: &Tensor, class: usize) -> Self {
        let (misses, unseen) = ghosts.without(class);
        let counts = Tensor::from_slice(&stage.counts);
        let trust = (&counts + stage.kappa).reciprocal() * stage.kappa;
        let all = Tensor::cat(&[means - misses * trust.unsqueeze(1), unseen], 0);
        let known = stage.counts.iter().map(|count| count + stage.kappa);
        let lifts = known.chain(stage.doubt[stage.seen()..].iter().map(|_| stage.kappa)).enumerate();
        let answered = |place: usize| place != class && (place < stage.seen() || stage.guesses);
        let lift = |(place, known)| if answered(place) { stage.lift(known) } else { f64::NEG_INFINITY };
        let lifts: Vec<f64> = lifts.map(lift).collect();
        let row = |rows: &Tensor| rows.get(class as i64);
        Self {
            class,
            mean: row(means),
            ghost: row(&ghosts.left_out),
            miss: row(&ghosts.misses),
            base: Tensor::from_slice(&lifts) - sum(&all.square()) * 0.5,
            means: all,
        }
    }

    /// The best score of other classes for photos `[photos, width]`, and whose it is.
    fn others(&self, photos: &Tensor) -> (Tensor, Tensor) {
        (photos.matmul(&self.means.tr()) + &self.base).max_dim(1, false)
    }

    /// What photos `[photos, width]` of the class are named, each left out of what is known of it.
    pub(super) fn itself(&self, stage: &Stage, photos: &Tensor) -> Result<Answers, LearnError> {
        let count = stage.counts[self.class];
        let known = stage.kappa + count - 1.0;
        let without = (&self.ghost * stage.kappa + &self.mean * count).unsqueeze(0) - photos;
        let (best, other) = self.others(photos);
        Answers::new(&own_score(photos, &(without / known.max(1e-3))), stage.lift(known), &best, &other)
    }

    /// Its photos `[photos, width]` as photos of itself and of every class that has none.
    pub(super) fn play(&self, stage: &Stage, photos: &Tensor) -> Result<Played, LearnError> {
        let classes = self.means.size()[0];
        let (seen, unseen) = (stage.seen() as i64, classes - stage.seen() as i64);
        let ghosts = self.means.narrow(0, seen, unseen);
        let doubt = Tensor::from_slice(&stage.doubt[stage.seen()..]).sqrt();
        let around = photos - self.mean.unsqueeze(0);

        // A photo z = g + d·miss + ρ of each class, asked of all others: [photos, unseen, classes].
        let of_ghosts = ghosts.matmul(&self.means.tr()) + doubt.unsqueeze(1) * self.means.mv(&self.miss).unsqueeze(0);
        let of_ghosts = of_ghosts + self.base.unsqueeze(0);
        let _ = of_ghosts.narrow(1, seen, unseen).diagonal(0, 0, 1).fill_(f64::NEG_INFINITY);
        let scores = around.matmul(&self.means.tr()).unsqueeze(1) + of_ghosts.unsqueeze(0);
        let (best, other) = scores.max_dim(2, false);
        let (own_best, _) = self.others(photos);

        let along = Along::new(&around, &self.miss, &ghosts, &doubt);
        let (mut given, mut own, mut rights) = ([0; STEPS], [0.0; STEPS], Vec::with_capacity(STEPS));
        let mut answers = Vec::new();
        for (step, more) in std::iter::once(0).chain(MORE).enumerate() {
            let (sum_around, count) = following(&around, more);
            let known = stage.kappa + count as f64;
            let lift = stage.lift(known);
            let mean = (&sum_around + &self.miss * count as f64) / known.max(1e-3) + &self.ghost;
            let share = (own_score(photos, &mean) + lift).gt_tensor(&own_best).to_kind(Kind::Double).mean(Kind::Double);
            (given[step], own[step]) = (count, share.double_value(&[]));
            let mine = match (step, stage.guesses) {
                (0, false) => best.full_like(f64::NEG_INFINITY),
                _ => along.own_scores(&sum_around, count as f64, known),
            };
            if step == 0 {
                let of = |place: i64| {
                    let column = |of: &Tensor| of.select(1, place);
                    Answers::new(&column(&mine), lift, &column(&best), &column(&other))
                };
                answers = (0..unseen).map(of).collect::<Result<_, _>>()?;
            }
            let right = (mine + lift).gt_tensor(&best).to_kind(Kind::Double);
            rights.push(Vec::<f64>::try_from(right.mean_dim([0i64].as_slice(), false, Kind::Double))?);
        }
        let of_class = |place: usize| std::array::from_fn(|step| rights[step][place]);
        Ok(Played { photos: given, own, unseen: (0..unseen as usize).map(of_class).collect(), answers })
    }
}

/// `x·μ − ½‖μ‖²` of each photo `[photos, width]` with a mean of its own.
fn own_score(photos: &Tensor, means: &Tensor) -> Tensor {
    sum(&(photos * means)) - sum(&means.square()) * 0.5
}

/// Products that the scores of photos `z = g + d·miss + ρ` for their own class are made of, for all classes `g` at once.
struct Along<'a> {
    /// `ρ`, `[photos, width]`, and `miss`, `[width]`.
    around: &'a Tensor,
    miss: &'a Tensor,
    /// `d`, `[1, unseen]`.
    doubt: Tensor,
    /// `½ g·g + (ρ + d·miss)·g`, `[photos, unseen]`.
    ghosts: Tensor,
    /// `ρ·miss`, `[photos, 1]`.
    around_miss: Tensor,
    length: f64,
}

impl<'a> Along<'a> {
    fn new(around: &'a Tensor, miss: &'a Tensor, ghosts: &Tensor, doubt: &Tensor) -> Self {
        let with_ghosts = around.matmul(&ghosts.tr()) + doubt * ghosts.mv(miss) + sum(&ghosts.square()) * 0.5;
        let length = sum(&miss.square()).double_value(&[]);
        Self {
            around,
            miss,
            doubt: doubt.unsqueeze(0),
            ghosts: with_ghosts,
            around_miss: around.mv(miss).unsqueeze(1),
            length,
        }
    }

    /// `z·μ − ½‖μ‖²` where `μ = g + t`, `t = (Σρ + count·d·miss) / known`: `½ g·g + a·g + a·t − ½ t·t` with `a = ρ + d·miss`.
    fn own_scores(&self, sum_around: &Tensor, count: f64, known: f64) -> Tensor {
        let known = known.max(1e-3);
        let column = |values: Tensor| values.unsqueeze(1);
        let (sum_miss, doubt) = (column(sum_around.mv(self.miss)), &self.doubt);
        let squares = doubt.square() * self.length;
        let along = column(sum(&(self.around * sum_around)))
            + doubt * (&self.around_miss * count + &sum_miss)
            + &squares * count;
        let length = column(sum(&sum_around.square())) + doubt * &sum_miss * (2.0 * count) + squares * (count * count);
        &self.ghosts + along / known - length * (0.5 / (known * known))
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

    /// From the scores of the class itself, less `lift`, and the best scores of others, `[photos]` each.
    fn new(own: &Tensor, lift: f64, best: &Tensor, other: &Tensor) -> Result<Self, LearnError> {
        let right = Vec::<bool>::try_from((own + lift).gt_tensor(best))?;
        let mut answers = Self { photos: right.len() as f64, ..Self::default() };
        for (right, other) in right.into_iter().zip(Vec::<i64>::try_from(other.contiguous())?) {
            match right {
                true => answers.right += 1.0,
                false => *answers.taken_for.entry(other as usize).or_default() += 1.0,
            }
        }
        Ok(answers)
    }

    /// All that were named in both.
    pub(super) fn join(&mut self, other: Self) {
        self.photos += other.photos;
        self.right += other.right;
        other.taken_for.into_iter().for_each(|(class, photos)| *self.taken_for.entry(class).or_default() += photos);
    }
}
