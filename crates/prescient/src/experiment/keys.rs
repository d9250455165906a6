//! Every key of a recipe: what may be written, and what it means. `prescient list --keys` prints this table, a recipe is
//! checked against it before any data is opened, and a test holds that it names exactly the keys that recipes have.

mod check;
mod text;

pub(super) use check::{check, check_learner};
pub use text::{key_rows, keys_text, keys_text_below_each_other};

use crate::data::{Crop, DATASET_NAMES};
use crate::scenario::Order;
use std::ops::Bound::{self, Excluded, Included, Unbounded};

/// A key of a recipe.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// With its tables: `train.epochs`.
    pub name: &'static str,
    /// What may be written.
    pub allowed: Allowed,
    /// The kinds of its table that have it, where only some do.
    pub of: &'static [&'static str],
    /// What happens where it is not written, for keys without a default value.
    pub unset: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// What may be written for a key.
#[derive(Clone, Copy, Debug)]
pub enum Allowed {
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number, from and to.
    Whole(i64, i64),
    /// A finite number between these bounds.
    Number(Bound<f64>, Bound<f64>),
    /// Text, described.
    Text(&'static str),
    /// Something else, described: its type checks it.
    Other(&'static str),
}

const fn key(name: &'static str, allowed: Allowed, about: &'static str) -> Key {
    Key { name, allowed, of: &[], unset: "", about }
}

impl Key {
    const fn of(self, of: &'static [&'static str]) -> Self {
        Self { of, ..self }
    }

    const fn unset(self, unset: &'static str) -> Self {
        Self { unset, ..self }
    }
}

use Allowed::{Choice, Flag, Number, Other, Text, Whole};

const EPOCHS: i64 = 100_000;
const MANY: i64 = 1 << 20;
const NOT_NEGATIVE: Allowed = Number(Included(0.0), Unbounded);
const POSITIVE: Allowed = Number(Excluded(0.0), Unbounded);
const EXTRACTORS: &[&str] =
    &["resnet18", "resnet50", "mobilenet-v2", "efficientnet-lite0", "torchscript", "small-cnn", "mlp", "identity"];
/// Extractors with published weights.
const PRETRAINED: &[&str] = &["resnet18", "resnet50", "mobilenet-v2", "efficientnet-lite0"];
const FORMS: &[&str] = &["nca", "scaled-margin", "scaled-margin-unhinged", "reference", "cross-entropy"];

/// The tables that say how the Ghost learner learns.
pub(super) const OF_THE_GHOST_LEARNER: &[&str] = &["loss", "train", "finetune", "memory", "ghosts", "complete"];

/// The key of theirs that the closed form has as well, for `real`: an oracle.
pub(super) const ORACLE_OF_BOTH: &str = "ghosts.generator.kind";

/// Every key.
pub const KEYS: &[Key] = &[
    key("preset", Choice(&["paper", "tuned"]), "which values fill what the recipe does not say"),
    key("seed", Whole(0, u32::MAX as i64), "the one seed of the run"),
    key("data.kind", Choice(&DATASET_NAMES), "which dataset"),
    key("data.path", Text("a path, or one below the data root"), "where the data lies")
        .of(&["mnist", "folder", "awa2", "apy", "pack", "features"])
        .unset("mnist, awa2, apy: the folder of that name below the data root; others: required"),
    key(
        "data.attributes",
        Other("files, or `names`; for awa2 the word `continuous` or `binary`"),
        "what is known of each class",
    )
    .of(&["folder", "awa2", "features"]),
    key("data.scale", Choice(&["none", "unit-l2", "range"]), "how the attributes of each source are scaled")
        .of(&["folder", "awa2", "apy", "features"]),
    key("data.exclude", Other("images such as `train/cat/0001.jpg`"), "images that are left out")
        .of(&["folder"])
        .unset("none"),
    key(
        "data.shots",
        Whole(1, MANY),
        "training images of each class that arrives after the first task, drawn by the seed",
    )
    .unset("all"),
    key("data.train", Whole(1, 10_000), "training images of each class").of(&["synthetic"]),
    key("data.test", Whole(1, 10_000), "test images of each class").of(&["synthetic"]),
    key("images.size", Whole(8, 1024), "side of the square that the model sees, in pixels").unset("the dataset's own"),
    key("images.crop", Text(Crop::FORMS), "which part of a training image is taken")
        .unset("`resized 0.08` for photos, `none` for digits and drawings"),
    key("images.flip", Flag, "whether training images are mirrored at random")
        .unset("true for photos, false for digits and drawings"),
    key("scenario.split", Text("such as `25+5x5`: 25 classes, then 5 tasks of 5"), "how many classes each task brings")
        .unset("required"),
    key("scenario.order", Text(Order::FORMS), "in which order classes arrive"),
    key(
        "scenario.val_fraction",
        Number(Excluded(0.0), Excluded(1.0)),
        "share of the training images that is held out and tested on instead of the test images, to choose settings",
    )
    .unset("test images are used"),
    key("learner.kind", Choice(&["ghost", "closed-form"]), "the paper's model, or closed form on frozen features"),
    key("model.extractor.kind", Choice(EXTRACTORS), "the feature extractor"),
    key(
        "model.extractor.weights",
        Text("imagenet, or a .pth or .safetensors file with torchvision's names"),
        "pretrained weights to begin with; size, mean and deviation of images are theirs",
    )
    .of(PRETRAINED)
    .unset("random weights"),
    key("model.extractor.freeze", Flag, "whether pretrained weights stay as they are")
        .of(PRETRAINED)
        .unset("true with weights"),
    key(
        "model.extractor.path",
        Text("a file of torch.jit.save"),
        "an exported network that gives [batch, width] floats",
    )
    .of(&["torchscript"])
    .unset("required"),
    key(
        "model.extractor.normalization",
        Choice(&["imagenet", "clip", "half", "none"]),
        "mean and deviation of the pixels: ImageNet's, CLIP's, 0.5 and 0.5, 0 and 1",
    )
    .of(&["torchscript"]),
    key("model.extractor.width", Whole(1, 65_536), "channels of the first stage; for mlp units of the hidden layer")
        .of(&["resnet18", "small-cnn", "mlp"]),
    key("model.extractor.features", Whole(1, 65_536), "length of a feature").of(&["small-cnn", "mlp"]),
    key("loss.classification.form", Choice(FORMS), "the classification loss"),
    key(
        "loss.distillation.kind",
        Choice(&["none", "pod", "less-forget"]),
        "what keeps features close to those of the last task",
    ),
    key("loss.distillation.weight", Number(Included(0.0), Included(1e6)), "its weight; for pod that of the maps")
        .of(&["pod", "less-forget"]),
    key("loss.distillation.flat", Number(Included(0.0), Included(1e6)), "weight of the features").of(&["pod"]),
    key(
        "loss.svm_reg.weight",
        Number(Included(0.0), Included(1e6)),
        "weight of the latent regularization; 0 leaves it out",
    ),
    key("train.epochs", Whole(1, EPOCHS), "passes over the images of the new classes"),
    key("train.restarts", Whole(1, 100), "trainings of the first task, of which the one with the lowest loss is kept"),
    key("train.batch_size", Whole(2, MANY), "images a step"),
    key("train.lr", NOT_NEGATIVE, "learning rate at the start of a task; it falls along a cosine"),
    key("train.incremental_lr", NOT_NEGATIVE, "the same from the second task on").unset("`train.lr`"),
    key("train.weight_decay", NOT_NEGATIVE, "weight decay, on everything that learns"),
    key(
        "train.shards",
        Whole(1, 1024),
        "parts of a batch, each with its own BatchNorm statistics; processes share them",
    )
    .unset("1"),
    key("train.grad_clip_norm", POSITIVE, "norm to which a longer gradient is scaled down")
        .unset("gradients are not clipped"),
    key("finetune.epochs", Whole(0, EPOCHS), "epochs of the balanced fine-tune; 0 leaves it out"),
    key("finetune.lr", NOT_NEGATIVE, "its learning rate, which stays constant"),
    key("memory.per_class", Whole(0, MANY), "images of each past class that are kept; 0: no memory"),
    key("memory.repeat", Whole(0, 1000), "how often each of them is seen in an epoch"),
    key("ghosts.per_class", Whole(1, MANY), "ghosts of each future class"),
    key(
        "ghosts.refresh_epochs",
        Whole(0, EPOCHS),
        "0: drawn once a task, from the second on; N: from the first on, anew every N epochs",
    ),
    key("ghosts.ratio", Number(Excluded(0.0), Included(100.0)), "ghosts in a batch for each of its images")
        .unset("future classes for each seen class, 0.1 to 1"),
    key("ghosts.reduction", Choice(&["images-and-ghosts", "images"]), "what the loss is averaged over"),
    key("ghosts.l2_normalize", Flag, "whether features have length 1 before the generator learns them"),
    key("ghosts.init_from_ghosts", Flag, "whether a class that arrives starts from the proxy of its ghosts"),
    key(
        "ghosts.oracle",
        Choice(&["none", "training-features", "partial"]),
        "whether the run may use future images, and how (Table 4)",
    ),
    key(
        "ghosts.generator.kind",
        Choice(&["none", "gmmn", "gaussian", "real"]),
        "where ghosts come from; none: no ghosts; real, an oracle, also with closed-form",
    ),
    key("ghosts.generator.epochs", Whole(1, 1_000_000), "epochs after each task").of(&["gmmn"]),
    key("ghosts.generator.lr", NOT_NEGATIVE, "Adam's learning rate").of(&["gmmn"]),
    key("ghosts.generator.hidden", Whole(1, 65_536), "units of its hidden layer").of(&["gmmn"]),
    key("ghosts.generator.limit", Whole(1, MANY), "features of a class in a step, at most").of(&["gmmn"]),
    key("complete.epochs", Whole(0, EPOCHS), "epochs of the classifier for all classes"),
    key("complete.lr", NOT_NEGATIVE, "Adam's learning rate"),
    key("complete.batch_size", Whole(1, MANY), "features a step"),
    key("complete.seen_only", Flag, "the control: the same stage without ghosts, on seen classes"),
    key("calibrate.target", Choice(&["accuracy", "balance", "price", "none"]), "what the offset is chosen for")
        .unset("closed-form: `accuracy`; ghost: `price` where `max_seen_drop` is above 0, else `none`"),
    key(
        "calibrate.max_seen_drop",
        Number(Included(0.0), Excluded(1.0)),
        "price: share of right answers on held-out seen images that may go to future classes",
    ),
    key(
        "compute.precision",
        Choice(&["auto", "fp32", "tf32", "bf16"]),
        "of the extractor's products; auto: bf16 on a GPU",
    ),
];

impl Allowed {
    /// The type, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Flag => "true or false",
            Choice(_) | Text(_) => "text",
            Whole(..) => "whole number",
            Number(..) => "number",
            Other(_) => "list",
        }
    }

    /// The values, in words.
    pub fn values(&self) -> String {
        match self {
            Flag => "`true` or `false`".to_owned(),
            Choice(words) => {
                let (last, first) = words.split_last().expect("a choice has words");
                let first: Vec<String> = first.iter().map(|word| format!("`{word}`")).collect();
                format!("{} or `{last}`", first.join(", "))
            }
            Whole(least, most) => format!("{least} to {most}"),
            Number(least, most) => range(*least, *most),
            Text(described) | Other(described) => (*described).to_owned(),
        }
    }
}

fn range(least: Bound<f64>, most: Bound<f64>) -> String {
    let least = match least {
        Included(least) => format!("at least {least}"),
        Excluded(least) => format!("above {least}"),
        Unbounded => String::new(),
    };
    match most {
        Included(most) => format!("{least} and at most {most}"),
        Excluded(most) => format!("{least} and below {most}"),
        Unbounded => least,
    }
}

#[cfg(test)]
mod tests;
