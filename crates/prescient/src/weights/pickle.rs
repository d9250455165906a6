//! Python's pickle, restricted to what a file of weights needs: numbers, text, tuples, lists, dictionaries and tensors.
//!
//! A pickle is a program for a small stack machine, and Python's own reader lets it call any function. This one calls
//! nothing: it knows the few names that `torch.save` writes, and any other name ends the reading. Values lie in one list and
//! name each other by number, so that no nesting, however deep, overflows the stack of this process.

use crate::weights::machine::Machine;

/// Why a pickle is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It cannot be read.
    Malformed(String),
    /// It asks for a function or type that weights do not need.
    Code(String),
}

/// The kind of numbers in a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    F16,
    Bf16,
    F32,
    F64,
    /// Whole numbers of so many bytes: counters, not weights.
    Whole(usize),
}

impl Numbers {
    /// Bytes of one.
    pub(super) fn bytes(self) -> usize {
        match self {
            Numbers::F16 | Numbers::Bf16 => 2,
            Numbers::F32 => 4,
            Numbers::F64 => 8,
            Numbers::Whole(bytes) => bytes,
        }
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    Storage(Numbers),
}

/// A value; others are named by their number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    None,
    Bool,
    Int(i64),
    /// Longer than 64 bits: the little-endian bytes.
    Long(Vec<u8>),
    Float,
    Text(String),
    Tuple(Vec<usize>),
    List(Vec<usize>),
    Dict(Vec<(usize, usize)>),
    Global(Global),
    Storage {
        numbers: Numbers,
        key: String,
        count: i64,
    },
    Tensor(View),
}

/// Which numbers of a storage make a tensor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    pub(super) numbers: Numbers,
    pub(super) key: String,
    pub(super) count: i64,
    pub(super) offset: i64,
    pub(super) shape: Vec<i64>,
    pub(super) strides: Vec<i64>,
}

/// All values of a pickle.
#[derive(Debug)]
pub(super) struct Pickled {
    values: Vec<Value>,
    top: usize,
    /// The bytes that it took.
    pub(super) length: usize,
}

impl Pickled {
    /// What was pickled.
    pub(super) fn top(&self) -> &Value {
        &self.values[self.top]
    }

    pub(super) fn get(&self, value: usize) -> &Value {
        &self.values[value]
    }
}

pub(super) fn malformed<T>(reason: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Malformed(reason.into()))
}

/// What `module.name` stands for.
pub(super) fn global(module: &str, name: &str) -> Result<Global, Fault> {
    Ok(match (module, name) {
        ("collections", "OrderedDict") => Global::OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2") => Global::RebuildTensor,
        ("torch._utils", "_rebuild_parameter") => Global::RebuildParameter,
        ("torch", "FloatStorage") => Global::Storage(Numbers::F32),
        ("torch", "DoubleStorage") => Global::Storage(Numbers::F64),
        ("torch", "HalfStorage") => Global::Storage(Numbers::F16),
        ("torch", "BFloat16Storage") => Global::Storage(Numbers::Bf16),
        ("torch", "LongStorage") => Global::Storage(Numbers::Whole(8)),
        ("torch", "IntStorage") => Global::Storage(Numbers::Whole(4)),
        ("torch", "ShortStorage") => Global::Storage(Numbers::Whole(2)),
        ("torch", "CharStorage" | "ByteStorage" | "BoolStorage") => Global::Storage(Numbers::Whole(1)),
        _ => return Err(Fault::Code(format!("{module}.{name}"))),
    })
}

/// Reads the pickle at the beginning of `bytes`.
pub(super) fn read(bytes: &[u8]) -> Result<Pickled, Fault> {
    let mut machine = Machine::new(bytes);
    let top = loop {
        if let Some(top) = machine.step()? {
            break top;
        }
    };
    let (values, length) = machine.finish();
    Ok(Pickled { values, top, length })
}
