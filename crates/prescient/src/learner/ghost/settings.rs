//! How the Ghost model learns: one struct for each part of Algorithm 1. Defaults are the paper's values.

use crate::data::{Normalization, View};
use crate::engine::Compute;
use crate::extractor::ExtractorKind;
use crate::ghost::GeneratorKind;
use crate::learner::{Target, TargetName};
use crate::loss::LossSettings;
use crate::memory::MemorySettings;
use serde::{Deserialize, Serialize};

/// How to learn.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnSettings {
    /// What learns.
    pub model: ModelSettings,
    /// How images are cropped and resized.
    pub view: View,
    /// Mean and deviation of the pixels; feature rows are taken as they are.
    pub normalization: Normalization,
    /// Where ghosts come from and how they are used.
    pub ghosts: GhostSettings,
    /// The classifier for all classes, seen and future.
    pub complete: CompleteSettings,
    /// How scores of seen and future classes are balanced.
    pub calibrate: CalibrateSettings,
    /// What is minimized.
    pub loss: LossSettings,
    /// The main training of each task.
    pub train: TrainSettings,
    /// The balanced fine-tune after it.
    pub finetune: FinetuneSettings,
    /// The rehearsal memory.
    pub memory: MemorySettings,
    /// Speed, not results.
    pub compute: Compute,
    /// Threads that read images.
    pub threads: usize,
}

/// What the model is made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// `f`.
    pub extractor: ExtractorKind,
}

/// The main training of each task: SGD with momentum 0.9, the rate falling along a cosine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainSettings {
    /// Passes over the images of the new classes.
    pub epochs: usize,
    /// How many times the first task is trained, each time from other initial weights; the model with the lowest loss over
    /// its last epoch is kept. Useful with 2-d features, where a bad start is not mended later.
    pub restarts: usize,
    /// Images a step. The paper gives none; 64 fits its memory figure.
    pub batch_size: usize,
    /// The learning rate at the start of each task.
    pub lr: f64,
    /// The same from the second task on; unless given, `lr`. A smaller rate forgets less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incremental_lr: Option<f64>,
    /// Weight decay, on everything that learns.
    pub weight_decay: f64,
    /// The norm to which a longer gradient is scaled down; unless given, gradients are left alone. The gradient of a
    /// normalized feature grows as 1/‖h‖, and 2-d features pass close to 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grad_clip_norm: Option<f64>,
    /// Into how many shards a batch is cut, each with BatchNorm's statistics of its own; a multiple of the number of processes.
    /// Unless given, 1. Results depend on it, and not on the number of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<usize>,
}

impl TrainSettings {
    /// SGD's momentum, in the main training and in the fine-tune.
    pub const MOMENTUM: f64 = 0.9;
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self {
            epochs: 90,
            restarts: 1,
            batch_size: 64,
            lr: 0.1,
            incremental_lr: None,
            weight_decay: 1e-4,
            grad_clip_norm: None,
            shards: None,
        }
    }
}

/// The balanced fine-tune: the classifier alone, on as many images of each class, `f` frozen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FinetuneSettings {
    /// Passes over the images. 0 leaves the stage out.
    pub epochs: usize,
    /// The learning rate, which stays as it is.
    pub lr: f64,
}

impl Default for FinetuneSettings {
    fn default() -> Self {
        Self { epochs: 20, lr: 0.01 }
    }
}

/// Where ghosts come from, and how they are used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GhostSettings {
    /// Ghosts of each future class.
    pub per_class: usize,
    /// 0: ghosts are drawn once a task and take part from the second task on, as in the paper. N: they take part from the
    /// first task on, and are drawn anew for the current `f` after every N epochs of the main training.
    pub refresh_epochs: usize,
    /// Ghosts in a batch for each of its images; unless given, as many as make ghosts and images of a class equally
    /// frequent, between 0.1 and 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// What the classification loss is averaged over.
    pub reduction: Reduction,
    /// Whether features are scaled to length 1 before the generator learns from them. The classifier sees directions only,
    /// and without this long features of a class outweigh its short ones.
    pub l2_normalize: bool,
    /// Whether the proxy of a class that arrives starts from the proxy of its ghosts, where it has one, instead of being
    /// imprinted from its images.
    pub init_from_ghosts: bool,
    /// Whether, and how, the run may look at images of future classes: the oracles of Table 4.
    pub oracle: Oracle,
    /// Where ghosts come from.
    pub generator: GeneratorKind,
}

impl Default for GhostSettings {
    fn default() -> Self {
        Self {
            per_class: 500,
            refresh_epochs: 0,
            ratio: None,
            reduction: Reduction::ImagesAndGhosts,
            l2_normalize: false,
            init_from_ghosts: false,
            oracle: Oracle::None,
            generator: GeneratorKind::None,
        }
    }
}

impl GhostSettings {
    /// Whether the model imagines the future at all.
    pub fn enabled(&self) -> bool {
        self.generator != GeneratorKind::None
    }

    /// Whether the run may read training images of future classes.
    pub fn reads_the_future(&self) -> bool {
        self.generator == GeneratorKind::Real || self.oracle != Oracle::None
    }

    /// Whether the ghosts that take part in the main training are features of actual images.
    pub fn trains_on_real_features(&self) -> bool {
        self.reads_the_future()
    }
}

/// What the classification loss with ghosts is averaged over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// Images and ghosts together, as in the authors' code: the more ghosts, the less an image counts against distillation.
    #[default]
    ImagesAndGhosts,
    /// The images; ghosts come on top.
    Images,
}

/// An upper bound that reads images of future classes, by name. Its record and its report say so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Oracle {
    /// None: the honest setting.
    #[default]
    None,
    /// Ghosts of the main training are features of actual future images; the complete classifier still answers through the
    /// generator. Table 4, "w/ real features".
    TrainingFeatures,
    /// `f` itself also trains on images of future classes. Table 4, "partial oracle"; with the generator `real`.
    Partial,
}

/// The complete classifier: proxies for all classes, trained on real features and ghosts, `f` frozen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompleteSettings {
    /// Passes over the features. 0: proxies of future classes stay at the mean of their ghosts.
    pub epochs: usize,
    /// Adam's learning rate.
    pub lr: f64,
    /// Features a step.
    pub batch_size: usize,
    /// Train it on seen classes alone, without ghosts: the control that a base model needs to be compared with the Ghost
    /// model, whose seen proxies are trained in this stage too.
    pub seen_only: bool,
}

impl Default for CompleteSettings {
    fn default() -> Self {
        Self { epochs: 60, lr: 1e-4, batch_size: 128, seen_only: false }
    }
}

/// How scores of seen and future classes are balanced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CalibrateSettings {
    /// What the offset is chosen for. Unless given: `accuracy` in the closed form; in the Ghost model `price` where
    /// `max_seen_drop` is above 0, else `none`, as in the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetName>,
    /// With the target `price`: the share of right answers on held-out images of seen classes that may be lost to future
    /// classes.
    pub max_seen_drop: f64,
}

impl CalibrateSettings {
    /// What the offset of the Ghost model is chosen for.
    pub fn target_of_ghosts(&self) -> Target {
        self.target(if self.max_seen_drop > 0.0 { Target::Price(self.max_seen_drop) } else { Target::None })
    }

    /// What the offset is chosen for, where `default` is what a learner does that is not told.
    pub fn target(&self, default: Target) -> Target {
        match self.target {
            None => default,
            Some(TargetName::Accuracy) => Target::Accuracy,
            Some(TargetName::Balance) => Target::Balance,
            Some(TargetName::Price) => Target::Price(self.max_seen_drop),
            Some(TargetName::None) => Target::None,
        }
    }
}
