//! From scores to probabilities, and what answering only where one is sure may be expected to give.
//!
//! Three small fits, each by the least surprise, on features of seen classes that play every part: how sure differences of scores
//! make it between classes with photos, between classes without, and which of the two kinds a photo is of ([`Novelty`]). Every
//! class counts the same, so the share of photos that show a class without photos is assumed to be the share of those classes.

use super::choose::{Part, Role, best_offset, right};
use super::logistic::{Case, logistic};
use super::temperature::Asked;
use crate::error::LearnError;
use crate::evaluation::{Abstain, Weighed};
use crate::learner::Target;
use crate::predictor::{Novelty, lead};
use tch::{Kind, Tensor};

/// Features of a part that are looked at, at most.
pub(super) const ENOUGH: usize = 2400;

/// A feature with its scores.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scored {
    /// Of all classes, as they are.
    pub(super) scores: Vec<f64>,
    /// Its own class, and score and lean of that as it was played.
    pub(super) truth: usize,
    /// See `truth`.
    pub(super) own: (f64, f64),
}

/// How scores become probabilities and answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Odds {
    /// How sure a difference of scores makes it.
    pub(super) scale: f64,
    /// For classes without photos, where those are answered with and their part could be played.
    pub(super) novelty: Option<Novelty>,
    /// What is taken off the scores of seen classes, or off the logarithms of their probabilities where there is a novelty.
    pub(super) offset: f64,
    /// What is to be expected of answering only above a confidence.
    pub(super) abstain: Vec<Abstain>,
}

/// All features of all parts, their scores as the head gives them.
struct Rows {
    /// `[features, seen]`; a class that plays one without photos is not there.
    seen: Tensor,
    /// `[features, unseen + 1]`, where there are any: the last is the class that plays one.
    unseen: Option<Tensor>,
    /// The column of the class of each, unseen ones behind seen ones.
    truth: Vec<i64>,
    /// Whether it plays a class without photos.
    is_new: Vec<bool>,
    /// How much each counts, 1 in all.
    weights: Vec<f64>,
}

impl Rows {
    /// `leans` are those of all classes, the first `seen` of which have photos; `offset` is how much of them is added.
    fn new(parts: &[Part], (leans, seen): (&[f64], usize), offset: f64) -> Self {
        let unseen = leans.len() - seen;
        let level = leans[seen..].iter().sum::<f64>() / unseen.max(1) as f64;
        let total: f64 = parts.iter().filter(|part| !part.scored.is_empty()).map(|part| part.share).sum();
        let lifted =
            |class: usize, score: f64, lean: f64| score + offset * if class < seen { lean } else { lean - level };
        let (mut known, mut guessed) = (Vec::new(), Vec::new());
        let (mut truth, mut is_new, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            let new = part.role == Role::Unseen;
            for Scored { scores, truth: class, own } in &part.scored {
                let start = known.len();
                known.extend((0..seen).map(|class| lifted(class, scores[class], leans[class])));
                guessed.extend((seen..leans.len()).map(|class| lifted(class, scores[class], leans[class])));
                known[start + class] = if new { f64::NEG_INFINITY } else { lifted(*class, own.0, own.1) };
                guessed.push(if new { lifted(seen, own.0, own.1) } else { f64::NEG_INFINITY });
                truth.push(if new { leans.len() } else { *class } as i64);
                is_new.push(new);
                weights.push(part.share / total / part.scored.len() as f64);
            }
        }
        let table = |values: &[f64], columns: usize| Tensor::from_slice(values).reshape([-1, columns as i64]);
        let unseen = (unseen > 0).then(|| table(&guessed, unseen + 1));
        Self { seen: table(&known, seen), unseen, truth, is_new, weights }
    }

    /// How sure a difference of scores makes it, among the `scores` of features that play a class without photos or do not.
    fn scale(&self, scores: &Tensor, new: bool, first: i64) -> Result<f64, LearnError> {
        let places: Vec<i64> =
            (0..self.truth.len()).filter(|&row| self.is_new[row] == new).map(|row| row as i64).collect();
        let truth: Vec<i64> = places.iter().map(|&row| self.truth[row as usize] - first).collect();
        let weights: Vec<f64> = places.iter().map(|&row| self.weights[row as usize]).collect();
        let scores = scores.index_select(0, &Tensor::from_slice(&places));
        let (truth, weights) = (Tensor::from_slice(&truth), Tensor::from_slice(&weights));
        Asked { scores: &scores, truth: &truth, weights: &weights }.scale()
    }

    /// Which of the two kinds a photo is of.
    fn novelty(&self, unseen: &Tensor) -> Result<Novelty, LearnError> {
        let leads = Vec::<f64>::try_from(lead(&self.seen, unseen).squeeze_dim(1))?;
        let cases = leads.iter().zip(&self.is_new).zip(&self.weights);
        let cases: Vec<Case> = cases.map(|((lead, new), weight)| (*lead, *new, *weight)).collect();
        let (bias, lead) = logistic(&cases);
        let scale = self.scale(unseen, true, self.seen.size()[1])?;
        Ok(Novelty { scale: scale as f32, bias: bias as f32, lead: lead as f32 })
    }

    /// The answers once `offset` is taken off the scores of seen classes: their probability, whether they are right, and how
    /// much each counts.
    fn answers(&self, scores: &Tensor, offset: f64, scale: Option<f64>) -> Result<Vec<Weighed>, LearnError> {
        let shifted = scores.copy();
        let _ = shifted.narrow(1, 0, self.seen.size()[1]).g_sub_scalar_(offset);
        let kind: Option<Kind> = None;
        let probabilities = match scale {
            Some(scale) => (&shifted * scale).softmax(1, kind),
            None => scores.exp(),
        };
        let answers = shifted.argmax(1, true);
        let sure = Vec::<f64>::try_from(probabilities.gather(1, &answers, false).squeeze_dim(1))?;
        let answers = Vec::<i64>::try_from(answers.squeeze_dim(1))?;
        let weighed = |row: usize| (sure[row], answers[row] == self.truth[row], self.weights[row]);
        Ok((0..self.truth.len()).map(weighed).collect())
    }

    /// The offset that is best for `target`, on logarithms of probabilities.
    fn offset(&self, scores: &Tensor, parts: &[Part], target: Target) -> Result<f64, LearnError> {
        let (seen, columns) = (self.seen.size()[1] as usize, scores.size()[1] as usize);
        let values = Vec::<f64>::try_from(scores.contiguous().view([-1]))?;
        let leans: Vec<f64> = (0..columns).map(|class| f64::from(u8::from(class >= seen))).collect();
        let mut rows = values.chunks(columns).zip(&self.truth);
        let played = |part: &Part| {
            let of_part: Vec<(&[f64], usize)> =
                rows.by_ref().take(part.scored.len()).map(|(row, truth)| (row, *truth as usize)).collect();
            Part {
                role: part.role,
                share: part.share,
                right: of_part.iter().map(|(row, own)| right(row, &leans, *own, (row[*own], leans[*own]))).collect(),
                truth: part.scored.iter().map(|scored| scored.truth).collect(),
                scored: Vec::new(),
            }
        };
        let choices: Vec<Part> = parts.iter().map(played).collect();
        let offsets: Vec<f64> = (-160..=160).map(|step| f64::from(step) * 0.05).collect();
        Ok(best_offset(&choices, &offsets, target))
    }
}

/// Fits them. `leans` are those of all classes, the first `seen` of which have photos; `offset` is how much of its lean is added
/// to the score of each class.
pub(super) fn odds(
    parts: &[Part],
    (leans, seen): (&[f64], usize),
    offset: f64,
    target: Target,
) -> Result<Odds, LearnError> {
    if parts.iter().all(|part| part.scored.is_empty()) {
        return Ok(Odds { scale: 1.0, novelty: None, offset: 0.0, abstain: Vec::new() });
    }
    let rows = Rows::new(parts, (leans, seen), offset);
    let Some(unseen) = &rows.unseen else {
        let scale = rows.scale(&rows.seen, false, 0)?;
        let answers = rows.answers(&rows.seen, 0.0, Some(scale))?;
        return Ok(Odds { scale, novelty: None, offset: 0.0, abstain: Abstain::curve(&answers) });
    };
    let played = parts.iter().any(|part| part.role == Role::Unseen && !part.scored.is_empty());
    if target == Target::None || !played {
        // Scores compete as they are, and one scale is for all.
        let level = offset * leans[seen..].iter().sum::<f64>() / (leans.len() - seen) as f64;
        let all = Tensor::cat(&[&rows.seen - level, unseen.shallow_clone()], 1);
        let (truth, weights) = (Tensor::from_slice(&rows.truth), Tensor::from_slice(&rows.weights));
        let scale = Asked { scores: &all, truth: &truth, weights: &weights }.scale()?;
        let answers = rows.answers(&all, 0.0, Some(scale))?;
        return Ok(Odds { scale, novelty: None, offset: level, abstain: Abstain::curve(&answers) });
    }
    let scale = rows.scale(&rows.seen, false, 0)?;
    let novelty = rows.novelty(unseen)?;
    let scores = novelty.log_probabilities(scale, &rows.seen, unseen);
    let offset = match target {
        // The most probable class is the best answer.
        Target::Accuracy | Target::None => 0.0,
        Target::Balance | Target::Price(_) => rows.offset(&scores, parts, target)?,
    };
    let answers = rows.answers(&scores, offset, None)?;
    Ok(Odds { scale, novelty: Some(novelty), offset, abstain: Abstain::curve(&answers) })
}
