//! The model card, `README.md`: what it is, how to use it, how good it is found to be, and what not to expect of it.

use super::labels::Label;
use super::model::Model;
use super::{Background, Format, example};
use crate::data::Channels;
use crate::predictor::HeadKind;

/// The card's text.
pub(super) fn card(name: &str, model: &Model, background: &Background, labels: &[Label], format: Format) -> String {
    let sections = [
        format!("# {name}\n\n{}", summary(model, labels)),
        format!("## Use it\n\n{}", usage(model, format)),
        format!("## What goes in and comes out\n\n{}", interface(model)),
        format!("## How good it is\n\n{}", evidence(background)),
        format!("## How it was made\n\n{}", origin(model, background)),
        format!("## What it is for, and what not\n\n{}", limits(model, background)),
        format!("## Files\n\n{}", files(format)),
        format!("## Classes\n\n{}", classes(labels)),
    ];
    sections.join("\n")
}

fn is_rows(model: &Model) -> bool {
    model.about.input.channels == Channels::Features
}

fn summary(model: &Model, labels: &[Label]) -> String {
    let seen = labels.iter().filter(|label| label.seen).count();
    let (what, all) = (if is_rows(model) { "a row of features" } else { "a photo" }, labels.len());
    let known = match all - seen {
        0 => format!("It has learned all of them from {}.", if is_rows(model) { "examples" } else { "photos" }),
        guessed => format!(
            "{seen} of them are **seen**: it has learned them from photos. {guessed} are **not yet photographed**: it knows a description of them and no photo, and guesses."
        ),
    };
    format!("A classifier: for {what} it answers with a probability for each of {all} classes. {known}\n")
}

fn usage(model: &Model, format: Format) -> String {
    let (what, file) = if is_rows(model) { ("rows", "rows.npy") } else { ("photo", "photo.jpg") };
    format!(
        "In this folder, with your {what} as `{file}`:\n\n```sh\npip install {}\n```\n\n```python\n{}```\n\n\
         `python predict.py {file}` does the same, for any number of files. `sha256sum -c SHA256SUMS` checks that the folder is as it was written.\n",
        example::packages(model, format),
        example::lines(model, format)
    )
}

fn interface(model: &Model) -> String {
    let input = &model.about.input;
    let (size, count, classes) = (input.size, input.channels.count(), model.classes());
    let scores = match model.novelty {
        Some(_) => "logarithms of the probabilities, less an offset for seen classes that was chosen for the most right answers".to_owned(),
        None => format!("the probabilities are the softmax of {} times these", model.about.scale),
    };
    let outputs = format!(
        "| out | `scores` | float32 `[batch, {classes}]`, in the order of `labels.json`: the best one is the answer; {scores} |\n\
         | out | `probabilities` | float32 `[batch, {classes}]`: how probable the model finds each class; each row adds up to 1 |\n"
    );
    if is_rows(model) {
        return format!(
            "| | name | what |\n| --- | --- | --- |\n| in | `rows` | float32 `[batch, {size}]`: features, as they were made for training |\n{outputs}"
        );
    }
    let middle = match input.size == input.resize {
        true => "the middle square of the photo".to_owned(),
        false => format!("the middle square of the photo, {size}/{} of its shorter side", input.resize),
    };
    let mirrored = match model.mirrored {
        true => " The network looks at the photo and at its mirror image, and takes the mean.",
        false => "",
    };
    format!(
        "| | name | what |\n| --- | --- | --- |\n\
         | in | `pixels` | uint8 `[batch, {size}, {size}, {count}]`: {middle}, scaled; {}, 0 to 255; any batch size |\n{outputs}\n\
         Normalization is part of the model: give it bytes.{mirrored} Pillow's `resize` with `box` is the scaling that the model was trained with, but for a rounding on the way: about one value in eight is off by one \
         level of 255. `predict.py` avoids that. Programs also decode JPEGs differently, by a few levels. Both can change the answer to a close call.\n",
        if count == 3 { "red, green, blue" } else { "grey" }
    )
}

fn evidence(background: &Background) -> String {
    if background.measured.is_empty() {
        return "Not known: the model came without a record of tests. Test it on photos of your own before you rely on it.\n".to_owned();
    }
    let row = |measured: &super::Measured| {
        format!("| {} | {} | {:.1} % |\n", measured.of, measured.photos, 100.0 * measured.accuracy)
    };
    let rows: String = background.measured.iter().map(row).collect();
    let stamp = background.stamp.as_ref().map(|stamp| format!("**{stamp}**\n\n")).unwrap_or_default();
    format!(
        "{stamp}Photos that it had not learned from; all classes compete for each of them:\n\n\
         | photos of | how many | right |\n| --- | --- | --- |\n{rows}\n\
         Photos from elsewhere are usually harder.\n"
    )
}

fn origin(model: &Model, background: &Background) -> String {
    let learner = match model.about.head {
        HeadKind::Gaussian => {
            "in closed form: a mean for each class and one covariance on features of length 1, and for classes without photos a mean that was predicted from their descriptions"
        }
        HeadKind::Cosine => "by gradient descent: a proxy for each class, compared with the feature by the cosine",
    };
    let source = background.source.as_ref().map(|source| format!("* Exported from {source}.\n")).unwrap_or_default();
    let weights = background.weights.as_ref().map(|weights| {
        format!(
            "* The extractor began with weights that were trained elsewhere: {} (SHA-256 `{}`). **They may have met any class, also those that are called not yet photographed here.**\n",
            weights.name, weights.digest
        )
    });
    format!(
        "{source}* Extractor: `{}`, features of {} numbers.\n{}* The classifier was learned {learner}.\n* Written by prescient {}, in single precision.\n",
        model.about.extractor.name(),
        model.width,
        weights.unwrap_or_default(),
        env!("CARGO_PKG_VERSION")
    )
}

fn limits(model: &Model, background: &Background) -> String {
    let guesses = match model.classes() > model.about.seen {
        true => {
            "* An answer with a class that is not yet photographed is a guess from its description. Expect it to be wrong more often; photograph the class, and export again.\n"
        }
        false => "",
    };
    let few = background.photos.as_ref().and_then(|photos| {
        let few = model.about.classes[..model.about.seen]
            .iter()
            .filter(|class| photos.get(*class).is_none_or(|count| *count < 5))
            .count();
        (few > 0).then(|| format!("* {few} of the seen classes were learned from fewer than five photos.\n"))
    });
    format!(
        "* For sorting {} into the classes below, where a person or a later step can mend a wrong answer.\n\
         * It always answers with one of these classes, whatever it is shown. There is no class \"something else\".\n{guesses}{}\
         * A probability ranks answers; how often answers of 90 % are right depends on how like your photos are to those that it learned from.\n\
         * Not for decisions about people, and not where a wrong answer does harm.\n",
        if is_rows(model) { "features" } else { "photos" },
        few.unwrap_or_default()
    )
}

fn files(format: Format) -> String {
    let model = match format {
        #[cfg(feature = "onnx")]
        Format::Onnx => "| `model.onnx` | the whole model, opset 17; the labels are in its metadata, too |\n",
        Format::TorchScript => {
            "| `model.pt` | the whole model, for `torch.jit.load` in Python or C++; `.to(\"cuda\")` moves it |\n"
        }
        Format::Safetensors => {
            "| `model.safetensors` | the weights: `extractor.*` with PyTorch's names, `head.*` for the last layer |\n\
             | `model.json` | what the extractor does with them, step by step |\n"
        }
    };
    format!(
        "| file | what |\n| --- | --- |\n{model}| `labels.json` | the classes in the order of the outputs: name, seen or not, photos learned from |\n\
         | `preprocessing.json` | what a photo goes through, for programs |\n| `predict.py` | an example that does all of it |\n| `SHA256SUMS` | digests of the other files |\n"
    )
}

fn classes(labels: &[Label]) -> String {
    let row = |(place, label): (usize, &Label)| {
        let known = if label.seen { "seen" } else { "not yet photographed" };
        let photos = label.photos.map_or("?".to_owned(), |photos| photos.to_string());
        // A name could have a bar in it, and then there would be one more column.
        format!("| {place} | {} | {known} | {photos} |\n", label.class.replace('|', "\\|").replace(['\n', '\r'], " "))
    };
    let rows: String = labels.iter().enumerate().map(row).collect();
    format!("| place | class | known | photos learned from |\n| --- | --- | --- | --- |\n{rows}")
}
