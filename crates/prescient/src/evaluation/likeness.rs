//! How like the real thing a ghost is.

use serde::Serialize;

/// One class, imagined and real. All by direction: features are brought to length 1 first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Likeness {
    /// Its name.
    pub class: String,
    /// Whether it had come by then.
    pub seen: bool,
    /// The angle between the two means, in degrees.
    pub turned: f64,
    /// The angle between the real mean and that of the nearest other class, in degrees.
    pub nearest: f64,
    /// The spread of the ghosts over that of the real features.
    pub spread: f64,
    /// The squared MMD between the two, on features scaled as the generator's are.
    pub mmd: f64,
    /// The share of ghosts that lie nearest to the real mean of their own class.
    pub agree: f64,
}

/// What a run imagined after a task, beside real features.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// From 1.
    pub task: usize,
    /// Every class with test images.
    pub classes: Vec<Likeness>,
}

impl Inspection {
    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data")
    }
}
