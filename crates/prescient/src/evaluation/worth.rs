//! What class information is worth, and what was chosen because of it.

use crate::evaluation::Abstain;
use serde::{Deserialize, Serialize};

/// What the closed form found out on photos of seen classes after a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worth {
    /// From 1.
    pub task: usize,
    /// Photos learned from so far.
    pub photos: u64,
    /// Whether classes without photos are answered with.
    pub guesses: bool,
    /// Why not, where they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// The shrinkage of the covariance.
    pub shrinkage: f64,
    /// The ridge of the regression from class information to means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ridge: Option<f64>,
    /// `κ`: how many photos a description is worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kappa: Option<f64>,
    /// What is added to the scores of classes without photos.
    pub offset: f64,
    /// The gain in accuracy over all classes that is expected of guessing, and its standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<(f64, f64)>,
    /// The accuracy on seen classes that is expected to be lost by guessing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_drop: Option<f64>,
    /// Each source of class information by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceWorth>,
    /// Seen classes whose description leads elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misleading: Vec<Misleading>,
    /// What is to be expected of answering only above some confidences, by rising confidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abstain: Vec<Abstain>,
}

/// One source of class information by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceWorth {
    /// Its name.
    pub source: String,
    /// `κ`, in photos.
    pub kappa: f64,
    /// The share of the differences between classes that it predicts for a class left out; 0 or less: nothing.
    pub explained: f64,
}

/// A seen class whose description leads elsewhere: its ghost, made without its photos, lies nearer to another class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Misleading {
    /// The class.
    pub class: String,
    /// The class that its ghost looks like.
    pub like: String,
    /// How far the ghost misses, over how far ghosts miss on average (root mean square).
    pub miss: f64,
}
