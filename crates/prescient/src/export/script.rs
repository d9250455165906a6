//! TorchScript: the same steps as source, with the tensors beside it. An exported network goes in as it is.

use super::model::{Body, Model, folded};
use crate::error::ExportError;
use crate::extractor::layers::{Layer, Step};
use crate::predictor::Novelty;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use tch::Tensor;
use torch_shim::Script;

/// Writes the file.
pub(super) fn write(model: &Model, path: &Path) -> Result<(), ExportError> {
    let mut writer = Writer { script: Script::new("Prescient")?, source: String::new() };
    writer.write(model)?;
    writer.script.define(&writer.source)?;
    Ok(writer.script.save(path)?)
}

struct Writer {
    script: Script,
    source: String,
}

impl Writer {
    fn write(&mut self, model: &Model) -> Result<(), ExportError> {
        let input = if model.pixels.is_some() { "pixels" } else { "rows" };
        self.source = format!("def forward(self, {input}: Tensor) -> Tuple[Tensor, Tensor]:\n");
        // 6 is float32, in the words of the file format.
        match &model.pixels {
            Some(affine) => {
                let [scale, bias] = affine.each_ref().map(|values| Tensor::from_slice(values).reshape([1, -1, 1, 1]));
                self.tensor("pixel.scale", &scale)?;
                self.tensor("pixel.bias", &bias)?;
                self.line(
                    "x0",
                    "torch.to(torch.permute(pixels, [0, 3, 1, 2]), 6) * self.pixel_scale + self.pixel_bias",
                );
            }
            None => self.line("x0", "torch.to(rows, 6)"),
        }
        if model.mirrored {
            self.line("x0", "torch.cat([x0, torch.flip(x0, [3])])");
        }
        let features = match &model.body {
            Body::Steps(layers, variables) => {
                for (result, step) in (1..).zip(layers.steps()) {
                    let value = self.step(step, variables)?;
                    self.line(&format!("x{result}"), &value);
                }
                layers.steps().len()
            }
            Body::File(path) => {
                self.script.part("extractor", path)?;
                self.line("x1", "torch.to(self.extractor.forward(x0), 6)");
                1
            }
        };
        self.head(model, &format!("x{features}"))
    }

    /// `name = value`
    fn line(&mut self, name: &str, value: &str) {
        writeln!(self.source, "    {name} = {value}").expect("a text takes all");
    }

    /// Gives the module a tensor; answers how the source calls it.
    fn tensor(&mut self, name: &str, tensor: &Tensor) -> Result<String, ExportError> {
        let name = name.replace('.', "_");
        self.script.buffer(&name, tensor)?;
        Ok(format!("self.{name}"))
    }

    fn step(&mut self, step: &Step, variables: &BTreeMap<String, Tensor>) -> Result<String, ExportError> {
        let x = format!("x{}", step.of);
        Ok(match &step.layer {
            Layer::Conv(conv) => {
                let [weight, bias] = folded(conv, variables);
                let weight = self.tensor(&format!("{}.weight", conv.name), &weight)?;
                let bias = self.tensor(&format!("{}.bias", conv.name), &bias)?;
                let (stride, padding) = ([conv.stride; 2], [conv.padding; 2]);
                format!("torch.conv2d({x}, {weight}, {bias}, {stride:?}, {padding:?}, [1, 1], {})", conv.groups)
            }
            Layer::Linear { name } => {
                let mut part = |part: &str| {
                    let name = format!("{name}.{part}");
                    self.tensor(&name, &variables[&name])
                };
                format!("torch.linear({x}, {}, {})", part("weight")?, part("bias")?)
            }
            Layer::Relu => format!("torch.relu({x})"),
            Layer::Relu6 => format!("torch.clamp({x}, 0, 6)"),
            Layer::MaxPool { kernel, stride, padding } => {
                let [kernel, stride, padding] = [kernel, stride, padding].map(|side| [*side; 2]);
                format!("torch.max_pool2d({x}, {kernel:?}, {stride:?}, {padding:?})")
            }
            Layer::Add { other } => format!("{x} + x{other}"),
            Layer::Mean => format!("torch.mean({x}, [2, 3])"),
            Layer::Flatten => format!("torch.flatten({x}, 1)"),
        })
    }

    fn head(&mut self, model: &Model, features: &str) -> Result<(), ExportError> {
        let (width, scale) = (model.width, f64::from(model.about.scale));
        match model.mirrored {
            true => self.line("h", &format!("torch.mean(torch.reshape({features}, [2, -1, {width}]), [0])")),
            false => self.line("h", features),
        }
        self.line("u", "h / torch.sqrt(torch.clamp_min(torch.sum(h * h, [1], True), 1e-12))");
        if let Some(centre) = &model.head.centre {
            let centre = self.tensor("head.centre", centre)?;
            self.line("u", &format!("u - {centre}"));
        }
        let weight = self.tensor("head.weight", &model.head.weight)?;
        let bias = self.tensor("head.bias", &model.head.bias)?;
        self.line("scores", &format!("torch.linear(u, {weight}, {bias})"));
        if let Some(apart) = &model.novelty {
            let (Novelty { scale: new, bias, lead }, seen) = (apart.novelty, model.about.seen);
            let [new, bias, lead] = [new, bias, lead].map(f64::from);
            let offset = self.tensor("head.offset", &apart.offset)?;
            self.line("old", &format!("torch.slice(scores, 1, 0, {seen})"));
            self.line("new", &format!("torch.slice(scores, 1, {seen})"));
            self.line("lead", "torch.amax(new, [1], True) - torch.amax(old, [1], True)");
            self.line("odds", &format!("lead * {lead:?} + {bias:?}"));
            self.line("old", &format!("torch.log_softmax(old * {scale:?}, 1) + torch.log_sigmoid(-odds)"));
            self.line("new", &format!("torch.log_softmax(new * {new:?}, 1) + torch.log_sigmoid(odds)"));
            self.line("all", "torch.cat([old, new], 1)");
            self.source.push_str(&format!("    return torch.exp(all), all - {offset}\n"));
            return Ok(());
        }
        self.source.push_str(&format!("    return torch.softmax(scores * {scale:?}, 1), scores\n"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answers, assert_same, batch, kinds, plain, predictor};
    use super::*;
    use crate::data::Channels;
    use crate::extractor::{ExtractorKind, TorchScript};
    use crate::predictor::{HeadKind, Predictor};
    use tch::{CModule, IValue, no_grad};

    /// Saved, loaded, and asked: three images at once, and each by itself.
    #[track_caller]
    fn assert_answers_are_the_same(name: &str, predictor: &Predictor) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("model.pt");
        write(&Model::of(predictor), &path).expect("it can be written");
        let module = CModule::load(&path).expect("what was written can be read");
        let ask = |batch: Tensor| {
            let answer = no_grad(|| module.forward_is(&[IValue::Tensor(batch)])).expect("it runs");
            let IValue::Tuple(parts) = answer else { panic!("two tensors: {answer:?}") };
            parts.into_iter().map(|part| Tensor::try_from(part).expect("a tensor")).collect::<Vec<_>>()
        };
        let batch = batch(predictor);
        let expected = answers(predictor, &batch);
        let together = ask(batch.shallow_clone());
        assert_same(name, &[plain(&together[0]), plain(&together[1])], &expected);
        let mut apart = [Vec::new(), Vec::new()];
        for image in 0..3 {
            let parts = ask(batch.narrow(0, image, 1));
            apart.iter_mut().zip(&parts).for_each(|(all, part)| all.extend(plain(part)));
        }
        assert_same(name, &apart, &expected);
    }

    #[test]
    fn every_extractor_and_head_answers_as_the_predictor_does() {
        for (name, kind, channels) in kinds() {
            for head in [HeadKind::Cosine, HeadKind::Gaussian] {
                assert_answers_are_the_same(&format!("{name}, {head:?}"), &predictor(kind.clone(), channels, head));
            }
        }
    }

    #[test]
    fn an_exported_network_goes_in_as_it_is_and_into_no_other_format() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rows.pt");
        let kind = ExtractorKind::TorchScript(TorchScript { path, normalization: Default::default() });
        let predictor = predictor(kind, Channels::Rgb, HeadKind::Gaussian);
        assert_answers_are_the_same("torchscript", &predictor);
        let model = Model::of(&predictor);
        assert!(matches!(super::super::weights::files(&model), Err(ExportError::NoWeights)));
        #[cfg(feature = "onnx")]
        assert!(matches!(super::super::onnx::bytes(&model, ""), Err(ExportError::NoOnnx)));
    }
}
