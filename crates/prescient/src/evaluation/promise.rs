//! What the Ghost model promises of its guesses, measured on images that trained nothing.

use serde::{Deserialize, Serialize};

/// What was chosen after a task of the Ghost model, and what it lets expect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// From 1.
    pub task: usize,
    /// What the offset was chosen for: `accuracy`, `balance` or `price`.
    pub target: String,
    /// Held-out images of seen classes that it was measured on.
    pub images: usize,
    /// What is taken off the scores of seen classes; none where guesses are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<f32>,
    /// The accuracy over seen classes on those images, where only seen classes compete.
    pub seen_alone: f64,
    /// The same where all classes compete, with the offset.
    pub seen: f64,
    /// The gain in accuracy over all classes that is expected of guesses, and its standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<(f64, f64)>,
    /// Why guesses are left out, where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}
