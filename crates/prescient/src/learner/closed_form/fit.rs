//! From sums and class information to a classifier of all classes. What could be chosen is chosen on features of seen classes.

use super::calibrate::{Question, asked_about, calibrate, players, plays_few};
use super::choose::{Calibrated, Gain, Part, Role, half_each};
use super::covariance::{Covariance, Whitening, fold_by_fold};
use super::ghosts::Ghosts;
use super::information::{Information, Likenesses};
use super::probabilities::{Odds, odds};
use super::stand_ins::{Fold, Played, stand_ins};
use super::sums::Sums;
use crate::error::LearnError;
use crate::evaluation::{Misleading, SourceWorth, Worth};
use crate::learner::Target;
use crate::predictor::{Gaussian, Novelty};
use std::collections::HashMap;
use tch::{Kind, Tensor, no_grad};

/// The shrinkages of the covariance that are tried. The first is kept unless another is better by more than its error.
const SHRINKAGES: [f64; 6] = [0.5, 0.1, 0.3, 0.7, 0.9, 0.97];
/// Numbers in the means of all classes from which on the first shrinkage is taken as it is: a hundred thousand classes would
/// take minutes for each.
const MANY_NUMBERS: usize = 32_000_000;

/// A classifier of all classes.
#[derive(Debug)]
pub struct Fitted {
    /// How sure a difference of scores makes it.
    pub scale: f64,
    /// How scores of classes without photos become probabilities, where those are answered with.
    pub novelty: Option<Novelty>,
    /// What is taken off the scores of classes with photos, once they are logarithms of probabilities where there is a novelty.
    pub offset: f64,
    /// What was found out on the way.
    pub worth: Worth,
    /// By name: the row of a class in the tensors below.
    pub(super) rows: HashMap<String, i64>,
    pub(super) centre: Tensor,
    pub(super) whiten: Tensor,
    /// The mean squared distance of a photo to the mean of its class, in whitened space.
    pub(super) noise: f64,
    /// In whitened space, `[classes, width]`.
    pub(super) means: Tensor,
    /// What is added to scores, beside the offset, `[classes]`.
    pub(super) lift: Tensor,
}

impl Fitted {
    /// Whether classes without photos are answered with.
    pub fn guesses(&self) -> bool {
        self.worth.guesses
    }

    /// The scores of the classes called `names`, in this order.
    ///
    /// # Panics
    /// If one is not known.
    pub fn head(&self, names: &[String]) -> Gaussian {
        let rows: Vec<i64> = names.iter().map(|name| self.rows[name]).collect();
        let rows = Tensor::from_slice(&rows);
        let of = |tensor: &Tensor| tensor.index_select(0, &rows);
        Gaussian::new(self.centre.shallow_clone(), self.whiten.shallow_clone(), of(&self.means), &of(&self.lift))
    }
}

/// What is the same whatever the shrinkage.
struct Given<'a> {
    sums: &'a Sums,
    seen: Vec<&'a str>,
    unseen: Vec<&'a str>,
    covariance: Covariance,
    /// Means of seen classes, `[seen, width]`.
    means: Tensor,
    /// `n_c`, `[seen]`.
    counts: Tensor,
    /// Features to choose by, `[sample, width]`.
    sample: Tensor,
    /// The class of each, a row of `means`.
    truth: Vec<usize>,
    /// Where classes with few photos are played: the classes fold by fold, each with the covariance of the others.
    folds: Vec<(Covariance, Vec<usize>)>,
    likenesses: Option<Likenesses>,
}

/// One shrinkage, and how well it does.
struct Tried {
    shrinkage: f64,
    whitening: Whitening,
    noise: f64,
    ghosts: Option<Ghosts>,
    /// Of all classes, in whitened space.
    means: Tensor,
    /// How uncertain the place of each class is, as a score.
    lean: Tensor,
    calibrated: Calibrated,
}

/// Means and features, whitened with one shrinkage.
struct Looked<'a> {
    shrinkage: f64,
    whitening: Whitening,
    question: Question<'a>,
    folds: Vec<Fold>,
}

/// Shrinkages against each other: the first is kept unless another is better by more than its error.
#[derive(Default)]
struct Contest {
    first: Option<Tried>,
    best: Option<Tried>,
}

impl Contest {
    fn enter(&mut self, tried: Tried) {
        let better = |other: &Tried| tried.calibrated.accuracy > other.calibrated.accuracy;
        match (&self.first, &self.best) {
            (None, _) => self.first = Some(tried),
            (_, Some(best)) if better(best) => self.best = Some(tried),
            (Some(first), None) if better(first) => self.best = Some(tried),
            _ => {}
        }
    }

    fn winner(self) -> Option<Tried> {
        let first = self.first?;
        Some(match self.best {
            Some(best) if best.calibrated.gain_over(&first.calibrated).beats_chance() => best,
            _ => first,
        })
    }
}

/// Fits the classifier of all classes. Classes that `information` does not describe, or all where it has nothing, are known by
/// their photos alone.
pub fn fit(sums: &Sums, information: &Information, target: Target) -> Result<Fitted, LearnError> {
    fit_as(sums, information, target, None)
}

/// The same where it may be settled already whether classes without photos are answered with.
pub fn fit_as(
    sums: &Sums,
    information: &Information,
    target: Target,
    guesses: Option<bool>,
) -> Result<Fitted, LearnError> {
    no_grad(|| {
        let given = Given::new(sums, information)?;
        let (base, guessing) = given.best(target)?;
        let Some(guessing) = guessing else {
            let worth = given.worth(information, &base, None)?;
            return given.fitted(base, worth, target);
        };
        let gain = guessing.calibrated.gain_over(&base.calibrated);
        // Ghosts only where the gain to be expected is larger than its error. Where all classes have photos there is less to lose.
        let helps = match (guesses.filter(|_| !given.unseen.is_empty()), guessing.calibrated.guesses()) {
            (Some(settled), _) => settled,
            (None, true) => gain.beats_chance(),
            (None, false) => gain.mean > -gain.error,
        };
        let mut worth = given.worth(information, &guessing, Some(gain))?;
        worth.guesses = helps && !given.unseen.is_empty();
        if !helps {
            worth.why_not = (!given.unseen.is_empty()).then(|| NO_GAIN.to_owned());
            return given.fitted(base, worth, target);
        }
        given.fitted(guessing, worth, target)
    })
}

const NO_GAIN: &str = "by what photos of seen classes show, guessing would gain no more than chance";

impl<'a> Given<'a> {
    fn new(sums: &'a Sums, information: &'a Information) -> Result<Self, LearnError> {
        let (means, counts) = sums.means().ok_or(LearnError::NoPhotos)?;
        let seen: Vec<&str> = sums.classes().keys().map(String::as_str).collect();
        let describable = !information.is_empty() && seen.len() >= 2;
        let unseen: Vec<&str> = match describable {
            true => information
                .names()
                .iter()
                .map(String::as_str)
                .filter(|name| !sums.classes().contains_key(*name))
                .collect(),
            false => Vec::new(),
        };
        let covariance = Covariance::new(sums, &means, None);
        let (each, step) = asked_about(seen.len(), seen.len() + unseen.len());
        let (mut values, mut truth) = (Vec::new(), Vec::new());
        for (row, class) in sums.classes().values().enumerate().step_by(step) {
            for feature in class.sample.values().take(each) {
                values.extend_from_slice(feature);
                truth.push(row);
            }
        }
        let sample =
            Tensor::from_slice(&values).to_kind(Kind::Double).reshape([truth.len() as i64, sums.width() as i64]);
        let likenesses = describable.then(|| information.likenesses(&seen, &unseen));
        let mut given =
            Self { sums, seen, unseen, covariance, means, counts, sample, truth, folds: Vec::new(), likenesses };
        if plays_few(&Vec::<f64>::try_from(&given.counts)?) {
            given.folds = fold_by_fold(sums, &given.means, &given.seen);
        }
        Ok(given)
    }

    /// Classes fold by fold and their features, whitened.
    fn whitened(&self, folds: &[(Covariance, Vec<usize>)], shrinkage: f64) -> Result<Vec<Fold>, LearnError> {
        let fold = |(covariance, classes): &(Covariance, Vec<usize>)| {
            let whitening = covariance.whitening(shrinkage)?;
            let means = whitening.apply(&self.means);
            Ok(Fold::new(means, |rows| whitening.apply(rows), (&self.sample, &self.truth), classes))
        };
        folds.iter().map(fold).collect()
    }

    fn are_many(&self) -> bool {
        (self.seen.len() + self.unseen.len()) * self.means.size()[1] as usize > MANY_NUMBERS
    }

    /// The best shrinkage without ghosts, and with them where there are likenesses.
    fn best(&self, target: Target) -> Result<(Tried, Option<Tried>), LearnError> {
        let (mut base, mut guessing) = (Contest::default(), Contest::default());
        let tried = if self.are_many() { 1 } else { SHRINKAGES.len() };
        for &shrinkage in &SHRINKAGES[..tried] {
            let looked = self.look(shrinkage)?;
            base.enter(self.try_out(&looked, None, target)?);
            if let Some(likenesses) = &self.likenesses {
                guessing.enter(self.try_out(&looked, Some(likenesses), target)?);
            }
        }
        Ok((base.winner().expect("there are shrinkages"), guessing.winner()))
    }

    /// Means and features, whitened.
    fn look(&self, shrinkage: f64) -> Result<Looked<'_>, LearnError> {
        let whitening = self.covariance.whitening(shrinkage)?;
        let question = Question::new(
            whitening.apply(&self.means),
            whitening.apply(&self.sample),
            &self.truth,
            &self.counts,
            (1.0 - shrinkage, self.covariance.freedom),
        )?;
        let folds = self.whitened(&self.folds, shrinkage)?;
        Ok(Looked { shrinkage, whitening, question, folds })
    }

    /// What was played, to make probabilities of. A class that plays one without photos has its own photos in the covariance, and
    /// looks nearer than one that will really come; without its fold of classes the covariance has fewer photos behind it than it
    /// will have, and the class looks further away. So it plays both ways, half each.
    fn played(&self, best: &mut Tried) -> Result<Vec<Part>, LearnError> {
        let played = std::mem::take(&mut best.calibrated.played);
        let unseen = played.iter().find(|part| part.role == Role::Unseen).map(|part| part.share);
        let (Some(ghosts), Some(share)) = (&best.ghosts, unseen) else { return Ok(played) };
        if !self.folds.is_empty() || self.are_many() {
            return Ok(played);
        }
        let mut folds = fold_by_fold(self.sums, &self.means, &self.seen);
        folds.retain(|(covariance, _)| covariance.freedom >= 0.5 * self.covariance.freedom);
        let (counts, photos) = (Vec::<f64>::try_from(&self.counts)?, [(0, share)]);
        let stage = Played { counts: &counts, noise: best.noise, players: &players(&counts), photos: &photos };
        let others = stand_ins(&self.whitened(&folds, best.shrinkage)?, Some(ghosts), &best.lean, &stage)?;
        Ok(half_each(played, others))
    }

    fn try_out(
        &self,
        looked: &Looked<'_>,
        likenesses: Option<&Likenesses>,
        target: Target,
    ) -> Result<Tried, LearnError> {
        let Looked { shrinkage, whitening, question, folds } = looked;
        let ghosts = match likenesses {
            Some(likenesses) => Some(Ghosts::new(likenesses, &question.means, &self.counts, question.noise)?),
            None => None,
        };
        let kappa = ghosts.as_ref().map_or(0.0, |ghosts| ghosts.kappa);
        let mut known = &self.counts + kappa;
        let mut means = question.means.shallow_clone();
        if let Some(ghosts) = &ghosts {
            means = (&ghosts.left_out * kappa + &question.means * self.counts.unsqueeze(1)) / known.unsqueeze(1);
            means = Tensor::cat(&[&means, &ghosts.unseen], 0);
            let unseen = Tensor::full([self.unseen.len() as i64], kappa, (Kind::Double, tch::Device::Cpu));
            known = Tensor::cat(&[&known, &unseen], 0);
        }
        let lean = question.lean(&known);
        let calibrated = calibrate(question, folds, ghosts.as_ref(), (&means, &lean), target)?;
        let (shrinkage, whitening) = (*shrinkage, whitening.shallow_clone());
        Ok(Tried { shrinkage, whitening, noise: question.noise, ghosts, means, lean, calibrated })
    }

    fn fitted(&self, mut best: Tried, worth: Worth, target: Target) -> Result<Fitted, LearnError> {
        let names = self.seen.iter().chain(&self.unseen);
        let rows = names.enumerate().map(|(row, name)| ((*name).to_owned(), row as i64)).collect();
        let whiten = best.whitening.matrix();
        // Features are taken from the middle of all classes: numbers stay small, and single precision exact.
        let middle = best.means.narrow(0, 0, self.seen.len() as i64).mean_dim([0i64].as_slice(), false, Kind::Double);
        let centre = best.whitening.undo(&middle.unsqueeze(0)).squeeze_dim(0);
        // An offset between seen and unseen classes can be looked at later, and another be tried: it is kept apart. What is left
        // of the leans stays in the scores.
        let seen = self.seen.len() as i64;
        let lift = &best.lean * best.calibrated.offset;
        let unseen = lift.size()[0] - seen;
        let level = if unseen > 0 { lift.narrow(0, seen, unseen).mean(Kind::Double).double_value(&[]) } else { 0.0 };
        let _ = lift.narrow(0, seen, unseen).g_sub_scalar_(level);
        let leans = Vec::<f64>::try_from(&best.lean)?;
        let (played, offset) = (self.played(&mut best)?, best.calibrated.offset);
        let Odds { scale, novelty, offset, abstain } = odds(&played, (&leans, self.seen.len()), offset, target)?;
        Ok(Fitted {
            scale,
            novelty,
            offset,
            worth: Worth { abstain, ..worth },
            rows,
            centre,
            whiten,
            noise: best.noise,
            means: best.means - middle.unsqueeze(0),
            lift,
        })
    }

    fn worth(&self, information: &Information, best: &Tried, gain: Option<Gain>) -> Result<Worth, LearnError> {
        let mut sources = Vec::new();
        if best.ghosts.is_some() {
            let means = best.whitening.apply(&self.means);
            for (place, name) in information.sources().iter().enumerate() {
                let likenesses = information.only(place).likenesses(&self.seen, &[]);
                let ghosts = Ghosts::new(&likenesses, &means, &self.counts, best.noise)?;
                let explained = explained(&means, &ghosts.misses);
                sources.push(SourceWorth { source: (*name).to_owned(), kappa: ghosts.kappa, explained });
            }
        }
        let nothing = "nothing is known of classes but their names: this is the base model";
        let few = "a single class has photos: ghosts need two";
        let why_not = match &best.ghosts {
            Some(_) => None,
            None if information.is_empty() => Some(nothing.to_owned()),
            None => Some(few.to_owned()),
        };
        let misleading = best.ghosts.as_ref().map(|ghosts| self.misleading(best, ghosts)).transpose()?;
        let guessed = gain.filter(|_| best.calibrated.guesses());
        Ok(Worth {
            task: 0,
            photos: self.sums.photos(),
            guesses: false,
            why_not,
            shrinkage: best.shrinkage,
            ridge: best.ghosts.as_ref().map(|ghosts| ghosts.ridge),
            kappa: best.ghosts.as_ref().map(|ghosts| ghosts.kappa),
            offset: best.calibrated.offset,
            gain: guessed.map(|gain| (gain.mean, gain.error)),
            seen_drop: guessed.map(|gain| -gain.seen),
            sources,
            misleading: misleading.unwrap_or_default(),
            abstain: Vec::new(),
        })
    }

    /// Seen classes whose ghost lies nearer to the mean of another class than to their own, and misses by more than others.
    fn misleading(&self, best: &Tried, ghosts: &Ghosts) -> Result<Vec<Misleading>, LearnError> {
        let means = best.whitening.apply(&self.means);
        let squared = |rows: &Tensor| rows.square().sum_dim_intlist([1i64].as_slice(), false, Kind::Double);
        let distances = squared(&ghosts.left_out).unsqueeze(1) + squared(&means).unsqueeze(0)
            - ghosts.left_out.matmul(&means.tr()) * 2.0;
        let nearest = Vec::<i64>::try_from(distances.argmin(1, false))?;
        let misses = Vec::<f64>::try_from(squared(&ghosts.misses))?;
        let mean = misses.iter().sum::<f64>() / misses.len() as f64;
        let mut found: Vec<Misleading> = Vec::new();
        for (row, (&like, miss)) in nearest.iter().zip(misses).enumerate() {
            let miss = (miss / mean.max(1e-12)).sqrt();
            if like as usize != row && miss > 1.15 {
                let name = |row: usize| self.seen[row].to_owned();
                found.push(Misleading { class: name(row), like: name(like as usize), miss });
            }
        }
        found.sort_by(|a, b| b.miss.total_cmp(&a.miss));
        Ok(found)
    }
}

/// The share of the differences between classes that ghosts predict.
fn explained(means: &Tensor, misses: &Tensor) -> f64 {
    let apart = means - means.mean_dim([0i64].as_slice(), true, Kind::Double);
    let total = |tensor: &Tensor| tensor.square().sum(Kind::Double).double_value(&[]);
    1.0 - total(misses) / total(&apart).max(1e-12)
}
