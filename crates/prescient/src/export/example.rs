//! Python that uses the folder: `predict.py`, and the ten lines of the card.

use super::Format;
use super::model::Model;
use crate::data::Channels;

/// What differs between formats.
struct Runtime {
    packages: &'static str,
    imports: &'static str,
    code: &'static str,
    /// The lines of the card that ask the model.
    lines: &'static str,
}

impl Format {
    fn runtime(self) -> Runtime {
        match self {
            #[cfg(feature = "onnx")]
            Format::Onnx => Runtime {
                packages: "onnxruntime numpy",
                imports: "import numpy\nimport onnxruntime\n",
                code: include_str!("python/onnx.py"),
                lines: "model = onnxruntime.InferenceSession(\"model.onnx\")\n\
                        probabilities, scores = model.run(None, {\"@INPUT@\": @BATCH@})\n",
            },
            Format::TorchScript => Runtime {
                packages: "torch numpy",
                imports: "import numpy\nimport torch\n",
                code: include_str!("python/torchscript.py"),
                lines: "model = torch.jit.load(\"model.pt\")\n\
                        probabilities, scores = model(torch.from_numpy(@BATCH@))\n",
            },
            Format::Safetensors => Runtime {
                packages: "torch safetensors numpy",
                imports: "import numpy\nimport torch\nfrom safetensors.torch import load_file\nfrom torch.nn import functional\n",
                code: include_str!("python/safetensors.py"),
                lines: "",
            },
        }
    }
}

/// What to install.
pub(super) fn packages(model: &Model, format: Format) -> String {
    let packages = format.runtime().packages;
    if is_rows(model) { packages.to_owned() } else { format!("{packages} pillow") }
}

/// `predict.py`.
pub(super) fn script(model: &Model, format: Format) -> String {
    let runtime = format.runtime();
    let (inputs, arguments, reader, pillow) = match is_rows(model) {
        true => ("rows of features", "ROWS.npy...", include_str!("python/rows.py"), ""),
        false => ("photos", "PHOTO...", include_str!("python/photos.py"), "from PIL import Image, ImageOps\n"),
    };
    // As isort has it: `import` before `from`, each by name.
    let mut imports: Vec<String> = format!("{}{pillow}", runtime.imports).lines().map(str::to_owned).collect();
    imports.sort_by_key(|line| (line.starts_with("from"), line.to_lowercase()));
    include_str!("python/predict.py")
        .replace("@INPUTS@", inputs)
        .replace("@PACKAGES@", &packages(model, format))
        .replace("@ARGUMENTS@", arguments)
        .replace("@IMPORTS@", &imports.join("\n"))
        .replace("@READER@", reader.trim_end())
        .replace("@RUNTIME@", runtime.code.trim_end())
}

/// Ten lines at most, which run as they stand in the exported folder.
pub(super) fn lines(model: &Model, format: Format) -> String {
    const SHOWN: &str = "best = int(scores[0].argmax())\n\
         print(labels[best][\"class\"], float(probabilities[0][best]), \"seen\" if labels[best][\"seen\"] else \"not yet photographed\")\n";
    let file = if is_rows(model) { "rows.npy" } else { "photo.jpg" };
    if format == Format::Safetensors {
        let one = if is_rows(model) { "" } else { "[None]" };
        return format!(
            "from predict import LABELS as labels, answer, read\n\
             probabilities, scores = answer(read(\"{file}\"){one})\n{SHOWN}"
        );
    }
    let runtime = format.runtime();
    let module = runtime.packages.split(' ').next().unwrap_or_default();
    let input = &model.about.input;
    let (size, resize) = (input.size, input.resize);
    let asked = |name: &str, batch: &str| runtime.lines.replace("@INPUT@", name).replace("@BATCH@", batch);
    if is_rows(model) {
        return format!(
            "import json, numpy, {module}\n\
             labels = json.load(open(\"labels.json\", encoding=\"utf-8\"))\n\
             rows = numpy.load(\"{file}\").astype(numpy.float32).reshape(-1, {size})\n\
             {}{SHOWN}",
            asked("rows", "rows")
        );
    }
    let (mode, channels) = if input.channels == Channels::Rgb { ("RGB", 3) } else { ("L", 1) };
    let side = if size == resize { String::new() } else { format!(" * {size} / {resize}") };
    format!(
        "import json, numpy, {module}\n\
         from PIL import Image, ImageOps\n\
         labels = json.load(open(\"labels.json\", encoding=\"utf-8\"))\n\
         photo = ImageOps.exif_transpose(Image.open(\"{file}\")).convert(\"{mode}\")\n\
         (w, h), s = photo.size, min(photo.size){side}\n\
         photo = photo.resize(({size}, {size}), Image.BILINEAR, box=((w - s) / 2, (h - s) / 2, (w + s) / 2, (h + s) / 2))\n\
         {}{SHOWN}",
        asked("pixels", &format!("numpy.array(photo).reshape(1, {size}, {size}, {channels})"))
    )
}

fn is_rows(model: &Model) -> bool {
    model.about.input.channels == Channels::Features
}
