//! What a network computes, written down as a list: for other programs, in their formats.
//!
//! Results have numbers. 0 is what comes in, `n` is the result of step `n`, counted from 1; the last one is the feature. Tensors go by
//! their names among the network's variables.

pub(crate) use super::normed::EPSILON;
use serde::Serialize;

/// A step: a layer, and the number of the result that it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The number of the result.
    pub of: usize,
    /// The layer.
    #[serde(flatten)]
    pub layer: Layer,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Layer {
    /// A convolution, and the BatchNorm after it where there is one.
    Conv(Conv),
    /// `x·weightᵀ + bias`, for the variables `NAME.weight` and `NAME.bias`.
    Linear {
        /// What their names begin with.
        name: String,
    },
    /// `max(x, 0)`.
    Relu,
    /// `min(max(x, 0), 6)`.
    Relu6,
    /// The largest number of each window.
    MaxPool {
        /// The side of a window.
        kernel: i64,
        /// How far apart they begin.
        stride: i64,
        /// How far they reach over the edge.
        padding: i64,
    },
    /// The sum with another result.
    Add {
        /// Its number.
        other: usize,
    },
    /// The mean over all pixels of a map: `[batch, channels]`.
    Mean,
    /// All numbers of an image in one row.
    Flatten,
}

/// A convolution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conv {
    /// Its weight is the variable `NAME.weight`.
    pub name: String,
    /// What follows it.
    pub then: Then,
    /// How far apart its windows begin.
    pub stride: i64,
    /// How far they reach over the edge.
    pub padding: i64,
    /// Into how many parts the channels are divided, each for itself.
    pub groups: i64,
}

/// What follows a convolution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// A bias, `NAME.bias` with the convolution's name.
    Bias,
    /// BatchNorm with the variables `NAME.weight`, `NAME.bias`, `NAME.running_mean` and `NAME.running_var` of this name.
    Norm(String),
}

/// A network, step by step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers(Vec<Step>);

impl Layers {
    /// Adds a step on result `of`, and answers the number of what comes out.
    pub fn add(&mut self, of: usize, layer: Layer) -> usize {
        self.0.push(Step { of, layer });
        self.0.len()
    }

    /// A convolution on result `of`, with ReLU after it or not.
    pub fn conv(&mut self, of: usize, conv: Conv, relu: Option<Layer>) -> usize {
        let products = self.add(of, Layer::Conv(conv));
        relu.map_or(products, |relu| self.add(products, relu))
    }

    /// The steps in order.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }
}
