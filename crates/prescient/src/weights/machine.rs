//! The stack machine of a pickle, without its functions.

use crate::weights::pickle::{Fault, Global, Value, View, global, malformed};
use std::collections::BTreeMap;

/// The machine: instructions come in, values lie on its stack.
pub(super) struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    values: Vec<Value>,
    stack: Vec<usize>,
    marks: Vec<usize>,
    memo: BTreeMap<u32, usize>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, values: Vec::new(), stack: Vec::new(), marks: Vec::new(), memo: BTreeMap::new() }
    }

    /// All values, and how many bytes were read.
    pub(super) fn finish(self) -> (Vec<Value>, usize) {
        (self.values, self.at)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let Some(end) = end else { return malformed("it ends in the middle") };
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// A little-endian number of `count` bytes, at most 8.
    fn number(&mut self, count: usize) -> Result<u64, Fault> {
        Ok(self.take(count)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    /// Bytes after a length of `width` bytes.
    fn counted(&mut self, width: usize) -> Result<&'a [u8], Fault> {
        let count = self.number(width)?;
        self.take(usize::try_from(count).unwrap_or(usize::MAX))
    }

    fn line(&mut self) -> Result<String, Fault> {
        let length = self.bytes[self.at..].iter().position(|byte| *byte == b'\n');
        let Some(length) = length else { return malformed("it ends in the middle") };
        let line = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.at += 1;
        Ok(line)
    }

    fn push(&mut self, value: Value) {
        self.values.push(value);
        self.stack.push(self.values.len() - 1);
    }

    fn push_text(&mut self, bytes: &[u8]) {
        self.push(Value::Text(String::from_utf8_lossy(bytes).into_owned()));
    }

    fn pop(&mut self) -> Result<usize, Fault> {
        // Nothing below the last mark: that belongs to somebody else.
        match self.stack.len() > self.marks.last().copied().unwrap_or(0) {
            true => self.stack.pop().map_or_else(|| malformed("its stack is empty"), Ok),
            false => malformed("its stack is empty"),
        }
    }

    /// All above the last mark.
    fn pop_mark(&mut self) -> Result<Vec<usize>, Fault> {
        let Some(mark) = self.marks.pop() else { return malformed("a mark is missing") };
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<usize>, Fault> {
        let mut values = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>, _>>()?;
        values.reverse();
        Ok(values)
    }

    fn top(&self) -> Result<usize, Fault> {
        self.stack.last().map_or_else(|| malformed("its stack is empty"), |top| Ok(*top))
    }

    fn remember(&mut self, place: u64) -> Result<(), Fault> {
        let top = self.top()?;
        self.memo.insert(u32::try_from(place).unwrap_or(u32::MAX), top);
        Ok(())
    }

    fn recall(&mut self, place: u64) -> Result<(), Fault> {
        let known = u32::try_from(place).ok().and_then(|place| self.memo.get(&place).copied());
        let Some(value) = known else { return malformed("it names a value that is not there") };
        self.stack.push(value);
        Ok(())
    }

    fn append(&mut self, items: Vec<usize>) -> Result<(), Fault> {
        let list = self.top()?;
        match &mut self.values[list] {
            Value::List(list) => list.extend(items),
            _ => return malformed("it appends to something that is no list"),
        }
        Ok(())
    }

    fn set(&mut self, items: &[usize]) -> Result<(), Fault> {
        let dict = self.top()?;
        match &mut self.values[dict] {
            Value::Dict(dict) if items.len().is_multiple_of(2) => {
                dict.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1])));
            }
            _ => return malformed("it sets an item of something that is no dictionary"),
        }
        Ok(())
    }

    /// One instruction; the value at the end.
    pub(super) fn step(&mut self) -> Result<Option<usize>, Fault> {
        let instruction = self.take(1)?[0];
        match instruction {
            // PROTO, FRAME
            0x80 => drop(self.take(1)?),
            0x95 => drop(self.take(8)?),
            b'(' => self.marks.push(self.stack.len()),
            b'.' => return self.pop().map(Some),
            b'0' => drop(self.pop()?),
            b'1' => drop(self.pop_mark()?),
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
            }
            b'N' => self.push(Value::None),
            0x88 | 0x89 => self.push(Value::Bool),
            b'J' => {
                let number = self.number(4)? as u32;
                self.push(Value::Int(i64::from(number.cast_signed())));
            }
            b'K' => {
                let number = self.number(1)?;
                self.push(Value::Int(number as i64));
            }
            b'M' => {
                let number = self.number(2)?;
                self.push(Value::Int(number as i64));
            }
            0x8a | 0x8b => {
                let bytes = self.counted(if instruction == 0x8a { 1 } else { 4 })?;
                self.push(long(bytes));
            }
            b'G' => {
                self.take(8)?;
                self.push(Value::Float);
            }
            b'X' | b'T' | b'B' => {
                let text = self.counted(4)?;
                self.push_text(text);
            }
            0x8c | b'U' | b'C' => {
                let text = self.counted(1)?;
                self.push_text(text);
            }
            0x8d | 0x8e => {
                let text = self.counted(8)?;
                self.push_text(text);
            }
            b')' => self.push(Value::Tuple(Vec::new())),
            0x85..=0x87 => {
                let items = self.pop_many(usize::from(instruction - 0x84))?;
                self.push(Value::Tuple(items));
            }
            b't' => {
                let items = self.pop_mark()?;
                self.push(Value::Tuple(items));
            }
            b']' => self.push(Value::List(Vec::new())),
            b'l' => {
                let items = self.pop_mark()?;
                self.push(Value::List(items));
            }
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])?;
            }
            b'e' => {
                let items = self.pop_mark()?;
                self.append(items)?;
            }
            b'}' => self.push(Value::Dict(Vec::new())),
            b's' => {
                let items = self.pop_many(2)?;
                self.set(&items)?;
            }
            b'u' => {
                let items = self.pop_mark()?;
                self.set(&items)?;
            }
            b'q' | b'r' => {
                let place = self.number(if instruction == b'q' { 1 } else { 4 })?;
                self.remember(place)?;
            }
            0x94 => self.remember(self.memo.len() as u64)?,
            b'h' | b'j' => {
                let place = self.number(if instruction == b'h' { 1 } else { 4 })?;
                self.recall(place)?;
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.push(Value::Global(global(&module, &name)?));
            }
            0x93 => {
                let names = self.pop_many(2)?;
                match (&self.values[names[0]], &self.values[names[1]]) {
                    (Value::Text(module), Value::Text(name)) => {
                        let found = global(module, name)?;
                        self.push(Value::Global(found));
                    }
                    _ => return malformed("a name is no text"),
                }
            }
            b'Q' => {
                let id = self.pop()?;
                let storage = self.storage(id)?;
                self.push(storage);
            }
            b'R' => {
                let parts = self.pop_many(2)?;
                let made = self.call(parts[0], parts[1])?;
                self.stack.push(made);
            }
            // The attributes of an object: an OrderedDict's `_metadata`, which weights do not need.
            b'b' => {
                self.pop()?;
                let top = self.top()?;
                if !matches!(self.values[top], Value::Dict(_)) {
                    return malformed("it builds an object that is no dictionary");
                }
            }
            other => return malformed(format!("it has the instruction 0x{other:02x}, which weights do not need")),
        }
        Ok(None)
    }

    fn tuple(&self, value: usize) -> Result<&[usize], Fault> {
        match &self.values[value] {
            Value::Tuple(items) => Ok(items),
            _ => malformed("expected a tuple"),
        }
    }

    fn whole(&self, value: usize) -> Result<i64, Fault> {
        match self.values[value] {
            Value::Int(number) => Ok(number),
            _ => malformed("expected a whole number"),
        }
    }

    fn wholes(&self, value: usize) -> Result<Vec<i64>, Fault> {
        self.tuple(value)?.iter().map(|item| self.whole(*item)).collect()
    }

    /// `("storage", type, key, place, count)`.
    fn storage(&self, id: usize) -> Result<Value, Fault> {
        let items = self.tuple(id)?;
        let item = |place: usize| items.get(place).map(|item| &self.values[*item]);
        // The older format has a sixth item: a part of another storage, which nobody writes any more.
        if !matches!(item(5), None | Some(Value::None)) {
            return malformed("a storage is a part of another one");
        }
        match (item(0), item(1), item(2), item(4)) {
            (
                Some(Value::Text(word)),
                Some(Value::Global(Global::Storage(numbers))),
                Some(Value::Text(key)),
                Some(Value::Int(count)),
            ) if word == "storage" && *count >= 0 => {
                Ok(Value::Storage { numbers: *numbers, key: key.clone(), count: *count })
            }
            _ => malformed("a storage is not described as torch does it"),
        }
    }

    /// What a call would make, for the three functions that are known.
    fn call(&mut self, function: usize, arguments: usize) -> Result<usize, Fault> {
        let Value::Global(function) = self.values[function] else { return malformed("it calls what is no function") };
        let arguments = self.tuple(arguments)?.to_vec();
        let made = match (function, arguments.as_slice()) {
            (Global::OrderedDict, []) => Value::Dict(Vec::new()),
            (Global::RebuildParameter, [tensor, ..]) if matches!(self.values[*tensor], Value::Tensor(_)) => {
                return Ok(*tensor);
            }
            (Global::RebuildTensor, [storage, offset, shape, strides, ..]) => match &self.values[*storage] {
                Value::Storage { numbers, key, count } => Value::Tensor(View {
                    numbers: *numbers,
                    key: key.clone(),
                    count: *count,
                    offset: self.whole(*offset)?,
                    shape: self.wholes(*shape)?,
                    strides: self.wholes(*strides)?,
                }),
                _ => return malformed("a tensor has no storage"),
            },
            _ => return malformed("a call has other arguments than torch writes"),
        };
        self.values.push(made);
        Ok(self.values.len() - 1)
    }
}

/// A number in two's complement of any length.
fn long(bytes: &[u8]) -> Value {
    if bytes.len() > 8 {
        return Value::Long(bytes.to_vec());
    }
    let sign = if bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 };
    let mut all = [sign; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    Value::Int(i64::from_le_bytes(all))
}
