//! What tests of losses share: small tensors, golden values, and gradients by finite differences.

use serde_json::Value;
use tch::{Kind, Tensor};

/// Rows of numbers as a tensor, in double precision.
pub(crate) fn matrix<const R: usize, const C: usize>(rows: [[f64; C]; R]) -> Tensor {
    Tensor::from_slice(&rows.concat()).reshape([R as i64, C as i64])
}

/// Targets.
pub(crate) fn slots<const N: usize>(slots: [i64; N]) -> Tensor {
    Tensor::from_slice(&slots)
}

/// Asserts that a loss has a value, to six digits.
#[track_caller]
pub(crate) fn assert_close(loss: &Tensor, expected: f64) {
    let found = f64::try_from(loss).expect("a number");
    assert!((found - expected).abs() < 2e-6 * expected.abs().max(1.0), "expected {expected}, found {found}");
}

/// Asserts that autograd's gradient at `point` is finite and is what finite differences give.
#[track_caller]
pub(crate) fn assert_gradient_matches(point: &Tensor, loss: impl Fn(&Tensor) -> Tensor) {
    let point = point.detach().to_kind(Kind::Double);
    let variable = point.copy().set_requires_grad(true);
    loss(&variable).backward();
    let gradient = Vec::<f64>::try_from(variable.grad().flatten(0, -1)).expect("numbers");

    let step = 1e-3;
    let flat = Vec::<f64>::try_from(point.flatten(0, -1)).expect("numbers");
    for (index, &slope) in gradient.iter().enumerate() {
        let value = |by: f64| {
            let mut moved = flat.clone();
            moved[index] += by;
            f64::try_from(loss(&Tensor::from_slice(&moved).reshape(point.size()))).expect("a number")
        };
        let expected = (value(step) - value(-step)) / (2.0 * step);
        assert!(slope.is_finite(), "the slope at {index} is {slope}");
        assert!(
            (slope - expected).abs() < 2e-3 * expected.abs().max(1.0),
            "at {index}: expected {expected}, found {slope}"
        );
    }
}

/// Numbers of the authors' own functions on tiny inputs.
pub(crate) struct Golden(Value);

/// `tests/golden/reference.json`.
pub(crate) fn golden() -> Golden {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/reference.json");
    let text = std::fs::read_to_string(path).expect(path);
    Golden(serde_json::from_str(&text).expect("JSON"))
}

impl Golden {
    fn value(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or_else(|| panic!("no `{pointer}` among the golden values"))
    }

    /// A number.
    pub(crate) fn number(&self, pointer: &str) -> f64 {
        self.value(pointer).as_f64().expect(pointer)
    }

    /// Nested lists of numbers, as a tensor of as many dimensions.
    pub(crate) fn tensor(&self, pointer: &str) -> Tensor {
        fn flatten(value: &Value, depth: usize, shape: &mut Vec<i64>, numbers: &mut Vec<f64>) {
            match value {
                Value::Array(items) => {
                    if shape.len() == depth {
                        shape.push(items.len() as i64);
                    }
                    items.iter().for_each(|item| flatten(item, depth + 1, shape, numbers));
                }
                number => numbers.push(number.as_f64().expect("a number")),
            }
        }
        let (mut shape, mut numbers) = (Vec::new(), Vec::new());
        flatten(self.value(pointer), 0, &mut shape, &mut numbers);
        Tensor::from_slice(&numbers).reshape(&shape)
    }
}
