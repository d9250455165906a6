//! The file is read back and carried out, node by node, by another reading of ONNX's definitions than the writer's.

use super::message::{self, Node};
use crate::export::model::Model;
use crate::export::testing::{answers, assert_same, batch, kinds, plain, predictor};
use crate::predictor::HeadKind;
use prost::Message;
use std::collections::BTreeMap;
use tch::{Kind, Tensor, no_grad};

/// The results of a graph for one input.
fn run(graph: &message::Graph, input: &Tensor) -> BTreeMap<String, Tensor> {
    let mut values: BTreeMap<String, Tensor> =
        graph.initializer.iter().map(|one| (one.name.clone(), read(one))).collect();
    assert_eq!(values.len(), graph.initializer.len(), "every tensor has a name of its own");
    values.insert(graph.input[0].name.clone(), input.shallow_clone());
    for node in &graph.node {
        let inputs: Vec<&Tensor> = node.input.iter().map(|name| &values[name]).collect();
        let result = carry_out(node, &inputs);
        assert!(values.insert(node.output[0].clone(), result).is_none(), "`{}` is made once", node.output[0]);
    }
    values
}

fn read(tensor: &message::Tensor) -> Tensor {
    let kind = if tensor.data_type == message::INT64 { Kind::Int64 } else { Kind::Float };
    Tensor::from_data_size(&tensor.raw_data, &tensor.dims, kind)
}

fn carry_out(node: &Node, inputs: &[&Tensor]) -> Tensor {
    let attribute = |name: &str| node.attribute.iter().find(|attribute| attribute.name == name);
    let one = |name: &str| attribute(name).and_then(|attribute| attribute.i);
    let several = |name: &str| attribute(name).map(|attribute| attribute.ints.clone()).unwrap_or_default();
    let whole = |place: usize| Vec::<i64>::try_from(inputs[place]).expect("whole numbers");
    let x = inputs[0];
    // The padding of a window begins with its top and its left, and is the same at the other end.
    let padding = || {
        let pads = several("pads");
        assert_eq!(pads[..2], pads[2..]);
        pads[..2].to_vec()
    };
    match node.op_type.as_str() {
        "Cast" => x.to_kind(if one("to") == Some(1) { Kind::Float } else { panic!("to single precision") }),
        "Transpose" => x.permute(several("perm")),
        "Mul" => x * inputs[1],
        "Add" => x + inputs[1],
        "Sub" => x - inputs[1],
        "Div" => x / inputs[1],
        "Max" => x.maximum(inputs[1]),
        "Slice" => {
            let (start, end, axis) = (whole(1)[0], whole(2)[0], whole(3)[0]);
            if inputs.len() == 4 {
                return x.narrow(axis, start, end - start);
            }
            assert_eq!((start, end, whole(4)[0]), (-1, i64::MIN, -1), "from the last to the first");
            x.flip([axis])
        }
        "Concat" => Tensor::cat(inputs, one("axis").expect("an axis")),
        "Reshape" => x.reshape(whole(1)),
        "ReduceMean" => x.mean_dim(several("axes").as_slice(), one("keepdims") == Some(1), Kind::Float),
        "ReduceL2" => {
            x.square().sum_dim_intlist(several("axes").as_slice(), one("keepdims") == Some(1), Kind::Float).sqrt()
        }
        "Conv" => {
            assert_eq!(inputs[1].size()[2..], several("kernel_shape"));
            let group = one("group").expect("groups");
            x.conv2d(inputs[1], Some(inputs[2]), several("strides"), padding(), [1, 1], group)
        }
        "Gemm" => {
            assert_eq!(one("transB"), Some(1));
            x.matmul(&inputs[1].tr()) + inputs[2]
        }
        "Relu" => x.relu(),
        "Clip" => x.clamp_tensor(Some(inputs[1]), Some(inputs[2])),
        "MaxPool" => x.max_pool2d(several("kernel_shape"), several("strides"), padding(), [1, 1], false),
        "GlobalAveragePool" => x.mean_dim([2i64, 3].as_slice(), true, Kind::Float),
        "Flatten" => x.flatten(one("axis").expect("an axis"), -1),
        "ReduceMax" => x.amax(several("axes").as_slice(), one("keepdims") == Some(1)),
        "LogSoftmax" => x.log_softmax(one("axis").expect("an axis"), Kind::Float),
        "Neg" => x.neg(),
        "Softplus" => (x.exp() + 1.0).log(),
        "Exp" => x.exp(),
        "Softmax" => x.softmax(one("axis").expect("an axis"), Kind::Float),
        other => panic!("`{other}` is not known"),
    }
}

fn file(predictor: &crate::Predictor) -> message::Model {
    let bytes = super::bytes(&Model::of(predictor), "[]").expect("it says what it computes");
    message::Model::decode(bytes.as_slice()).expect("what was written can be read")
}

#[test]
fn every_extractor_and_head_answers_as_the_predictor_does() {
    for (name, kind, channels) in kinds() {
        for head in [HeadKind::Cosine, HeadKind::Gaussian] {
            let predictor = predictor(kind.clone(), channels, head);
            let graph = file(&predictor).graph.expect("a graph");
            let batch = batch(&predictor);
            let results = no_grad(|| run(&graph, &batch));
            let found = ["probabilities", "scores"].map(|name| plain(&results[name]));
            assert_same(&format!("{name}, {head:?}"), &found, &answers(&predictor, &batch));
        }
    }
}

#[test]
fn the_file_says_what_comes_in_and_out() {
    let (_, kind, channels) = kinds().remove(5);
    let model = file(&predictor(kind, channels, HeadKind::Gaussian));
    assert_eq!((model.ir_version, model.opset_import[0].version), (8, 17));
    assert_eq!((model.metadata_props[0].key.as_str(), model.metadata_props[0].value.as_str()), ("labels", "[]"));
    let graph = model.graph.expect("a graph");
    let told = |value: &message::ValueInfo| {
        let kind = value.kind.clone().and_then(|kind| kind.tensor_type).expect("a tensor");
        let shape = kind.shape.expect("a shape").dim.into_iter();
        let side = |side: message::Dimension| {
            side.dim_param.unwrap_or_else(|| side.dim_value.expect("one of both").to_string())
        };
        format!("{} {} {}", value.name, kind.elem_type, shape.map(side).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(graph.input.iter().map(told).collect::<Vec<_>>(), ["pixels 2 batch 20 20 3"]);
    assert_eq!(graph.output.iter().map(told).collect::<Vec<_>>(), ["probabilities 1 batch 5", "scores 1 batch 5"]);
}
