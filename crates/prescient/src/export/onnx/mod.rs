//! ONNX: one graph from pixels to probabilities, for onnxruntime and whatever else reads it (ADR 21).

mod message;
#[cfg(test)]
mod tests;

use super::model::{Apart, Body, Model, folded};
use crate::data::Channels;
use crate::error::ExportError;
use crate::extractor::layers::{Layer, Step};
use message::{
    Attribute, Dimension, Entry, FLOAT, INT64, Node, OperatorSet, Shape, TensorType, Type, UINT8, ValueInfo,
};
use prost::Message;
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// Readers of the last years know it; later ones bring nothing that we need.
const OPSET: i64 = 17;
/// The version of the file's format that came with it.
const IR: i64 = 8;

/// The bytes of the file; `labels` go with it as metadata.
pub(super) fn bytes(model: &Model, labels: &str) -> Result<Vec<u8>, ExportError> {
    let Body::Steps(layers, variables) = &model.body else { return Err(ExportError::NoOnnx) };
    let mut graph = Graph::default();
    let input = &model.about.input;
    let size = i64::from(input.size);
    let (name, kind, shape) = match input.channels {
        Channels::Features => ("rows", FLOAT, vec![size]),
        channels => ("pixels", UINT8, vec![size, size, channels.count() as i64]),
    };
    let images = match &model.pixels {
        Some(affine) => graph.normalized(name, affine),
        None => name.to_owned(),
    };
    let images = if model.mirrored { graph.with_mirror_images(&images) } else { images };
    let features = layers.steps().iter().fold(vec![images], |mut results, step| {
        results.push(graph.step(step, &results, variables));
        results
    });
    let features = features.last().expect("at least the input").clone();
    let features = if model.mirrored { graph.mean_of_halves(&features, model.width) } else { features };
    graph.head(model, &features);

    let classes = model.classes() as i64;
    graph.graph.name = "prescient".to_owned();
    graph.graph.input = vec![value(name, kind, &shape)];
    graph.graph.output = vec![value("probabilities", FLOAT, &[classes]), value("scores", FLOAT, &[classes])];
    let file = message::Model {
        ir_version: IR,
        producer_name: "prescient".to_owned(),
        producer_version: env!("CARGO_PKG_VERSION").to_owned(),
        doc_string: "Classes and how images are prepared: see labels and README.md".to_owned(),
        graph: Some(graph.graph),
        opset_import: vec![OperatorSet { domain: String::new(), version: OPSET }],
        metadata_props: vec![Entry { key: "labels".to_owned(), value: labels.to_owned() }],
    };
    Ok(file.encode_to_vec())
}

/// A graph in the making.
#[derive(Default)]
struct Graph {
    graph: message::Graph,
}

impl Graph {
    /// Adds a node; answers the name of its result, which is its own.
    fn node(&mut self, op: &str, inputs: &[&str], attributes: Vec<Attribute>) -> String {
        let name = format!("{}_{}", op.to_lowercase(), self.graph.node.len());
        self.named(&name, op, inputs, attributes);
        name
    }

    /// The same with a name for its result.
    fn named(&mut self, name: &str, op: &str, inputs: &[&str], attribute: Vec<Attribute>) {
        self.graph.node.push(Node {
            input: inputs.iter().map(ToString::to_string).collect(),
            output: vec![name.to_owned()],
            name: name.to_owned(),
            op_type: op.to_owned(),
            attribute,
        });
    }

    /// Adds a tensor; answers its name.
    fn tensor(&mut self, name: &str, tensor: &Tensor) -> String {
        let (data_type, kind, size) = match tensor.kind() {
            Kind::Int64 => (INT64, Kind::Int64, 8),
            _ => (FLOAT, Kind::Float, 4),
        };
        let tensor = tensor.to_kind(kind).contiguous();
        let mut raw_data = vec![0; tensor.numel() * size];
        tensor.copy_data_u8(&mut raw_data, tensor.numel());
        self.graph.initializer.push(message::Tensor {
            dims: tensor.size(),
            data_type,
            name: name.to_owned(),
            raw_data,
        });
        name.to_owned()
    }

    fn number(&mut self, name: &str, value: f64) -> String {
        self.tensor(name, &Tensor::from(value as f32))
    }

    fn integers(&mut self, name: &str, values: &[i64]) -> String {
        self.tensor(name, &Tensor::from_slice(values))
    }

    /// Bytes `[batch, height, width, channels]` as numbers `[batch, channels, height, width]`, normalized.
    fn normalized(&mut self, pixels: &str, affine: &[Vec<f32>; 2]) -> String {
        let [scale, bias] = affine.each_ref().map(|values| Tensor::from_slice(values).reshape([1, -1, 1, 1]));
        let (scale, bias) = (self.tensor("pixel.scale", &scale), self.tensor("pixel.bias", &bias));
        let numbers = self.node("Cast", &[pixels], vec![integer("to", i64::from(FLOAT))]);
        let planes = self.node("Transpose", &[&numbers], vec![integers("perm", &[0, 3, 1, 2])]);
        let scaled = self.node("Mul", &[&planes, &scale], Vec::new());
        self.node("Add", &[&scaled, &bias], Vec::new())
    }

    /// Images, and their mirror images after them.
    fn with_mirror_images(&mut self, images: &str) -> String {
        let ends = [("mirror.starts", -1), ("mirror.ends", i64::MIN), ("mirror.axes", 3), ("mirror.steps", -1)];
        let [starts, ends, axes, steps] = ends.map(|(name, value)| self.integers(name, &[value]));
        let mirrored = self.node("Slice", &[images, &starts, &ends, &axes, &steps], Vec::new());
        self.node("Concat", &[images, &mirrored], vec![integer("axis", 0)])
    }

    /// The mean feature of an image and its mirror image.
    fn mean_of_halves(&mut self, features: &str, width: i64) -> String {
        let shape = self.integers("mirror.shape", &[2, -1, width]);
        let halves = self.node("Reshape", &[features, &shape], Vec::new());
        self.node("ReduceMean", &[&halves], vec![integers("axes", &[0]), integer("keepdims", 0)])
    }

    /// A step of the network.
    fn step(&mut self, step: &Step, results: &[String], variables: &BTreeMap<String, Tensor>) -> String {
        let x = results[step.of].as_str();
        match &step.layer {
            Layer::Conv(conv) => {
                let [weight, bias] = folded(conv, variables);
                let kernel = weight.size()[2..].to_vec();
                let weight = self.tensor(&format!("{}.weight", conv.name), &weight);
                let bias = self.tensor(&format!("{}.bias", conv.name), &bias);
                let attributes = vec![
                    integers("kernel_shape", &kernel),
                    integers("strides", &[conv.stride; 2]),
                    integers("pads", &[conv.padding; 4]),
                    integer("group", conv.groups),
                ];
                self.node("Conv", &[x, &weight, &bias], attributes)
            }
            Layer::Linear { name } => {
                let [weight, bias] = ["weight", "bias"].map(|part| {
                    let name = format!("{name}.{part}");
                    self.tensor(&name, &variables[&name])
                });
                self.node("Gemm", &[x, &weight, &bias], vec![integer("transB", 1)])
            }
            Layer::Relu => self.node("Relu", &[x], Vec::new()),
            Layer::Relu6 => {
                let [least, most] = ["relu6.least", "relu6.most"];
                if !self.graph.initializer.iter().any(|tensor| tensor.name == least) {
                    self.number(least, 0.0);
                    self.number(most, 6.0);
                }
                self.node("Clip", &[x, least, most], Vec::new())
            }
            Layer::MaxPool { kernel, stride, padding } => {
                let attributes = vec![
                    integers("kernel_shape", &[*kernel; 2]),
                    integers("strides", &[*stride; 2]),
                    integers("pads", &[*padding; 4]),
                ];
                self.node("MaxPool", &[x], attributes)
            }
            Layer::Add { other } => self.node("Add", &[x, &results[*other]], Vec::new()),
            Layer::Mean => {
                let means = self.node("GlobalAveragePool", &[x], Vec::new());
                self.node("Flatten", &[&means], vec![integer("axis", 1)])
            }
            Layer::Flatten => self.node("Flatten", &[x], vec![integer("axis", 1)]),
        }
    }

    /// From features to `scores` and `probabilities`.
    fn head(&mut self, model: &Model, features: &str) {
        // √max(Σx², 1e-12), as everywhere.
        let shortest = self.number("shortest", 1e-6);
        let length = self.node("ReduceL2", &[features], vec![integers("axes", &[1]), integer("keepdims", 1)]);
        let length = self.node("Max", &[&length, &shortest], Vec::new());
        let mut unit = self.node("Div", &[features, &length], Vec::new());
        if let Some(centre) = &model.head.centre {
            let centre = self.tensor("head.centre", centre);
            unit = self.node("Sub", &[&unit, &centre], Vec::new());
        }
        let weight = self.tensor("head.weight", &model.head.weight);
        let bias = self.tensor("head.bias", &model.head.bias);
        let scale = self.number("head.scale", f64::from(model.about.scale));
        if let Some(apart) = &model.novelty {
            let scores = self.node("Gemm", &[&unit, &weight, &bias], vec![integer("transB", 1)]);
            return self.apart(apart, &scores, &scale, [model.about.seen as i64, model.classes() as i64]);
        }
        self.named("scores", "Gemm", &[&unit, &weight, &bias], vec![integer("transB", 1)]);
        let scaled = self.node("Mul", &["scores", &scale], Vec::new());
        self.named("probabilities", "Softmax", &[&scaled], vec![integer("axis", 1)]);
    }
}

/// Probabilities of classes with photos and without, each kind in its way.
impl Graph {
    fn apart(&mut self, apart: &Apart, scores: &str, eta: &str, [seen, classes]: [i64; 2]) {
        let novelty = apart.novelty;
        let numbers = [("scale", novelty.scale), ("lead", novelty.lead), ("bias", novelty.bias)];
        let [scale, lead, bias] =
            numbers.map(|(name, value)| self.number(&format!("novelty.{name}"), f64::from(value)));
        let places = [("start", 0), ("seen", seen), ("classes", classes), ("axis", 1)];
        let [start, middle, end, axis] =
            places.map(|(name, value)| self.integers(&format!("novelty.{name}"), &[value]));
        let old = self.node("Slice", &[scores, &start, &middle, &axis], Vec::new());
        let new = self.node("Slice", &[scores, &middle, &end, &axis], Vec::new());
        let [best_old, best_new] = [&old, &new]
            .map(|scores| self.node("ReduceMax", &[scores], vec![integers("axes", &[1]), integer("keepdims", 1)]));
        let ahead = self.node("Sub", &[&best_new, &best_old], Vec::new());
        let odds = self.node("Mul", &[&ahead, &lead], Vec::new());
        let odds = self.node("Add", &[&odds, &bias], Vec::new());
        // −log σ(−x) = log(1 + eˣ).
        let against = self.node("Neg", &[&odds], Vec::new());
        let [not_old, not_new] = [&odds, &against].map(|odds| self.node("Softplus", &[odds], Vec::new()));
        let old = self.node("Mul", &[&old, eta], Vec::new());
        let new = self.node("Mul", &[&new, &scale], Vec::new());
        let [old, new] = [&old, &new].map(|scores| self.node("LogSoftmax", &[scores], vec![integer("axis", 1)]));
        let old = self.node("Sub", &[&old, &not_old], Vec::new());
        let new = self.node("Sub", &[&new, &not_new], Vec::new());
        let all = self.node("Concat", &[&old, &new], vec![integer("axis", 1)]);
        self.named("probabilities", "Exp", &[&all], Vec::new());
        let offset = self.tensor("head.offset", &apart.offset);
        self.named("scores", "Sub", &[&all, &offset], Vec::new());
    }
}

fn integer(name: &str, value: i64) -> Attribute {
    Attribute { name: name.to_owned(), i: Some(value), ints: Vec::new(), kind: 2 }
}

fn integers(name: &str, values: &[i64]) -> Attribute {
    Attribute { name: name.to_owned(), i: None, ints: values.to_vec(), kind: 7 }
}

/// What comes in or out: any number of rows of this shape.
fn value(name: &str, elem_type: i32, shape: &[i64]) -> ValueInfo {
    let batch = Dimension { dim_value: None, dim_param: Some("batch".to_owned()) };
    let sides = shape.iter().map(|side| Dimension { dim_value: Some(*side), dim_param: None });
    let shape = Shape { dim: std::iter::once(batch).chain(sides).collect() };
    let kind = Type { tensor_type: Some(TensorType { elem_type, shape: Some(shape) }) };
    ValueInfo { name: name.to_owned(), kind: Some(kind) }
}
