//! BERT as all-MiniLM-L6-v2 has it: embeddings, six layers of attention, the mean over all tokens, length 1.
//!
//! ```text
//! x = LN(word + position + type)        six times:  x = LN(x + O·attention(x))
//!                                                   x = LN(x + W₂·gelu(W₁·x))
//! e = mean(x) / ‖mean(x)‖
//! ```
//!
//! A batch has texts of one length alone, so there is no padding and no mask.

use crate::error::DataError;
use safetensors::tensor::{Dtype, SafeTensors};
use std::path::Path;
use tch::{Kind, Tensor, no_grad};

/// The length of an embedding.
pub(super) const WIDTH: usize = 384;
const LAYERS: usize = 6;
const HEADS: i64 = 12;
const INNER: i64 = 1536;
const WORDS: i64 = 30_522;
const POSITIONS: i64 = 512;
const EPSILON: f64 = 1e-12;

/// The network with its weights.
pub(super) struct Bert {
    words: Tensor,
    positions: Tensor,
    /// Of the first kind of text: there is no second one here.
    kind: Tensor,
    norm: Affine,
    layers: Vec<Layer>,
}

/// A matrix or a scale, and what is added.
struct Affine {
    weight: Tensor,
    bias: Tensor,
}

struct Layer {
    query: Affine,
    key: Affine,
    value: Affine,
    output: Affine,
    output_norm: Affine,
    inner: Affine,
    outer: Affine,
    outer_norm: Affine,
}

impl Bert {
    /// Reads the weights from the bytes of `model.safetensors`; `path` is named in errors.
    pub(super) fn read(bytes: &[u8], path: &Path) -> Result<Self, DataError> {
        let file = File { tensors: SafeTensors::deserialize(bytes).map_err(|e| wrong(path, e.to_string()))?, path };
        let width = WIDTH as i64;
        let square = |name: String| file.affine(&name, &[width, width]);
        let layer = |index: usize| -> Result<Layer, DataError> {
            let at = format!("encoder.layer.{index}.");
            Ok(Layer {
                query: square(format!("{at}attention.self.query"))?,
                key: square(format!("{at}attention.self.key"))?,
                value: square(format!("{at}attention.self.value"))?,
                output: square(format!("{at}attention.output.dense"))?,
                output_norm: file.affine(&format!("{at}attention.output.LayerNorm"), &[width])?,
                inner: file.affine(&format!("{at}intermediate.dense"), &[INNER, width])?,
                outer: file.affine(&format!("{at}output.dense"), &[width, INNER])?,
                outer_norm: file.affine(&format!("{at}output.LayerNorm"), &[width])?,
            })
        };
        Ok(Self {
            words: file.tensor("embeddings.word_embeddings.weight", &[WORDS, width])?,
            positions: file.tensor("embeddings.position_embeddings.weight", &[POSITIONS, width])?,
            kind: file.tensor("embeddings.token_type_embeddings.weight", &[2, width])?.get(0),
            norm: file.affine("embeddings.LayerNorm", &[width])?,
            layers: (0..LAYERS).map(layer).collect::<Result<_, _>>()?,
        })
    }

    /// The embeddings of texts of one length, `[texts, WIDTH]`, from their tokens, `[texts, tokens]`.
    pub(super) fn embeddings(&self, tokens: &Tensor) -> Tensor {
        no_grad(|| {
            let (texts, length) = tokens.size2().expect("a matrix of tokens");
            let words = self.words.index_select(0, &tokens.flatten(0, 1)).view([texts, length, -1]);
            let sum = words + self.positions.narrow(0, 0, length) + &self.kind;
            let states = self.layers.iter().fold(self.norm.normalized(&sum), |states, layer| layer.forward(&states));
            let mean = states.mean_dim([1i64].as_slice(), false, Kind::Float);
            let length = mean.square().sum_dim_intlist([1i64].as_slice(), true, Kind::Float).sqrt().clamp_min(EPSILON);
            mean / length
        })
    }
}

impl Affine {
    /// `Wx + b`.
    fn applied(&self, rows: &Tensor) -> Tensor {
        rows.linear(&self.weight, Some(&self.bias))
    }

    /// Rows of mean 0 and deviation 1, scaled and shifted.
    fn normalized(&self, rows: &Tensor) -> Tensor {
        rows.layer_norm([WIDTH as i64], Some(&self.weight), Some(&self.bias), EPSILON, false)
    }
}

impl Layer {
    fn forward(&self, states: &Tensor) -> Tensor {
        let attended = self.output.applied(&self.attention(states));
        let states = self.output_norm.normalized(&(states + attended));
        let inner = self.inner.applied(&states).gelu("none");
        self.outer_norm.normalized(&(states + self.outer.applied(&inner)))
    }

    /// `softmax(QKᵀ/√d) V`, head by head.
    fn attention(&self, states: &Tensor) -> Tensor {
        let (texts, length, width) = states.size3().expect("texts, tokens, width");
        let head = width / HEADS;
        let heads = |part: &Affine| part.applied(states).view([texts, length, HEADS, head]).transpose(1, 2);
        let scores = heads(&self.query).matmul(&heads(&self.key).transpose(2, 3)) / (head as f64).sqrt();
        let mixed = scores.softmax(-1, Kind::Float).matmul(&heads(&self.value));
        mixed.transpose(1, 2).contiguous().view([texts, length, width])
    }
}

struct File<'a> {
    tensors: SafeTensors<'a>,
    path: &'a Path,
}

impl File<'_> {
    fn affine(&self, name: &str, shape: &[i64]) -> Result<Affine, DataError> {
        let weight = self.tensor(&format!("{name}.weight"), shape)?;
        Ok(Affine { weight, bias: self.tensor(&format!("{name}.bias"), &shape[..1])? })
    }

    fn tensor(&self, name: &str, shape: &[i64]) -> Result<Tensor, DataError> {
        let view = self.tensors.tensor(name).map_err(|_| wrong(self.path, format!("no tensor `{name}`")))?;
        let found: Vec<i64> = view.shape().iter().map(|&side| side as i64).collect();
        if view.dtype() != Dtype::F32 || found != shape {
            return Err(wrong(self.path, format!("`{name}` of {:?} {found:?}", view.dtype())));
        }
        Ok(Tensor::from_data_size(view.data(), shape, Kind::Float))
    }
}

/// A file that is not the network's.
pub(super) fn wrong(path: &Path, found: String) -> DataError {
    DataError::Malformed {
        path: path.to_owned(),
        line: None,
        expected: "all-MiniLM-L6-v2".to_owned(),
        found,
        hint: "`prescient weights check` says which file is damaged, `prescient weights get minilm` fetches it again"
            .to_owned(),
    }
}
